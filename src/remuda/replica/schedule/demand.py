"""What a job and its tasks ask for."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias

from msgspec import Struct

JobId: TypeAlias = str
TaskId: TypeAlias = str

TaskScheduler: TypeAlias = Literal["balanced", "percentage", "colocated"]
Flux: TypeAlias = Literal["continue", "recover", "kill"]

# A replica holds no floats: a percentage is kept in millionths of the whole, so 37.5% is 375,000.
PPM_PER_PERCENT = 10_000
WHOLE_PPM = 100 * PPM_PER_PERCENT


def ppm_of(percent: int | float | str) -> int:
    """A percentage as people write it. Finer than a millionth is cut off, never rounded up, so
    that percentages which sum to 100 still do not exceed it."""
    return int(Fraction(str(percent)) * PPM_PER_PERCENT)


def percent_text(ppm: int) -> str:
    whole, part = divmod(ppm, PPM_PER_PERCENT)
    return f"{whole}.{part:04}".rstrip("0").rstrip(".")


class TaskDemand(Struct, frozen=True, omit_defaults=True):
    """`n_slots` is an exact number, and stands for both the minimum and the maximum."""

    task: TaskId
    min_slots: int | None = None
    max_slots: int | None = None
    n_slots: int | None = None
    share_ppm: int | None = None
    # A slot may do the task only if it has all of these.
    tags: tuple[str, ...] = ()
    flux: Flux = "recover"

    @property
    def weight(self) -> int:
        return max(0, self.share_ppm or 0)

    @property
    def fewest(self) -> int:
        asked = self.n_slots if self.n_slots is not None else self.min_slots
        return max(1, asked or 0)

    @property
    def most(self) -> int | None:
        return self.n_slots if self.n_slots is not None else self.max_slots


class JobDemand(Struct, frozen=True, omit_defaults=True):
    """Tasks are in topological order; `submitted` is the log position of the submission."""

    job: JobId
    submitted: int
    tasks: tuple[TaskDemand, ...]
    task_scheduler: TaskScheduler = "balanced"
    share_ppm: int | None = None

    @property
    def weight(self) -> int:
        return max(0, self.share_ppm or 0)

    @property
    def is_colocated(self) -> bool:
        return self.task_scheduler == "colocated"

    @property
    def step(self) -> int:
        """Slots come one by one, but to a colocated job in groups of one for each task."""
        return max(1, len(self.tasks)) if self.is_colocated else 1

    @property
    def minimum(self) -> int:
        """What covers the job. As a colocated job has as many slots on one task as on another,
        the task that needs the most decides for all of them."""
        if self.is_colocated:
            return self.step * max((task.fewest for task in self.tasks), default=0)
        return sum(task.fewest for task in self.tasks)

    @property
    def most(self) -> int | None:
        """What the job can use at most; None where a task could use any number."""
        bounds = [task.most for task in self.tasks]
        given = [bound for bound in bounds if bound is not None]
        if self.is_colocated:
            return self.step * min(given) if given else None
        return sum(given) if len(given) == len(bounds) else None

    @property
    def contradiction(self) -> str | None:
        """Why no slots whatever would cover it."""
        if not self.tasks:
            return "it has no tasks"
        for task in self.tasks:
            if task.most is not None and task.most < task.fewest:
                return f"task {task.task} asks for at least {task.fewest} and at most {task.most}"
        if self.is_colocated and self.most is not None and self.most < self.minimum:
            low, high = self.minimum // self.step, self.most // self.step
            return (
                "colocated gives every task the same number of slots, but one asks for at least "
                f"{low} and one for at most {high}"
            )
        return None


def by_submission(job: JobDemand) -> tuple[int, JobId]:
    return job.submitted, job.job
