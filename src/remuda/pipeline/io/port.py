"""The interface of inputs and outputs.

A plugin is an object with the methods of `Input`, of `Output`, or of both. It keeps nothing between
calls that another process would miss: whoever publishes need not be the process that staged.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from remuda.errors import RemudaError
from remuda.pipeline.model.job import Task
from remuda.pipeline.model.problems import Problem
from remuda.pipeline.run import Run


class BadInput(RemudaError):
    """An input cannot be read: it is not there, or it is not what the task says."""

    exit_code = 2


class BadOutput(RemudaError):
    """An output cannot be written where the task says."""

    exit_code = 2


class NothingStaged(RemudaError):
    """An output is to be published, and there is nothing of it."""


class Target(Struct, frozen=True):
    """One commit: of a task's whole output, or of one epoch of it."""

    run: Run
    task: Task
    # The number of the micro-batch; None for a batch job, whose output is one whole.
    epoch: int | None = None

    @property
    def number(self) -> int:
        return self.epoch or 0

    def __str__(self) -> str:
        of_epoch = "" if self.epoch is None else f", epoch {self.epoch}"
        return f"output {self.task.name} of job {self.run.job_id}{of_epoch}"


@runtime_checkable
class Input(Protocol):
    def check(self, task: Task) -> list[Problem]:
        """What is wrong with the task's options. Asks nothing of Spark, and of no file."""
        ...

    def read(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        """All rows that are there. Raises BadInput, if that can be known now."""
        ...

    def read_stream(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        """The rows as a stream. Raises BadInput for an input that cannot be one."""
        ...


@runtime_checkable
class Output(Protocol):
    def check(self, task: Task) -> list[Problem]:
        """What is wrong with the task's options. Asks nothing of Spark, and of no file."""
        ...

    def stage(self, rows: DataFrame, target: Target) -> None:
        """Writes the rows where nobody sees them. Whatever an attempt before has left is undone.
        Does nothing for a target that is published already."""
        ...

    def publish(self, target: Target) -> int:
        """Makes visible what is staged, once: a second call changes nothing. Answers how many rows
        the target has. Asks `run.check_fence()` right before anything becomes visible."""
        ...

    def discard(self, target: Target) -> None:
        """Removes what is staged and not published, and what a publishing that was cut off left."""
        ...
