"""The options of the file plugins: ours, and those of Spark's that they pass on."""

from __future__ import annotations

from collections.abc import Mapping

PARSE_MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
SAVE_MODES = ("new", "overwrite")

_ANY_INPUT = (
    "path",
    "pathGlobFilter",
    "recursiveFileLookup",
    "modifiedBefore",
    "modifiedAfter",
    "ignoreMissingFiles",
    "ignoreCorruptFiles",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "maxFileAge",
    "latestFirst",
    "cleanSource",
    "sourceArchiveDir",
)
_ANY_OUTPUT = ("path", "mode", "partition_by", "compression", "maxRecordsPerFile")
_TEXTUAL = (
    "encoding",
    "lineSep",
    "locale",
    "dateFormat",
    "timestampFormat",
    "timestampNTZFormat",
    "timeZone",
)
_PARSED = (
    "mode",
    "multiLine",
    "columnNameOfCorruptRecord",
    "samplingRatio",
    "enableDateTimeParsingFallback",
)
_CSV = (
    "sep",
    "delimiter",
    "quote",
    "escape",
    "header",
    "nullValue",
    "emptyValue",
    "ignoreLeadingWhiteSpace",
    "ignoreTrailingWhiteSpace",
    "charToEscapeQuoteEscaping",
)

READ: Mapping[str, tuple[str, ...]] = {
    "parquet": (*_ANY_INPUT, "mergeSchema", "datetimeRebaseMode", "int96RebaseMode"),
    "json": (
        *_ANY_INPUT,
        *_TEXTUAL,
        *_PARSED,
        "primitivesAsString",
        "prefersDecimal",
        "allowComments",
        "allowUnquotedFieldNames",
        "allowSingleQuotes",
        "allowNumericLeadingZeros",
        "allowNonNumericNumbers",
        "allowUnquotedControlChars",
        "allowBackslashEscapingAnyCharacter",
        "dropFieldIfAllNull",
    ),
    "csv": (
        *_ANY_INPUT,
        *_TEXTUAL,
        *_PARSED,
        *_CSV,
        "comment",
        "inferSchema",
        "preferDate",
        "enforceSchema",
        "nanValue",
        "positiveInf",
        "negativeInf",
        "maxColumns",
        "maxCharsPerColumn",
        "unescapedQuoteHandling",
    ),
    "text": (*_ANY_INPUT, "wholetext", "lineSep", "encoding"),
}

WRITE: Mapping[str, tuple[str, ...]] = {
    "parquet": (*_ANY_OUTPUT,),
    "json": (*_ANY_OUTPUT, *_TEXTUAL, "ignoreNullFields"),
    "csv": (*_ANY_OUTPUT, *_TEXTUAL, *_CSV, "quoteAll", "escapeQuotes"),
    "text": (*_ANY_OUTPUT, "lineSep", "encoding"),
}
