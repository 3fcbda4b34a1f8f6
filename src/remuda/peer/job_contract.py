"""What a keeper asks of whoever drives jobs, and what it is told in return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from remuda.replica.schedule.demand import JobId, TaskId


class JobOffer(Struct, frozen=True):
    """What a peer gives to jobs: so many cores, and what is special about them."""

    slots: int
    tags: tuple[str, ...] = ()


class StartJob(Struct, frozen=True):
    """Drive this job: `JobStarted`, then `JobStaged`; or `JobFailed` or `JobStopped` at any time.

    `epoch` fences it: nothing of a driver may become visible once one of a greater epoch has
    begun. `tasks` are the slots by task, `restarts` the number of drivers before this one.
    """

    job_id: JobId
    epoch: int
    spec: str
    slots_here: int
    slots_total: int
    tasks: Mapping[TaskId, int] = {}
    restarts: int = 0


class SealJob(Struct, frozen=True):
    """Make what is staged visible: `JobSealed`, or `JobFailed`, or `JobStopped`.

    Mostly for the driver that has staged it. After a crash there is no driver, and under a new
    epoch the same output is to be published again: what is visible already stays as it is.
    """

    job_id: JobId
    epoch: int
    spec: str
    outcome: str


class StopJob(Struct, frozen=True):
    """`JobStopped` when nothing of the driver is left; it has lost its right to run already."""

    job_id: JobId
    epoch: int
    reason: str


JobEffect: TypeAlias = StartJob | SealJob | StopJob


class JobStarted(Struct, frozen=True):
    job_id: JobId
    epoch: int


class JobStaged(Struct, frozen=True):
    """All output is staged whole. `outcome` is small JSON: rows by output, say. One that is too
    large for the log is left out of it."""

    job_id: JobId
    epoch: int
    outcome: str


class JobSealed(Struct, frozen=True):
    """All output is visible, and the driver has ended."""

    job_id: JobId
    epoch: int


class JobFailed(Struct, frozen=True):
    """The job cannot be done, and it is no use to try again; the driver has ended."""

    job_id: JobId
    epoch: int
    reason: str


class JobStopped(Struct, frozen=True):
    """The driver has ended, because it was asked to or by an accident. The job starts again."""

    job_id: JobId
    epoch: int
    reason: str = ""


JobChange: TypeAlias = JobStarted | JobStaged | JobSealed | JobFailed | JobStopped
JobEnding: TypeAlias = JobSealed | JobFailed | JobStopped
