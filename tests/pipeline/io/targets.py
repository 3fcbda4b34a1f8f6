"""Runs, tasks and targets, as the tests of inputs and outputs need them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from remuda.pipeline.io.port import Output, Target
from remuda.pipeline.io.registry import input_of, output_of
from remuda.pipeline.model.job import Job, Task
from remuda.pipeline.run import Run

NOTHING = Job(workflow=[], catalog=[])


def run_in(folder: Path, job_id: str = "job-1", fence_epoch: int = 1, **parts: Any) -> Run:
    run = Run(NOTHING, job_id, folder / "work", fence_epoch, **parts)
    run.take_fence()
    return run


def source(plugin: str, schema: str | None = None, **options: Any) -> Task:
    return Task(name="in", type="input", plugin=plugin, schema=schema, options=options)


def sink(plugin: str, name: str = "out", **options: Any) -> Task:
    return Task(name=name, type="output", plugin=plugin, options=options)


def read(spark: SparkSession, run: Run, task: Task) -> DataFrame:
    return input_of(task).read(spark, task, run)


def written(rows: DataFrame, target: Target) -> int:
    """Staged and published."""
    output: Output = output_of(target.task)
    output.stage(rows, target)
    return output.publish(target)


def streamed(rows: DataFrame, run: Run, task: Task) -> None:
    """All that a stream has now, published epoch by epoch, from where the last run ended."""

    def publish(batch: DataFrame, epoch: int) -> None:
        written(batch, Target(run, task, epoch))

    stream(rows, run, publish)


def stream(rows: DataFrame, run: Run, on_batch: Any) -> None:
    writer = rows.writeStream.foreachBatch(on_batch).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(run.work / "checkpoint")).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def lines_below(folder: Path) -> list[str]:
    """Every line of every file that a plain look at a directory finds, in order."""
    files = [f for f in folder.rglob("*") if f.is_file() and not f.name.startswith(("_", "."))]
    return sorted(line for file in files for line in file.read_text().splitlines())


def hidden_beside(folder: Path) -> list[str]:
    return sorted(f.name for f in folder.parent.iterdir() if f.name.startswith(".remuda"))
