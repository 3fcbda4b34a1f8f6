# Spark's types are of any shape.
# pyright: basic
"""A job as one streaming query: all outputs of an epoch are written in that epoch, or none.

Each epoch is staged for every output, and then published. A driver that dies in between leaves the
epoch to the next one, which is given the same rows by the checkpoint: what is published already
stays as it is, and the rest is staged and published anew.

A bounded stream is over when all that was there has been read, its windows have been closed, and
what that emits has been read too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from remuda.pipeline.durations import seconds_of
from remuda.pipeline.io.port import Target
from remuda.pipeline.io.registry import output_of
from remuda.pipeline.killed import JobKilled
from remuda.pipeline.model.job import TaskName
from remuda.pipeline.run import Run
from remuda.pipeline.spark.batch import Outputs, Shared
from remuda.pipeline.spark.failures import killed_by
from remuda.pipeline.spark.writing import stage_shared, together
from remuda.pipeline.windowing.closing import close

_LOOK_S = 0.2


class Stream:
    """`looked` is called with each progress that Spark tells."""

    def __init__(
        self, run: Run, outputs: Outputs, looked: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self._run = run
        self._outputs = outputs
        self._looked = looked
        self._windowed = sorted({window.task for window in run.job.windows})
        self._failure: Exception | None = None

    def go_on(self, stopping: Event) -> None:
        """From the checkpoint to the end, or until `stopping` is set."""
        self._query_until(stopping)
        if stopping.is_set() or not self._windowed:
            return
        for task in self._windowed:
            close(closing_directory(self._run, task))
        self._query_until(stopping)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _query_until(self, stopping: Event) -> None:
        query = self._started()
        told = None
        while query.isActive:
            if stopping.wait(_LOOK_S):
                query.stop()
            progress = query.lastProgress
            if progress is not None and progress["batchId"] != told:
                told = progress["batchId"]
                self._looked(progress)
        error = query.exception()
        if error is not None:
            raise self._failure or killed_by(error) from None

    def _started(self) -> StreamingQuery:
        shared = together(self._outputs)
        writer = shared.frame.writeStream.outputMode("append").queryName(self._run.job_id)
        writer = writer.option("checkpointLocation", str(self._run.work / "checkpoint"))
        job = self._run.job
        if job.mode == "available-now":
            writer = writer.trigger(availableNow=True)
        elif job.every is not None:
            seconds = seconds_of(job.every)
            assert seconds is not None
            writer = writer.trigger(processingTime=f"{float(seconds) * 1000:.0f} milliseconds")
        return writer.foreachBatch(lambda rows, epoch: self._write(rows, shared, epoch)).start()

    def _write(self, rows: DataFrame, shared: Shared, epoch: int) -> None:
        """Kept as it was raised: on its way through Spark an error loses all but its text."""
        try:
            targets = self._targets(epoch)
            stage_shared(Shared(rows, shared.outputs), targets)
            for target in targets.values():
                output_of(target.task).publish(target)
        except Exception as error:
            self._failure = killed_by(error)
            raise

    def _targets(self, epoch: int) -> dict[TaskName, Target]:
        job = self._run.job
        return {name: Target(self._run, job.task(name), epoch) for name in self._outputs.frames}


def closing_directory(run: Run, task: TaskName) -> str:
    return str(run.work / "closing" / task)


def expect_open(run: Run) -> None:
    """Raises JobKilled for a stream that has been closed, and so has ended, before."""
    if any((run.work / "closing").glob("*/closed.json")) and (run.work / "ended").exists():
        raise JobKilled(
            f"job {run.job_id} has run to its end, and its windows are closed: what comes now "
            "would be late for all of them; run it under another id"
        )
