# pyright: basic
"""Which windows run by Spark's operators, and which jobs cannot be streams."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.pipeline.model.reading import read_job
from remuda.pipeline.windowing.choice import CannotStream, check_stream, needs_state
from tests.pipeline.windowing.executors import job_of


@pytest.mark.parametrize(
    ("aggregation", "trigger", "mode", "stateful"),
    [
        ("count", {"on": "watermark"}, "batch", False),
        ("count", {"on": "watermark", "refinement": "discarding"}, "continuous", False),
        ("count", {"on": "timer", "period": 5}, "batch", False),
        ("count", {"on": "timer", "period": 5}, "available-now", False),
        ("count", {"on": "timer", "period": 5}, "continuous", True),
        ("count", {"on": "segments", "threshold": 5}, "batch", True),
        ("count", {"on": "punctuation", "predicate": "test:is"}, "available-now", True),
        ("test:own", {"on": "watermark"}, "batch", True),
    ],
)
def test_python_keeps_state_only_where_spark_cannot(
    aggregation: Any, trigger: dict[str, Any], mode: str, stateful: bool
) -> None:
    window = {"id": "w", "type": "fixed", "time": "at", "range": 5, "aggregation": aggregation}
    job = job_of([{**window, "triggers": [trigger]}], mode=mode)
    assert needs_state(job, job.task("sum")) is stateful


def chained(**second: Any) -> Any:
    window = {"type": "fixed", "time": "at", "range": 5, "aggregation": "count"}
    return read_job(
        {
            "workflow": [
                ["in", "hours"],
                ["hours", "between"],
                ["between", "days"],
                ["days", "out"],
            ],
            "catalog": [
                {"name": "in", "type": "input", "plugin": "memory"},
                {"name": "hours", "type": "function", "fn": "test:hours"},
                {"name": "between", "type": "function", "fn": "test:between"},
                {"name": "days", "type": "reduce"},
                {"name": "out", "type": "output", "plugin": "memory"},
            ],
            "windows": [
                {"id": "h", "task": "hours", **window},
                {"id": "d", "task": "days", **window},
            ],
            "triggers": [
                {"id": "ht", "window": "h", "on": "watermark", **second},
                {"id": "dt", "window": "d", "on": "watermark", "emit": "test:emit"},
            ],
        }
    )


def test_windows_over_what_windows_emit_are_refused_in_a_stream() -> None:
    with pytest.raises(CannotStream, match=r"`days` has windows over what .* `hours` emit"):
        check_stream(chained(emit="test:emit"))


def test_windows_after_windows_that_only_sync_are_not() -> None:
    check_stream(chained(sync="test:sync"))
