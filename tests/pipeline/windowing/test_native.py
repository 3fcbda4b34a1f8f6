# pyright: basic
"""Windows by Spark's own operators: plans, order, and what cannot be aggregated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession

from remuda.pipeline.functions import Functions
from remuda.pipeline.window_state import Content
from remuda.pipeline.windowing.native import BadAggregate
from remuda.pipeline.windowing.operator import emitted
from tests.pipeline.windowing.executors import (
    COLUMNS,
    Stream,
    by_batch,
    by_interpreter,
    job_of,
    told,
)

pytestmark = pytest.mark.integration


def fixed(aggregation: Any, trigger: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    window = {"id": "w", "type": "fixed", "time": "at", "range": 5, "aggregation": aggregation}
    return {**window, "triggers": [trigger or {"on": "watermark"}], **more}


def frame_of(spark: SparkSession, window: dict[str, Any], **task: Any) -> DataFrame:
    job = job_of([window], **task)
    rows = spark.range(1).selectExpr("id as at", "'a' as k", "id as n", "1.5D as x")
    return emitted(rows, job, job.task("sum"), Functions({"test:told": told}), streaming=False)


def plan_of(frame: DataFrame) -> str:
    java: Any = frame._jdf
    return java.queryExecution().toString()


def test_rows_that_spark_can_aggregate_enter_python_as_aggregates_only(
    spark: SparkSession, tmp_path: Path
) -> None:
    plan = plan_of(frame_of(spark, fixed("count"), group_by="k"))
    assert plan.split("== Physical Plan ==")[1].count("MapInArrow") == 1
    plan = plan_of(frame_of(spark, fixed("count"), group_by_fn="test:told"))
    assert plan.split("== Physical Plan ==")[1].count("MapInArrow") == 2
    job = job_of([fixed("count")], mode="available-now", group_by="k")
    plan = plan_of(Stream(spark, job, {}, tmp_path).frame)
    assert "Aggregate" in plan
    assert "TransformWithState" not in plan


def test_a_stream_that_spark_cannot_aggregate_keeps_state_in_python(
    spark: SparkSession, tmp_path: Path
) -> None:
    job = job_of([fixed("count", {"on": "segments", "threshold": 2})], mode="available-now")
    assert "TransformWithState" in plan_of(Stream(spark, job, {}, tmp_path).frame)


def test_what_is_collected_in_batch_is_in_the_order_of_arrival(spark: SparkSession) -> None:
    def listed(content: Content) -> dict[str, str]:
        return {"line": repr(content.value)}

    job = job_of([{**fixed(["collect", "n"]), "range": 1000}])
    rows = spark.range(400, numPartitions=4).selectExpr("400 - id as at", "id as n")
    functions = Functions({"test:told": listed})
    made = emitted(rows, job, job.task("sum"), functions, streaming=False).collect()
    assert [row["line"] for row in made] == [repr(list(range(400)))]


@pytest.mark.parametrize(
    ("aggregation", "what"),
    [(["sum", "k"], "`k` is string, and only numbers"), (["min", "m"], "no column `m`")],
)
def test_what_cannot_be_aggregated_is_refused_before_anything_runs(
    spark: SparkSession, aggregation: Any, what: str
) -> None:
    with pytest.raises(BadAggregate, match=what):
        frame_of(spark, fixed(aggregation))


def test_a_sum_of_nothing_is_null_and_an_empty_input_emits_nothing(spark: SparkSession) -> None:
    windows = [
        {**fixed(["sum", "n"]), "id": "sum"},
        {**fixed(["average", "n"]), "id": "average"},
        {"id": "g", "type": "global", "aggregation": "count", "triggers": [_TIMER]},
    ]
    job = job_of(windows)
    nulls = [{"at": 1, "k": None, "n": None, "x": None}]
    assert by_batch(spark, job, nulls, {}) == by_interpreter(job, nulls, {})
    assert not by_batch(spark, job, [], {})


def test_columns_may_have_any_name(spark: SparkSession) -> None:
    windows = [
        {"id": name, "type": "session", "time": "at.s", "gap": 3, "aggregation": aggregation}
        for name, aggregation in (("own", ["sum", "n`"]), ("all", ["collect_by_key", "k k"]))
    ]
    job = job_of([{**w, "triggers": [_TIMER]} for w in windows], group_by=["k k"])
    rows = [{"at.s": at, "k k": "a", "n`": 2} for at in (1, 3, 9)]
    columns = "`at.s` long, `k k` string, `n``` long"
    assert by_batch(spark, job, rows, {}, columns) == by_interpreter(job, rows, {})


def test_windows_without_triggers_emit_nothing(spark: SparkSession) -> None:
    job = replace(job_of([fixed("count")]), triggers=[])
    rows = spark.range(3)
    out = emitted(rows, job, job.task("sum"), Functions(), streaming=False)
    assert out.collect() == []


_TIMER = {"on": "timer", "period": 60}
_ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "at": st.one_of(st.none(), st.sampled_from([n / 4 for n in range(-40, 120)])),
            "k": st.sampled_from(["a", "b", None]),
            "n": st.one_of(st.none(), st.integers(-5, 5)),
            "x": st.none(),
        }
    ),
    max_size=25,
)
_SPANS = st.sampled_from([0.5, 1, 1.25, 3, "2.5 seconds", "1 minute"])


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_ROWS, _SPANS, _SPANS, st.sampled_from([{}, {"group_by": "k"}]))
def test_any_rows_and_any_spans_give_what_the_interpreter_gives(
    spark: SparkSession, rows: list[Any], one: Any, other: Any, grouping: dict[str, Any]
) -> None:
    segments = {"on": "segments", "threshold": 3, "refinement": "discarding"}
    sliding = {"type": "sliding", "time": "at", "range": one, "slide": other}
    session = {"type": "session", "time": "at", "gap": one}
    job = job_of(
        [
            {"id": "a", **sliding, "aggregation": ["sum", "n"], "triggers": [_TIMER]},
            {"id": "b", **session, "aggregation": ["collect", "n"], "triggers": [_TIMER]},
            {"id": "c", **sliding, "aggregation": "collect", "triggers": [segments]},
            {"id": "d", **session, "aggregation": ["min", "n"], "triggers": [segments, _TIMER]},
        ],
        **grouping,
    )
    columns = COLUMNS.replace("at long", "at double")
    assert by_batch(spark, job, rows, {}, columns) == by_interpreter(job, rows, {})
