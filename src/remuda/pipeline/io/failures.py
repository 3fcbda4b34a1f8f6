# py4j is untyped.
# pyright: basic
"""What Spark says about data, in one line.

Spark tells what happened in a chain of causes, each of which begins with a condition in brackets:
`[FAILED_READ_FILE.NO_HINT] Encountered error while reading file …`. The last of them knows best
what is wrong, the first one where.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from remuda.errors import RemudaError
from remuda.pipeline.io.options import entry
from remuda.pipeline.io.port import BadInput
from remuda.pipeline.model.job import Task

_CAUSE = re.compile(r"\[([A-Z][A-Z_]+)(?:\.[A-Z_]+)*\]\s*([^\n]*)")
# What was said already, by a function that Spark called, such as that of a micro-batch.
_TOLD = re.compile(rf"^{re.escape(BadInput.__module__)}\.{BadInput.__name__}: (.+)$", re.MULTILINE)
_FILE = re.compile(r"(?:reading|read|of) file:? (?:file:/+)?(\S*[^\s.])")

# What is wrong with data rather than with a job's functions or the machine.
_OF_DATA = frozenset(
    {
        "CANNOT_PARSE_JSON_FIELD",
        "CANNOT_READ_FILE_FOOTER",
        "FAILED_READ_FILE",
        "MALFORMED_CSV_RECORD",
        "MALFORMED_RECORD_IN_PARSING",
        "PATH_NOT_FOUND",
        "UNABLE_TO_INFER_SCHEMA",
    }
)

# Causes that have no condition.
_IN_PASSING = {
    "is not a Parquet file": "it is not a Parquet file",
    "CSV header does not conform to the schema": "its header does not fit the schema",
}


def explained(error: BaseException) -> BadInput | None:
    """One line for an error that is about input files; None for any other."""
    if not isinstance(error, Py4JError | PySparkException):
        return None
    text = str(error)
    told = _TOLD.search(text)
    if told is not None:
        return BadInput(told[1])
    causes = [(match[1], _sentence(match[2])) for match in _CAUSE.finditer(text)]
    if not any(condition in _OF_DATA for condition, _ in causes):
        return None
    file = _FILE.search(text)
    where = f"cannot read {'/' + file[1].lstrip('/') if file else 'the input'}: "
    return BadInput(where + _what(causes, text))


@contextmanager
def in_one_line(task: Task | None = None) -> Generator[None]:
    """Spark's errors about data become BadInput, which names the input where it is known."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        told = explained(error)
        if told is None:
            raise
        raise (BadInput(f"{entry(task)}: {told}") if task is not None else told) from None


def first_line(error: BaseException) -> str:
    """Any error in a line: what a Java exception says, without its class and its stack."""
    if isinstance(error, RemudaError):
        return str(error)
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() or java.toString()) if java is not None else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _sentence(lines[0]) if lines else type(error).__name__


def _what(causes: list[tuple[str, str]], text: str) -> str:
    malformed = any(condition.startswith("MALFORMED") for condition, _ in causes)
    last = [said for condition, said in causes if condition in _OF_DATA][-1]
    if malformed:
        field = next((said for kind, said in causes if kind == "CANNOT_PARSE_JSON_FIELD"), None)
        what = "a line does not fit the schema, or is broken"
        return (
            f"{what}{f' ({field})' if field else ''}: mend the file, or set the option `mode` to "
            "`PERMISSIVE` or `DROPMALFORMED`"
        )
    for said, meaning in _IN_PASSING.items():
        if said in text:
            return meaning
    return last


def _sentence(text: str) -> str:
    """Without the condition before it and the code behind it."""
    return re.sub(r"^\[[A-Z_.]+\]\s*|\s*SQLSTATE: \w+", "", text).strip()
