# pyright: basic
"""What emitted rows look like, and that triggers that only sync run as well."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession

from remuda.pipeline.functions import Functions
from remuda.pipeline.model.job import Job
from remuda.pipeline.spark.types import UnknownShape
from remuda.pipeline.window_state import Content
from remuda.pipeline.windowing.operator import emitted
from remuda.pipeline.windowing.shapes import shape_of
from tests.pipeline.windowing.executors import job_of


class Total(TypedDict):
    start: float
    total: int | None


def typed(content: Content) -> Total:
    assert content.start is not None
    return {"start": float(content.start), "total": content.value}


def untyped(content: Content):
    return {"start": content.start, "total": content.value}


def silent(content: Content):
    return None


def job(schema: str | None = None, **trigger: Any) -> Job:
    window = {"id": "w", "type": "fixed", "time": "at", "range": 5, "aggregation": ["sum", "n"]}
    return job_of([{**window, "triggers": [{"on": "watermark", **trigger}]}], schema=schema)


def columns_of(job: Job, emit: Any, samples: list[dict[str, Any]]) -> str:
    shape = shape_of(job, job.task("sum"), Functions({"test:told": emit}), lambda: samples)
    assert shape is not None
    return shape.columns.simpleString()


@pytest.mark.integration
def test_annotations_say_what_is_emitted_then_the_schema_then_samples(spark: SparkSession) -> None:
    samples = [{"at": 1, "n": 2.5}]
    assert columns_of(job("a int"), typed, []) == "struct<start:double,total:bigint>"
    assert columns_of(job("start double, total int"), untyped, []).endswith("total:int>")
    assert columns_of(job(), untyped, samples) == "struct<start:double,total:double>"


def test_what_no_sample_shows_is_to_be_declared() -> None:
    for emit, samples in ((silent, [{"at": 1, "n": 2}]), (untyped, [])):
        with pytest.raises(UnknownShape, match="declare the task's `schema`"):
            columns_of(job(), emit, samples)


@pytest.mark.integration
def test_bounds_become_what_their_column_holds_and_sync_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    def synced(content: Content) -> None:
        (tmp_path / f"{content.start}").write_text(repr(content.value))

    functions = Functions({"test:told": untyped, "test:sync": synced})
    rows = spark.createDataFrame([(1, 2), (7, 3), (8, 4)], "at long, n long")
    both = job("start timestamp, total long", sync="test:sync")
    made = emitted(rows, both, both.task("sum"), functions, streaming=False).toArrow().to_pylist()
    assert sorted(made, key=lambda row: row["total"]) == [
        {"start": datetime(1970, 1, 1, 0, 0, 0, tzinfo=UTC), "total": 2},
        {"start": datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC), "total": 7},
    ]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"0": "2", "5": "7"}
    for path in tmp_path.iterdir():
        path.unlink()
    silent_job = replace(both, triggers=[replace(both.triggers[0], emit=None)])
    out = emitted(rows, silent_job, both.task("sum"), functions, streaming=False)
    assert out.columns == ["at", "n"]
    assert out.collect() == []
    assert {path.name for path in tmp_path.iterdir()} == {"0", "5"}


@pytest.mark.integration
def test_a_batch_shows_itself_what_its_triggers_emit(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, 2), (7, 3)], "at long, n long")
    functions = Functions({"test:told": untyped})
    out = emitted(rows, job(), job().task("sum"), functions, streaming=False)
    assert out.schema.simpleString() == "struct<start:double,total:bigint>"
    assert sorted(tuple(row) for row in out.collect()) == [(0.0, 2), (5.0, 3)]
