# Spark's readers and writers answer what is untyped.
# pyright: basic
"""Parquet, JSON lines, CSV and text: in this file system, or in any that Hadoop knows.

A file that is broken, or does not fit its schema, is an error here, and not a row of nulls, unless
the option `mode` says so. Output appears whole and once: see `sealed`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from msgspec import Struct
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import col, count, count_if, lit
from pyspark.sql.types import StringType, StructType

from remuda.pipeline.io import listing, option_names, options
from remuda.pipeline.io.failures import in_one_line
from remuda.pipeline.io.options import entry, option
from remuda.pipeline.io.port import BadInput, BadOutput, Target
from remuda.pipeline.io.schemas import declared, misfits, remembered
from remuda.pipeline.io.sealed import Place
from remuda.pipeline.io.storage import LocalStorage, address, shown
from remuda.pipeline.model.job import Task
from remuda.pipeline.model.problems import Problem, nearest
from remuda.pipeline.run import Run

# The column of `stage_many` that says where a row goes.
TO = "__to"
_SAMPLED_LINES = 100
# Spark writes times to the millisecond unless it is told to write all it has.
ALL_OF_A_TIME = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


class Format(Struct, frozen=True):
    name: str
    read_defaults: Mapping[str, str] = {}
    write_defaults: Mapping[str, str] = {}


PARQUET = Format("parquet")
JSON = Format("json", {"mode": "FAILFAST"}, {"ignoreNullFields": "false", **ALL_OF_A_TIME})
CSV = Format("csv", {"mode": "FAILFAST", "header": "true"}, {"header": "true", **ALL_OF_A_TIME})
TEXT = Format("text")


class FilePlugin:
    def __init__(self, form: Format) -> None:
        self._form = form

    def check(self, task: Task) -> list[Problem]:
        if task.type == "input":
            known = option_names.READ[self._form.name]
            return [
                *options.unknown(task, known),
                *options.missing(task, "path", "where the files are"),
                *options.one_of(task, "mode", option_names.PARSE_MODES),
                *options.whole_number(task, "maxFilesPerTrigger"),
            ]
        return [
            *options.unknown(task, option_names.WRITE[self._form.name]),
            *options.missing(task, "path", "the directory to write"),
            *_one_path(task),
            *options.one_of(task, "mode", option_names.SAVE_MODES),
        ]

    # ── input ────────────────────────────────────────────────────────────────────────────────

    def read(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        paths = [address(path) for path in options.texts(option(task, "path"))]
        for path in paths:
            _expect_files(spark, task, path)
        with in_one_line(task):
            rows = self._loaded(spark, task, paths)
        if not rows.columns:
            raise BadInput(
                f"{entry(task)}: no columns can be seen in {shown(paths[0])}: declare the task's "
                "`schema`"
            )
        return rows

    def read_stream(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        paths = options.texts(option(task, "path"))
        if len(paths) != 1:
            raise BadInput(f"{entry(task)}: a stream has one `path`, and this has {len(paths)}")
        path = address(paths[0])
        schema = self._stream_schema(spark, task, run, path)
        reader = spark.readStream.format(self._form.name).schema(schema)
        with in_one_line(task):
            return reader.options(**self._read_options(task)).load(path)

    def _loaded(self, spark: SparkSession, task: Task, paths: list[str]) -> DataFrame:
        reader = spark.read.format(self._form.name).options(**self._read_options(task))
        schema = declared(task)
        if schema is not None:
            self._expect_fit(spark, task, paths, schema)
            reader = reader.schema(schema)
        return reader.load(paths)

    def _stream_schema(self, spark: SparkSession, task: Task, run: Run, path: str) -> StructType:
        """Declared; or as the files were when the job first ran, for a checkpoint expects that the
        rows look the same ever after."""
        schema = declared(task)
        if schema is None:
            return remembered(run, task, lambda: self.read(spark, task, run).schema)
        match listing.found(spark, path):
            case "missing":
                raise BadInput(
                    f"{entry(task)}: there is nothing at {shown(path)}: make it, or mend `path`"
                )
            case "files":
                with in_one_line(task):
                    self._expect_fit(spark, task, [path], schema)
            case "empty":
                pass
        return schema

    def _read_options(self, task: Task) -> dict[str, str]:
        given = options.passed_on(task, "path")
        defaults = dict(self._form.read_defaults)
        has_header = str(option(task, "header", "true")).lower() == "true"
        if self._form is CSV and task.schema is not None and has_header:
            defaults["enforceSchema"] = "false"
        lowered = {name.lower() for name in given}
        return {k: v for k, v in defaults.items() if k.lower() not in lowered} | given

    # ── does the schema fit? ─────────────────────────────────────────────────────────────────

    def _expect_fit(
        self, spark: SparkSession, task: Task, paths: list[str], schema: StructType
    ) -> None:
        for what in self._misfits(spark, task, paths, schema):
            raise BadInput(f"{entry(task)}: `schema` does not fit {shown(paths[0])}: {what}")

    def _misfits(
        self, spark: SparkSession, task: Task, paths: list[str], schema: StructType
    ) -> Iterator[str]:
        given = self._read_options(task)
        match self._form.name:
            case "parquet":
                there = spark.read.format("parquet").options(**given).load(paths)
                yield from misfits(schema, there.schema)
            case "json" if not option(task, "multiLine"):
                seen = _keys_seen(spark, paths)
                if seen and not seen & {name.lower() for name in schema.names}:
                    said = _listed(schema.names)
                    yield f"the lines have {_listed(sorted(seen))}, and the schema {said}"
            case "csv" if given.get("enforceSchema") == "false":
                names = spark.read.format("csv").options(**given).load(paths).columns
                if [name.lower() for name in names] != [name.lower() for name in schema.names]:
                    yield f"the header has {_listed(names)}, and the schema {_listed(schema.names)}"

    # ── output ───────────────────────────────────────────────────────────────────────────────

    def stage(self, rows: DataFrame, target: Target) -> None:
        place = Place(target)
        if place.published() is not None:
            return
        self._expect_writable(rows, target)
        place.begin()
        place.finish(self._written(rows, place))

    def publish(self, target: Target) -> int:
        return Place(target).publish()

    def discard(self, target: Target) -> None:
        Place(target).discard()

    def can_stage_together(self, targets: Mapping[int, Target]) -> bool:
        """Whether one pass can write all of them: written alike, to one file system."""
        alike = {
            json.dumps(options.passed_on(target.task, "path"), sort_keys=True)
            for target in targets.values()
        }
        places = {_file_system(target) for target in targets.values()}
        return len(alike) == 1 and len(places) == 1

    def stage_many(self, tagged: DataFrame, targets: Mapping[int, Target]) -> None:
        """Stages several targets with one pass: a row goes to the target that its column `__to`
        numbers. Rows with other numbers, and of targets that are published, go nowhere."""
        places = {number: Place(target) for number, target in targets.items()}
        places = {n: place for n, place in places.items() if place.published() is None}
        if not places:
            return
        plain = tagged.drop(TO)
        for place in places.values():
            self._expect_writable(plain, place.target)
            place.begin()
        first = next(iter(places.values()))
        scratch = f"{first.staged}.many"
        counts = self._written_apart(tagged, first, scratch, list(places))
        for number, place in places.items():
            if counts[number]:
                place.storage.move(f"{scratch}/{TO}={number}", place.staged)
            else:
                self._written(plain.limit(0), place)
            place.finish(counts[number])
        first.storage.remove(scratch)

    def _written(self, rows: DataFrame, place: Place) -> int:
        counted = Observation()
        observed = rows.observe(counted, count(lit(1)).alias("rows"))
        with in_one_line():
            self._writer(observed, place.target).save(_spark_path(place, place.staged))
        return counted.get["rows"]

    def _written_apart(
        self, tagged: DataFrame, place: Place, to: str, numbers: list[int]
    ) -> dict[int, int]:
        spark = tagged.sparkSession
        counted = Observation()
        rows = tagged.where(col(TO).isin(numbers)).observe(
            counted, *(count_if(col(TO) == n).alias(str(n)) for n in numbers)
        )
        # With a file open for each target, Spark need not sort by target, and order is kept.
        before = spark.conf.get("spark.sql.maxConcurrentOutputFileWriters")
        spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", str(max(len(numbers), 8)))
        try:
            with in_one_line():
                self._writer(rows, place.target, TO).save(_spark_path(place, to))
        finally:
            spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", before or "0")
        return {n: counted.get[str(n)] for n in numbers}

    def _writer(self, rows: DataFrame, target: Target, *first_by: str):
        task = target.task
        given = options.passed_on(task, "path", "mode", "partition_by")
        lowered = {name.lower() for name in given}
        defaults = {k: v for k, v in self._form.write_defaults.items() if k.lower() not in lowered}
        writer = rows.write.format(self._form.name).mode("overwrite").options(**defaults | given)
        by = [*first_by, *options.texts(option(task, "partition_by"))]
        return writer.partitionBy(*by) if by else writer

    def _expect_writable(self, rows: DataFrame, target: Target) -> None:
        names = [name.lower() for name in rows.columns]
        for column in options.texts(option(target.task, "partition_by")):
            if column.lower() not in names:
                raise BadOutput(
                    f"{target}: `partition_by` names `{column}`, and the rows have no such "
                    f"column{nearest(column, rows.columns)}"
                )
        if target.epoch is not None and "epoch" in names:
            raise BadOutput(
                f"{target}: the rows have a column `epoch`, which is the name of a stream's "
                "directories: name the column otherwise"
            )
        kinds = [field.dataType for field in rows.schema.fields]
        if self._form is TEXT and kinds != [StringType()]:
            raise BadOutput(
                f"{target}: a text output takes rows of one column of text, and these have "
                f"{_listed(rows.columns)}: choose one, or the plugin `json`"
            )


parquet = FilePlugin(PARQUET)
json_lines = FilePlugin(JSON)
csv = FilePlugin(CSV)
text = FilePlugin(TEXT)


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _keys_seen(spark: SparkSession, paths: list[str]) -> set[str]:
    """The keys of the first lines, in small letters."""
    seen: set[str] = set()
    for line in spark.read.text(paths).head(_SAMPLED_LINES):
        try:
            found = json.loads(line.value)
        except ValueError:
            continue
        if isinstance(found, dict):
            seen |= {key.lower() for key in found}
    return seen


def _listed(names) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _expect_files(spark: SparkSession, task: Task, path: str) -> None:
    match listing.found(spark, path):
        case "missing":
            raise BadInput(f"{entry(task)}: there is nothing at {shown(path)}: mend `path`")
        case "empty":
            raise BadInput(
                f"{entry(task)}: there are no files in {shown(path)}: mend `path`, or fill it"
            )
        case "files":
            return


def _one_path(task: Task) -> Iterator[Problem]:
    path = option(task, "path")
    if path is not None and not isinstance(path, str):
        yield Problem(entry(task), "options.path", f"expected one path, got `{path}`")


def _spark_path(place: Place, path: str) -> str:
    return f"file://{path}" if isinstance(place.storage, LocalStorage) else path


def _file_system(target: Target) -> str:
    place = Place(target)
    if isinstance(place.storage, LocalStorage):
        place.storage.make(place.beside)
        return f"device {place.storage.device(place.beside)}"
    return "/".join(place.root.split("/")[:3])
