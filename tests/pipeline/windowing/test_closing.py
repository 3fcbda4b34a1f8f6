# pyright: basic
"""A stream's watermark: what is emitted before a stream is closed, what is late, and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from remuda.pipeline.windowing.closing import close
from tests.pipeline.windowing.executors import Stream, job_of


def fixed(trigger: dict[str, Any], lateness: int) -> dict[str, Any]:
    window = {"id": "w", "type": "fixed", "time": "at", "range": 10, "aggregation": "count"}
    return {**window, "lateness": lateness, "triggers": [trigger]}


def test_closing_again_changes_nothing(tmp_path: Path) -> None:
    close(tmp_path / "closing")
    (closed,) = (tmp_path / "closing").iterdir()
    before = closed.stat()
    close(tmp_path / "closing")
    assert [closed] == list((tmp_path / "closing").iterdir())
    assert closed.stat() == before


@pytest.mark.integration
@pytest.mark.parametrize("on", [{"on": "watermark"}, {"on": "segments", "threshold": 100}])
def test_windows_are_emitted_as_the_watermark_passes_and_late_rows_are_counted(
    spark: SparkSession, tmp_path: Path, on: dict[str, Any]
) -> None:
    job = job_of([fixed(on, lateness=5)], mode="available-now")
    stream = Stream(spark, job, {}, tmp_path)
    stream.put([{"at": 1}, {"at": 9}])
    stream.put([{"at": 14}])
    stream.put([{"at": 8}, {"at": 16}])
    stream.put([{"at": 17}])
    stream.put([{"at": 3}, {"at": 18}])
    stream.run()
    assert stream.lines == {"w-0 None ['0', '10'] 3": 1}
    assert stream.late_rows == 1
    stream.close()
    assert stream.lines == {"w-0 None ['0', '10'] 3": 1, "w-0 None ['10', '20'] 4": 1}
    stream.put([{"at": 1000}])
    stream.run()
    assert stream.late_rows == 2
    assert sum(stream.lines.values()) == 2


@pytest.mark.integration
def test_in_order_no_row_is_late_though_times_repeat_from_batch_to_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    session = {"id": "s", "type": "session", "time": "at", "gap": 5, "aggregation": "count"}
    job = job_of(
        [
            {**session, "triggers": [{"on": "watermark"}]},
            {**session, "id": "t", "triggers": [{"on": "segments", "threshold": 100}]},
        ],
        mode="available-now",
        group_by="k",
    )
    stream = Stream(spark, job, {}, tmp_path)
    stream.put([{"at": 0, "k": "a"}, {"at": 5, "k": "b"}])
    stream.put([{"at": 5, "k": "a"}, {"at": 5, "k": "b"}, {"at": 10, "k": "b"}])
    stream.run()
    stream.close()
    assert stream.late_rows == 0
    assert stream.lines == {
        f"{window}-0 {line}": 1
        for window in ("s", "t")
        for line in ("'a' ['0', '5'] 2", "'b' ['5', '10'] 3")
    }
