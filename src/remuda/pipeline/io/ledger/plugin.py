# Spark's readers and writers answer what is untyped.
# pyright: basic
"""The ledger as a plugin: rows as JSON, exactly once, in batch and as a stream.

It reads through the data source. It writes with a pass of its own, because a plugin stages and
publishes apart, and because Spark starts three Python processes for each write to a data source.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, from_json, lit, struct, to_json

from remuda.pipeline.io import options
from remuda.pipeline.io.datasource import key_of
from remuda.pipeline.io.failures import in_one_line
from remuda.pipeline.io.files import ALL_OF_A_TIME
from remuda.pipeline.io.ledger.log import PARTITIONS, BadLedger, Ledger, Segment, spread
from remuda.pipeline.io.ledger.source import LedgerSource
from remuda.pipeline.io.options import entry, option
from remuda.pipeline.io.port import BadInput, BadOutput, NothingStaged, Target
from remuda.pipeline.io.schemas import declared
from remuda.pipeline.model.job import Task
from remuda.pipeline.model.problems import Problem, nearest
from remuda.pipeline.run import Run


class LedgerPlugin:
    """An input without a `schema` has the ledger's own columns; with one, those of the rows' JSON,
    and with the option `numbered` also `_partition` and `_sequence`."""

    def check(self, task: Task) -> list[Problem]:
        known = ("max_rows", "numbered") if task.type == "input" else ("partitions", "key")
        return [
            *options.unknown(task, ("path", *known)),
            *options.missing(task, "path", "the ledger's directory"),
            *options.whole_number(task, "max_rows"),
            *options.whole_number(task, "partitions"),
        ]

    # ── input ────────────────────────────────────────────────────────────────────────────────

    def read(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        return self._loaded(spark, spark.read, task)

    def read_stream(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        return self._loaded(spark, spark.readStream, task)

    def _loaded(self, spark: SparkSession, reader, task: Task) -> DataFrame:
        try:
            Ledger(option(task, "path"))
        except BadLedger as error:
            raise BadInput(f"{entry(task)}: {error}") from None
        spark.dataSource.register(LedgerSource)
        # Off unless asked for; a source that takes filters is refused without it.
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
        given = options.passed_on(task, "numbered")
        with in_one_line(task):
            rows = reader.format(LedgerSource.name()).options(**given).load()
        schema = declared(task)
        if schema is None:
            return rows
        parsed = from_json(col("value"), schema, {"mode": "FAILFAST"}).alias("row")
        if not option(task, "numbered"):
            return rows.select(parsed).select("row.*")
        numbers = [col("partition").alias("_partition"), col("sequence").alias("_sequence")]
        return rows.select(parsed, *numbers).select("row.*", "_partition", "_sequence")

    # ── output ───────────────────────────────────────────────────────────────────────────────

    def stage(self, rows: DataFrame, target: Target) -> None:
        ledger = self._ledger(target)
        if ledger.rows_of(key_of(target)) is not None:
            return
        self.discard(target)
        written = _lines(rows, target).mapInArrow(
            _writing(str(option(target.task, "path")), _attempt(target)), "segments string"
        )
        with in_one_line():
            answers = written.collect()
        parts = [msgspec.json.decode(row["segments"], type=list[Segment]) for row in answers]
        ledger.hold(_attempt(target), [segment for part in parts for segment in part])

    def publish(self, target: Target) -> int:
        ledger = self._ledger(target)
        key = key_of(target)
        if ledger.rows_of(key) is None:
            held = [(a, ledger.held(a)) for a in self._attempts(ledger, target)]
            whole = [segments for _, segments in held if segments is not None]
            if not whole:
                raise NothingStaged(
                    f"{target}: nothing of it is staged: run the job again, under the same id"
                )
            target.run.check_fence()
            ledger.commit(key, whole[-1])
        self.discard(target)
        return ledger.rows_of(key) or 0

    def discard(self, target: Target) -> None:
        ledger = self._ledger(target)
        for attempt in self._attempts(ledger, target):
            ledger.discard(attempt)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _ledger(self, target: Target) -> Ledger:
        partitions = int(option(target.task, "partitions", PARTITIONS))
        ledger = Ledger.open(option(target.task, "path"), partitions)
        ledger.refresh()
        return ledger

    def _attempts(self, ledger: Ledger, target: Target) -> list[str]:
        """Of this driver and those before it, the latest last."""
        of_target = re.compile(re.escape(_stem(target)) + r"\.(\d+)")
        found = [(of_target.fullmatch(name), name) for name in ledger.attempts()]
        fences = sorted((int(match[1]), name) for match, name in found if match)
        return [name for fence, name in fences if fence <= target.run.fence_epoch]


def _writing(path: str, attempt: str) -> Callable[..., Iterator[pa.RecordBatch]]:
    """What tasks do: each writes its rows, and answers which segments it wrote. A task that is run
    twice writes twice; only one of its answers counts."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ledger = Ledger(path)
        rows = (
            row
            for batch in batches
            for row in zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True)
        )
        segments = ledger.write(attempt, spread(rows, ledger.partitions))
        yield pa.RecordBatch.from_pydict({"segments": [msgspec.json.encode(segments).decode()]})

    return write


def _lines(rows: DataFrame, target: Target) -> DataFrame:
    every_field = {"ignoreNullFields": "false", **ALL_OF_A_TIME}
    key = option(target.task, "key")
    if key is not None and key not in rows.columns:
        raise BadOutput(
            f"{target}: `key` names `{key}`, and the rows have no such column"
            f"{nearest(key, rows.columns)}"
        )
    return rows.select(
        (lit(None) if key is None else col(key)).cast("string").alias("key"),
        to_json(struct("*"), every_field).alias("value"),
    )


def _attempt(target: Target) -> str:
    return f"{_stem(target)}.{target.run.fence_epoch}"


def _stem(target: Target) -> str:
    return hashlib.sha256(key_of(target).encode()).hexdigest()[:24]


ledger = LedgerPlugin()
