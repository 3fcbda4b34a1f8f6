# DataFrames are untyped in places.
# pyright: basic
"""Rows from nowhere, from Python, from data sources of one's own, and from an absent Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceWriter,
    WriterCommitMessage,
)

from remuda.pipeline.io import memory
from remuda.pipeline.io.datasource import key_of
from remuda.pipeline.io.held import Held
from remuda.pipeline.io.kafka import NoKafka, messages
from remuda.pipeline.io.port import BadInput, NothingStaged, Target
from remuda.pipeline.io.registry import input_of, output_of
from remuda.pipeline.run import Fenced
from tests.pipeline.io.targets import read, run_in, sink, source, stream, streamed, written

pytestmark = pytest.mark.integration


def numbers(spark: SparkSession, *ids: int) -> DataFrame:
    return spark.createDataFrame([(n,) for n in ids], "id long")


# ── memory ───────────────────────────────────────────────────────────────────────────────────

ROWS: list[dict[str, Any]] = [
    {"id": 1, "at": datetime(2024, 1, 2, tzinfo=UTC), "deep": {"a": [1, 2]}},
    {"id": 2, "note": "only here"},
]


def test_rows_from_python_come_back_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    run = run_in(tmp_path, "memory-1", inputs={"in": ROWS})
    target = Target(run, sink("memory"))
    assert written(read(spark, run, source("memory")), target) == 2
    filled = [{"id": None, "at": None, "deep": None, "note": None} | row for row in ROWS]
    assert memory.rows_of("memory-1", "out") == filled
    assert written(read(spark, run, source("memory")).limit(1), target) == 2
    assert memory.rows_of("memory-1", "out") == filled
    memory.forget("memory-1")
    assert memory.rows_of("memory-1", "out") == []


def test_rows_from_python_are_a_stream_in_order_that_goes_on_after_a_death(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [{"id": n} for n in range(7)]
    task, out = source("memory", files=3), sink("memory")
    run = run_in(tmp_path, "memory-2", inputs={"in": rows})

    def die(batch: DataFrame, epoch: int) -> None:
        written(batch, Target(run, out, epoch))
        if epoch == 1:
            raise RuntimeError("killed")

    with pytest.raises(Exception, match="killed"):
        stream(input_of(task).read_stream(spark, task, run), run, die)
    run = run_in(tmp_path, "memory-2", 2, inputs={"in": rows})
    streamed(input_of(task).read_stream(spark, task, run), run, out)
    assert memory.rows_of("memory-2", "out") == rows


def test_rows_that_cannot_be_a_table_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    def reading(rows: list[dict[str, Any]] | None, schema: str | None = None) -> DataFrame:
        inputs = {} if rows is None else {"in": rows}
        return read(spark, run_in(tmp_path, inputs=inputs), source("memory", schema))

    with pytest.raises(BadInput, match="catalog entry in: no rows were given for it"):
        reading(None)
    with pytest.raises(BadInput, match="there are no rows to see columns in: declare"):
        reading([])
    assert reading([], "id long").collect() == []
    with pytest.raises(BadInput, match="a column has values of several kinds"):
        reading([{"id": 1}, {"id": "one"}])
    with pytest.raises(BadInput, match="a row does not fit"):
        reading([{"id": "one"}], "id long")


def test_a_memory_output_obeys_the_fence(spark: SparkSession, tmp_path: Path) -> None:
    old = Target(run_in(tmp_path, "memory-3"), sink("memory"))
    with pytest.raises(NothingStaged):
        output_of(old.task).publish(old)
    output_of(old.task).stage(numbers(spark, 1), old)
    run_in(tmp_path, "memory-3", 2)
    with pytest.raises(Fenced):
        output_of(old.task).publish(old)
    assert memory.rows_of("memory-3", "out") == []


# ── rate ─────────────────────────────────────────────────────────────────────────────────────


def test_rate_has_as_many_rows_as_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    run = run_in(tmp_path)
    rows = read(spark, run, source("rate", rows=5, rowsPerSecond=2)).collect()
    assert [row.value for row in rows] == [0, 1, 2, 3, 4]
    assert (rows[4].timestamp - rows[0].timestamp).total_seconds() == 2
    with pytest.raises(BadInput, match="needs the option `rows`"):
        read(spark, run, source("rate"))
    for task in (source("rate", rowsPerSecond=5), source("rate", rowsPerBatch=5)):
        frame = input_of(task).read_stream(spark, task, run)
        assert (frame.isStreaming, frame.columns) == (True, ["timestamp", "value"])


# ── what can only append ─────────────────────────────────────────────────────────────────────


class Nowhere(DataSource):
    """A source of three rows, and a sink that notes what it was given in a file."""

    @classmethod
    def name(cls) -> str:
        return "nowhere"

    def schema(self) -> str:
        return "id long"

    def reader(self, schema: Any) -> DataSourceReader:
        return _ThreeRows()

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        return _Notes(self.options["notes"], self.options["commit"])


class _ThreeRows(DataSourceReader):
    def read(self, partition: Any) -> Iterator[tuple[int]]:
        yield from ((n,) for n in range(3))


class _Notes(DataSourceWriter):
    def __init__(self, path: str, key: str) -> None:
        self._path = path
        self._key = key

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        message = WriterCommitMessage()
        message.ids = [row["id"] for row in iterator]  # pyright: ignore[reportAttributeAccessIssue]
        return message

    def commit(self, messages: Any) -> None:
        ids = sorted(n for message in messages for n in message.ids)
        with Path(self._path).open("a") as file:
            file.write(f"{self._key} {ids}\n")


def test_a_data_source_is_named_by_its_class_and_told_the_commits_key(
    spark: SparkSession, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    run, name = run_in(tmp_path, "job/1"), f"{__name__}:Nowhere"
    task = sink(name, notes=str(notes))
    assert written(read(spark, run, source(name)), Target(run, task, 4)) == 3
    assert written(numbers(spark, 9), Target(run, task, 4)) == 3
    assert notes.read_text() == "job%2F1/out/4 [0, 1, 2]\n"
    with pytest.raises(BadInput, match="Spark knows no data source `no_such_source`"):
        read(spark, run, source("datasource", format="no_such_source"))


def test_an_append_that_is_cut_off_is_done_again_with_the_same_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    old = Target(run_in(tmp_path), sink("datasource", format="x"), 0)
    Held(old).stage(numbers(spark, 1, 2))
    appended: list[list[int]] = []

    def append(rows: DataFrame) -> None:
        appended.append(sorted(row.id for row in rows.collect()))
        if len(appended) == 1:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        Held(old).publish(append)
    new = Target(run_in(tmp_path, fence_epoch=2), old.task, 0)
    with pytest.raises(Fenced):
        Held(old).publish(append)
    assert [Held(new).publish(append), Held(new).publish(append)] == [2, 2]
    assert appended == [[1, 2], [1, 2]]
    assert not any((new.run.work / "staged" / "out" / "0").iterdir())


# ── Kafka ────────────────────────────────────────────────────────────────────────────────────

KAFKA = {"kafka.bootstrap.servers": "127.0.0.1:9"}


def test_without_the_connector_the_package_to_add_is_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = run_in(tmp_path)
    wanted = r"add `org.apache.spark:spark-sql-kafka-0-10_2.13:4\.\S+` to `spark.jars.packages`"
    with pytest.raises(NoKafka, match=wanted):
        read(spark, run, source("kafka", subscribe="t", **KAFKA))
    task = sink("kafka", topic="t", **KAFKA)
    with pytest.raises(NoKafka, match=wanted):
        output_of(task).stage(numbers(spark, 1), Target(run, task))


def test_a_message_is_the_rows_json_with_its_key_and_its_commit(
    spark: SparkSession, tmp_path: Path
) -> None:
    target = Target(run_in(tmp_path), sink("kafka", topic="t", key="user", **KAFKA), 3)
    rows = spark.createDataFrame([(7, None)], "user int, note string")
    (message,) = messages(rows, target).collect()
    assert (message.key, message.value) == ("7", '{"user":7,"note":null}')
    assert [(h.key, bytes(h.value).decode()) for h in message.headers] == [
        ("remuda-commit", key_of(target))
    ]
