# Spark's types are of any shape.
# pyright: basic
"""How a driver runs a job: inputs read, frames built, outputs staged and published."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from remuda.errors import RemudaError
from remuda.pipeline.functions import Functions, Row
from remuda.pipeline.io import registry
from remuda.pipeline.io.port import Target
from remuda.pipeline.io.registry import input_of, output_of
from remuda.pipeline.model.job import Job, Task, TaskName
from remuda.pipeline.model.problems import BadJob
from remuda.pipeline.run import Progress, Run
from remuda.pipeline.spark import writing
from remuda.pipeline.spark.batch import Outputs, build
from remuda.pipeline.spark.failures import killed_by
from remuda.pipeline.spark.measure import BatchMeter, StreamMeter
from remuda.pipeline.spark.stream import Stream, closing_directory, expect_open
from remuda.pipeline.windowing.operator import emitted

_TELL_S = 0.5
_SAMPLE_ROWS = 200


class SparkEngine:
    """What `driver.engine.Engine` asks for."""

    def stage(self, spark: SparkSession, run: Run) -> dict[str, Any]:
        """Write all output of a batch job, none of it visible."""
        with one_clear_line():
            outputs = batch_outputs(spark, run)
            try:
                with _telling(run, BatchMeter(spark, outputs.counts).progress):
                    writing.stage_all(outputs, _targets(run))
                    outputs.check_audit()
                return {"edges": outputs.counts.edges()}
            except BaseException:
                discard(run)
                raise
            finally:
                outputs.release()

    def seal(self, run: Run) -> dict[str, Any]:
        """Make the output of a bounded job visible; a second time changes nothing."""
        if run.job.mode != "batch":
            return {}
        targets = _targets(run)
        return {"rows": {name: output_of(t.task).publish(t) for name, t in targets.items()}}

    def stream(self, spark: SparkSession, run: Run, stopping: Event) -> dict[str, Any]:
        """Run a streaming job from its checkpoint until its end, or until `stopping` is set."""
        with one_clear_line():
            expect_open(run)
            outputs = stream_outputs(spark, run)
            meter = StreamMeter(outputs.counts)
            with _telling(run, meter.progress):
                Stream(run, outputs, meter.note).go_on(stopping)
            if not stopping.is_set():
                (run.work / "ended").touch()
            return {"edges": outputs.counts.edges(), "batches": meter.batches}


def batch_outputs(spark: SparkSession, run: Run) -> Outputs:
    """The frames of a batch job; nothing is computed yet."""
    expect_plugins(run.job)
    _configure(spark, run.job)
    inputs = {task.name: input_of(task).read(spark, task, run) for task in _of(run, "input")}
    return build(spark, run, inputs, _windows(run))


def stream_outputs(spark: SparkSession, run: Run) -> Outputs:
    """The frames of a streaming job; nothing is computed yet."""
    expect_plugins(run.job)
    _configure(spark, run.job)
    inputs = {task.name: input_of(task).read_stream(spark, task, run) for task in _of(run, "input")}
    return build(
        spark, run, inputs, _windows(run), streaming=True, samples=_Samples(spark, run, inputs)
    )


def expect_plugins(job: Job) -> None:
    """Raises BadJob for what is wrong with inputs and outputs."""
    problems = registry.check(job)
    if problems:
        raise BadJob(problems)


def discard(run: Run) -> None:
    """Remove what a batch job has staged and will not publish."""
    if run.job.mode == "batch":
        for target in _targets(run).values():
            with suppress(RemudaError, OSError):
                output_of(target.task).discard(target)


@contextmanager
def one_clear_line() -> Generator[None]:
    """Whatever Spark raises, in one line that names the user's."""
    try:
        yield
    except Exception as error:
        told = killed_by(error)
        if told is error:
            raise
        raise told from error


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _of(run: Run, kind: str) -> list[Task]:
    return [task for task in run.job.catalog if task.type == kind]


def _targets(run: Run) -> dict[TaskName, Target]:
    return {task.name: Target(run, task) for task in _of(run, "output")}


def _configure(spark: SparkSession, job: Job) -> None:
    if job.partitions is not None:
        spark.conf.set("spark.sql.shuffle.partitions", str(job.partitions))


def _windows(run: Run) -> Any:
    def operator(
        rows: DataFrame,
        job: Job,
        task: Task,
        functions: Functions,
        *,
        streaming: bool,
        samples: Callable[[], list[Row]],
    ) -> DataFrame:
        return emitted(
            rows,
            job,
            task,
            functions,
            streaming=streaming,
            samples=samples,
            closing=closing_directory(run, task.name) if streaming and job.is_bounded else None,
        )

    return operator


class _Samples(Mapping[TaskName, list[Row]]):
    """Rows of streaming inputs, read as a batch when they are asked for."""

    def __init__(self, spark: SparkSession, run: Run, inputs: Mapping[TaskName, DataFrame]) -> None:
        self._spark = spark
        self._run = run
        self._inputs = inputs

    def __getitem__(self, name: TaskName) -> list[Row]:
        task = self._run.job.task(name)
        rows = input_of(task).read(self._spark, task, self._run)
        return rows.limit(_SAMPLE_ROWS).toArrow().to_pylist(maps_as_pydicts="strict")

    def __iter__(self) -> Any:
        return iter(self._inputs)

    def __len__(self) -> int:
        return len(self._inputs)


@contextmanager
def _telling(run: Run, progress: Callable[[], Progress]) -> Generator[None]:
    """Tells how far the run has come, now and then, and once more when it is over."""
    over = Event()

    def tell() -> None:
        while not over.wait(_TELL_S):
            run.tell(progress())

    teller = Thread(target=tell, name="progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        run.tell(progress())
