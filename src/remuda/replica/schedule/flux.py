"""What follows for a job when one of its slots is lost: its node left, or it did not ack.

The policy is the task's. It matters where a slot holds state that no other has: the keys that
were grouped to it, the windows it was filling.

- *continue*  the task goes on with the slots that are left; what the lost one held is lost too.
              The schedulers give it another slot when there is one.
- *recover*   the task starts again from the last checkpoint, on whatever slots it is given, so
              that nothing is lost.
- *kill*      the job ends, with this as its reason.

Whether what is left still covers the job is the schedulers' question, not this one's: a job that
is no longer covered waits under *continue* as under *recover*.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, assert_never

from msgspec import Struct

from remuda.replica.schedule.demand import Flux, JobDemand, TaskDemand, TaskId
from remuda.replica.schedule.slots import SlotId

Outcome: TypeAlias = Literal["task-goes-on", "task-restarts", "job-is-killed"]

# What is worst for the job decides where several of its slots are lost at once.
_SEVERITY: tuple[Outcome, ...] = ("task-goes-on", "task-restarts", "job-is-killed")


class AfterLoss(Struct, frozen=True):
    outcome: Outcome
    task: TaskId
    reason: str


def after_loss(task: TaskDemand, slot: SlotId, policy: Flux | None = None) -> AfterLoss:
    """What follows when `slot`, which did `task`, is lost; by the task's own policy unless
    another is given."""
    lost = f"slot {slot} of task {task.task} was lost"
    flux = policy or task.flux
    match flux:
        case "continue":
            return AfterLoss("task-goes-on", task.task, f"{lost}: it goes on with the others")
        case "recover":
            return AfterLoss("task-restarts", task.task, f"{lost}: it restarts")
        case "kill":
            return AfterLoss("job-is-killed", task.task, f"{lost}: its flux policy is kill")
        case _:
            assert_never(flux)


def after_losses(job: JobDemand, lost: Mapping[SlotId, TaskId]) -> AfterLoss | None:
    """What follows for a whole job: the gravest of what follows from each slot, the first by
    task and by slot where several are as grave."""
    order = {task.task: number for number, task in enumerate(job.tasks)}
    outcomes = [
        after_loss(job.tasks[order[task]], slot)
        for slot, task in sorted(lost.items(), key=lambda item: (order.get(item[1], -1), item[0]))
        if task in order
    ]
    return max(outcomes, key=lambda after: _SEVERITY.index(after.outcome), default=None)
