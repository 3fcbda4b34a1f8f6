# Spark's status is of any shape.
# pyright: basic
"""How far a run has come, from what passes counted and from what Spark says of itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from remuda.pipeline.run import Progress
from remuda.pipeline.spark.counts import Counts

# With less of it done, a guess at the time left would be noise.
_ENOUGH = 0.05


class BatchMeter:
    """Tasks of Spark that are done, of those that are known; stages to come are not."""

    def __init__(self, spark: SparkSession, counts: Counts) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._counts = counts
        self._began = time.monotonic()

    def progress(self) -> Progress:
        seconds = time.monotonic() - self._began
        edges = self._counts.edges()
        done = self._done()
        sure = done is not None and done > _ENOUGH
        return Progress(
            edges=edges,
            routed_errors=self._counts.routed_errors(),
            rows_per_s=max(edges.values(), default=0) / max(seconds, 0.001),
            done=done,
            seconds_left=seconds * (1 - done) / done if sure and done is not None else None,
        )

    def _done(self) -> float | None:
        whole = finished = 0
        for stage in self._tracker.getActiveStageIds():
            info = self._tracker.getStageInfo(stage)
            if info is not None:
                whole += info.numTasks
                finished += info.numCompletedTasks
        return finished / whole if whole else None


class StreamMeter:
    """What Spark tells after each epoch."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._told: Mapping[str, Any] = {}
        self._late = 0
        self.batches = 0

    def note(self, told: Mapping[str, Any]) -> None:
        self._told = told
        self.batches = told["batchId"] + 1
        self._late += sum(op.get("numRowsDroppedByWatermark", 0) for op in told["stateOperators"])

    def progress(self) -> Progress:
        return Progress(
            edges=self._counts.edges(),
            routed_errors=self._counts.routed_errors(),
            batches=self.batches,
            rows_per_s=float(self._told.get("processedRowsPerSecond", 0.0) or 0.0),
            lag_rows=lag_of(self._told.get("sources", [])),
            late_rows=self._late,
        )


def lag_of(sources: list[Mapping[str, Any]]) -> int | None:
    """Rows that wait, of sources whose offsets are numbers; None if there is no such source."""
    behind = [_behind(source.get("endOffset"), source.get("latestOffset")) for source in sources]
    known = [rows for rows in behind if rows is not None]
    return sum(known) if known else None


def _behind(read: Any, there: Any) -> int | None:
    if isinstance(read, Mapping) and isinstance(there, Mapping):
        parts = [_behind(read.get(key, 0), latest) for key, latest in there.items()]
        known = [rows for rows in parts if rows is not None]
        return sum(known) if known else None
    if isinstance(read, int) and isinstance(there, int):
        return max(0, there - read)
    return None
