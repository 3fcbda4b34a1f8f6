"""A job run in the caller's own Spark session: for notebooks, scripts and tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

from pyspark.sql import SparkSession

from remuda.pipeline.engine import SparkEngine
from remuda.pipeline.interpreter import Outcome
from remuda.pipeline.io import memory
from remuda.pipeline.model.job import TaskName
from remuda.pipeline.run import Progress, Run, next_epoch
from remuda.pipeline.submission import find_modules, new_run_id, submission_of


def run_here(
    spark: SparkSession,
    job: Mapping[str, Any] | str | Path,
    *,
    inputs: Mapping[TaskName, list[dict[str, Any]]] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    work: Path | None = None,
    stopping: Event | None = None,
    tell: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Run a job to its end, or until `stopping` is set. Answers the rows of its `memory` outputs.

    `work` keeps the checkpoint of a stream; without it there is none, and each run begins anew.
    """
    submission = submission_of(job)
    find_modules(submission)
    place = work or Path(tempfile.mkdtemp(prefix="remuda-"))
    run = Run(
        job=submission.job,
        job_id=new_run_id(submission),
        work=place,
        fence_epoch=next_epoch(place),
        tell=tell or (lambda _progress: None),
        functions=functions or {},
        inputs=inputs or {},
    )
    try:
        run.take_fence()
        _run(spark, run, stopping or Event())
        return Outcome(
            {
                task.name: memory.rows_of(run.job_id, task.name)
                for task in run.job.catalog
                if task.type == "output" and task.plugin == "memory"
            }
        )
    finally:
        memory.forget(run.job_id)
        if work is None:
            shutil.rmtree(place, ignore_errors=True)


def _run(spark: SparkSession, run: Run, stopping: Event) -> None:
    engine = SparkEngine()
    if run.job.mode == "batch":
        engine.stage(spark, run)
    else:
        engine.stream(spark, run, stopping)
    engine.seal(run)
