# pyright: basic
"""The three executors agree on windows: the interpreter, Spark in batch, Spark in a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from remuda.pipeline.functions import Row
from remuda.pipeline.windowing.choice import needs_state
from tests.pipeline.windowing.executors import by_batch, by_interpreter, by_stream, job_of

pytestmark = pytest.mark.integration

TYPES: dict[str, dict[str, Any]] = {
    "fixed": {"type": "fixed", "time": "at", "range": 7},
    "sliding": {"type": "sliding", "time": "at", "range": 10, "slide": 4},
    "spaced": {"type": "sliding", "time": "at", "range": 3, "slide": 5},
    "session": {"type": "session", "time": "at", "gap": 2},
    "global": {"type": "global"},
}
AGGREGATIONS: list[Any] = [
    "count",
    ["sum", "n"],
    ["min", "n"],
    ["max", "k"],
    ["average", "n"],
    ["collect", "n"],
    "collect",
    ["collect_by_key", "k"],
]
GROUPINGS: list[dict[str, Any]] = [
    {},
    {"group_by": "k"},
    {"group_by": ["k", "n"]},
    {"group_by_fn": "test:parity"},
]
ROWS: list[Row] = [
    {"at": at, "k": k, "n": n, "x": None if at is None else at / 4}
    for at, k, n in [
        (0, "a", 1), (1, "b", 2), (4, "a", None), (3, None, 3), (9, "b", 5), (None, "a", 8),
        (12, "a", 1), (6, "b", None), (7, "a", 2), (14, "b", 2), (25, None, 4), (21, "a", 7),
        (27, "a", 7), (28, "b", 0), (23, "a", 3), (-3, "b", 1),
    ]
]  # fmt: skip


class Product:
    """One's own aggregation."""

    @staticmethod
    def init() -> int:
        return 1

    @staticmethod
    def update(state: int, row: Row) -> int:
        return (row["n"] or 0) + 1

    @staticmethod
    def apply(state: int, change: int) -> int:
        return state * change

    @staticmethod
    def merge(one: int, other: int) -> int:
        return one * other


KNOWN: dict[str, Any] = {
    "test:parity": lambda row: (row["n"] or 0) % 2 == 0,
    "test:is_seven": lambda row: row["n"] == 7,
    "test:product": Product,
}


def window(id_: str, kind: str, aggregation: Any, *triggers: dict[str, Any]) -> dict[str, Any]:
    lateness = {} if kind == "global" else {"lateness": 1000}
    return {
        "id": id_,
        **TYPES[kind],
        **lateness,
        "aggregation": aggregation,
        "triggers": list(triggers) or [{"on": "timer", "period": 60}],
    }


def native_windows(part: int) -> list[dict[str, Any]]:
    """A quarter of all kinds of windows with all aggregations; the parts make up the whole."""
    return [
        window(f"{kind}-{number}", kind, aggregation)
        for place, kind in enumerate(TYPES)
        for number, aggregation in enumerate(AGGREGATIONS)
        if (place + number) % len(GROUPINGS) == part
    ]


STATEFUL = [
    window("by-two", "fixed", ["sum", "n"], {"on": "segments", "threshold": 2}),
    window(
        "by-two-anew",
        "sliding",
        ["collect", "n"],
        {"on": "segments", "threshold": 2, "refinement": "discarding"},
    ),
    window(
        "by-seven",
        "session",
        "count",
        {"on": "punctuation", "predicate": "test:is_seven", "refinement": "discarding"},
        {"on": "watermark"},
    ),
    window("own-sessions", "session", "test:product", {"on": "watermark"}),
]
STATEFUL_GLOBAL = [
    window("own", "global", "test:product"),
    window("by-seven", "global", "count", {"on": "punctuation", "predicate": "test:is_seven"}),
]
STREAMED = [
    window("fixed", "fixed", ["average", "n"]),
    window("sliding", "sliding", ["collect_by_key", "k"], {"on": "watermark"}),
    window("spaced", "spaced", "collect"),
    window("session", "session", ["sum", "n"]),
    window(
        "global",
        "global",
        ["max", "k"],
        {"on": "timer", "period": 1, "refinement": "discarding"},
        {"on": "timer", "period": 2},
    ),
]


@pytest.mark.parametrize("part", range(len(GROUPINGS)))
def test_spark_in_batch_emits_what_the_interpreter_emits(spark: SparkSession, part: int) -> None:
    job = job_of(native_windows(part), **GROUPINGS[part])
    assert not needs_state(job, job.task("sum"))
    assert by_batch(spark, job, ROWS, KNOWN) == by_interpreter(job, ROWS, KNOWN)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_our_state_machine_in_batch_emits_what_the_interpreter_emits(
    spark: SparkSession, grouping: dict[str, Any]
) -> None:
    job = job_of([*STATEFUL, *STATEFUL_GLOBAL[:1]], **grouping)
    assert needs_state(job, job.task("sum"))
    assert by_batch(spark, job, ROWS, KNOWN) == by_interpreter(job, ROWS, KNOWN)


@pytest.mark.parametrize(
    ("windows", "grouping"),
    [
        (STREAMED, {}),
        (STREAMED[2:4], {"group_by": ["k", "n"]}),
        (STREAMED[3:], {"group_by_fn": "test:parity"}),
        (STATEFUL, {"group_by": "k"}),
        (STATEFUL_GLOBAL, {"group_by_fn": "test:parity"}),
    ],
    ids=["spark, all", "spark, by columns", "spark, by function", "ours", "ours, global"],
)
def test_a_closed_stream_emits_what_the_interpreter_emits(
    spark: SparkSession, tmp_path: Path, windows: Any, grouping: dict[str, Any]
) -> None:
    job = job_of(windows, mode="available-now", **grouping)
    streamed = by_stream(spark, job, ROWS, KNOWN, tmp_path)
    assert streamed == by_interpreter(job, ROWS, KNOWN)
