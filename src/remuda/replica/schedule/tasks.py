"""How many slots each task of a job gets, once it is known how many the job gets.

- *balanced*    every task its minimum, and then one at a time to the task that has least, in
                topological order on a tie, up to each one's maximum.
- *percentage*  by largest remainder; a task whose share is beyond its maximum or below its
                minimum has that instead, and the others share the rest by their percentages.
                Percentages are weights here as well. A task without one has its minimum, and what
                the others cannot use.
- *colocated*   as many slots on each task as the job has groups: decided with the room.

Where tags keep a task from having what it should, it has what it can, and the others share the
rest in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from remuda.replica.schedule.demand import JobDemand
from remuda.replica.schedule.room import Room
from remuda.replica.schedule.shares import by_weight, evenly


def split(
    job: JobDemand,
    total: int,
    floors: Sequence[int] | None = None,
    caps: Sequence[int] | None = None,
) -> list[int]:
    """Each task's count, tags aside. `total` is no less than the job's minimum; where it is more
    than the job can use, the sum is less. Floors and caps are the tasks' own unless given."""
    if floors is None:
        floors = [task.fewest for task in job.tasks]
    if caps is None:
        caps = [total if task.most is None else min(total, task.most) for task in job.tasks]
    if job.is_colocated:
        return [min(total // job.step, *caps)] * len(job.tasks)
    if job.task_scheduler == "percentage":
        return by_weight(total, [task.weight for task in job.tasks], floors, caps)
    return evenly(total, floors, caps)


def settle(room: Room, job: JobDemand) -> Room:
    """A room in which all that a job has is tied to its tasks."""
    if job.is_colocated:
        return room
    total, counts = room.held(job), room.counts(job)
    settled = room.copy()
    settled.untie(job)
    for number, wanted in enumerate(split(job, total)):
        settled.tie(job, number, wanted - counts[number])
    if settled.held(job) == total:
        return settled
    settled = room.copy()
    settled.untie(job)
    _settle_stepwise(settled, job, total)
    return settled


def _settle_stepwise(room: Room, job: JobDemand, total: int) -> None:
    """To be fair to tasks that compete for slots with the same tags: always one slot to the task
    that has the least part of what it should. One that cannot have it never can again."""
    counts = room.counts(job)
    caps = [total if task.most is None else task.most for task in job.tasks]
    while sum(counts) < total:
        wanted = split(job, total, counts, caps)
        short = [n for n in range(len(counts)) if counts[n] < wanted[n]]
        number = min(short, key=lambda n: Fraction(counts[n], wanted[n]))
        if room.tie(job, number, 1):
            counts[number] += 1
        else:
            caps[number] = counts[number]
