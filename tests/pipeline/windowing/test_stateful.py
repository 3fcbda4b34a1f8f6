# pyright: basic
"""Our state machine in a stream: what only a stream shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pipeline.windowing.executors import Stream, job_of
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


def test_timers_go_by_the_clock_in_a_stream_that_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    triggers = [{"on": "timer", "period": "100 ms"}, {"on": "watermark"}]
    window = {"id": "w", "type": "fixed", "time": "at", "range": 10, "aggregation": "count"}
    stream = Stream(
        spark, job_of([{**window, "triggers": triggers}], mode="continuous"), {}, tmp_path
    )
    with stream.running():
        stream.put([{"at": 0}, {"at": 1}])
        wait_until(lambda: stream.lines["w-0 None ['0', '10'] 2"], "the timer fires")
        assert not stream.lines["w-1 None ['0', '10'] 2"]
        stream.put([{"at": 25}])
        wait_until(lambda: stream.lines["w-1 None ['0', '10'] 2"], "the window is complete")
        wait_until(lambda: stream.lines["w-0 None ['20', '30'] 1"], "the timer fires again")
