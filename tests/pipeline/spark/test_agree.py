# Rows are of any shape here, as users' are.
# pyright: basic
"""Spark and the interpreter agree on jobs that nobody thought of."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pyspark.sql import SparkSession

from remuda.pipeline.here import run_here
from remuda.pipeline.interpreter import interpret
from remuda.pipeline.killed import JobKilled
from remuda.pipeline.model.job import Job
from tests.pipeline.generated import FUNCTIONS, ROWS, jobs
from tests.pipeline.jobs import multiset, on_spark

pytestmark = pytest.mark.integration

Row = dict[str, Any]


def named(job: Job, rows: tuple[list[Row], list[Row]]) -> dict[str, list[Row]]:
    names = [task.name for task in job.catalog if task.type == "input"]
    return dict(zip(names, rows, strict=False))


def is_chain(job: Job) -> bool:
    sources, targets = zip(*job.workflow, strict=True)
    return len(set(sources)) == len(sources) and len(set(targets)) == len(targets)


# Each example is a Spark job or several, so what fails is shown as it was found, not made smaller.
QUICK = {
    "phases": (Phase.explicit, Phase.reuse, Phase.generate),
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}


@settings(max_examples=10, **QUICK)
@given(job=jobs(), rows=st.tuples(ROWS, ROWS))
def test_spark_and_the_interpreter_agree(
    spark: SparkSession, job: Job, rows: tuple[list[Row], list[Row]]
) -> None:
    inputs = named(job, rows)
    try:
        expected = interpret(job, inputs, FUNCTIONS).outputs
    except JobKilled:
        with pytest.raises(JobKilled, match=r" raised (ValueError|KeyError): "):
            on_spark(spark, job, inputs, FUNCTIONS)
        return
    found = on_spark(spark, job, inputs, FUNCTIONS)
    assert {name: multiset(rows) for name, rows in found.items()} == {
        name: multiset(rows) for name, rows in expected.items()
    }
    if is_chain(job):
        assert [row["n"] for rows in found.values() for row in rows] == [
            row["n"] for rows in expected.values() for row in rows
        ]


@settings(max_examples=3, **QUICK)
@given(job=jobs(windowed=True), rows=st.tuples(ROWS, ROWS))
def test_batch_stream_and_the_interpreter_agree(
    spark: SparkSession, job: Job, rows: tuple[list[Row], list[Row]]
) -> None:
    inputs = named(job, rows)
    try:
        expected = interpret(job, inputs, FUNCTIONS).outputs
    except JobKilled:
        return
    for mode in ("batch", "available-now"):
        spec = msgspec.to_builtins(replace(job, mode=mode))
        found = run_here(spark, spec, inputs=inputs, functions=FUNCTIONS).outputs
        assert {name: multiset(rows) for name, rows in found.items()} == {
            name: multiset(rows) for name, rows in expected.items()
        }, mode
