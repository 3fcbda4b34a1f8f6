"""Jobs and the slots that do them, as the replica holds them.

What follows from them is in `scheduling`; what happens when somebody dies at which point is in
docs/jobs-in-the-log.md, as a table.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from remuda.replica.pool import PeerId
from remuda.replica.schedule.demand import JobDemand, TaskDemand
from remuda.replica.schedule.slots import Place, SlotId
from remuda.replica.schedule.states import SlotState

JobPhase: TypeAlias = Literal["waiting", "starting", "running", "sealing", "completed", "killed"]


class Offer(Struct, frozen=True, omit_defaults=True):
    """What a member gives to jobs. `made` counts the slots that it ever had: an id is never used
    twice."""

    slots: int
    tags: tuple[str, ...] = ()
    made: int = 0


class OfferedSlot(Struct, frozen=True, omit_defaults=True):
    """`place` is what the slot has been told to do, and keeps on doing until it is let go;
    `wanted` is what it should do by the latest plan.

    `told` is the position of the entry by which it was told: an ack names it, so that one that
    comes late does not count for what the slot has been told since.
    """

    peer: PeerId
    tags: tuple[str, ...] = ()
    state: SlotState = SlotState.IDLE
    place: Place | None = None
    wanted: Place | None = None
    told: int = -1
    # To die as soon as it does nothing: its member offers fewer by now.
    withdrawn: bool = False

    @property
    def is_offered(self) -> bool:
        """Whether it can be planned with."""
        return not self.withdrawn and self.state is not SlotState.REVOKED


class JobState(Struct, frozen=True, omit_defaults=True):
    """A job, from its submission on.

    While a driver has the job, `lead` is the peer that runs it, and `epoch` the position by which
    it came to. `epoch` stays when the driver is gone, so the next one's is greater.
    """

    # Opaque here: whoever drives the job can read it.
    spec: str
    demand: JobDemand
    phase: JobPhase = "waiting"
    # Why it waits, what it is waiting for to start, or why it was killed.
    reason: str = ""
    lead: PeerId | None = None
    epoch: int = -1
    # Why the driver is to stop, until the lead says that it has.
    halting: str = ""
    # The slot that makes the output visible, or has.
    sealer: SlotId | None = None
    # What the driver has staged, as JSON. From here on there is no way back: it will be sealed.
    outcome: str | None = None
    # How many drivers it has had, but for the first.
    restarts: int = 0
    submitted_ms: int = 0
    ended_ms: int = 0

    @property
    def is_ended(self) -> bool:
        return self.phase in ("completed", "killed")

    @property
    def is_driven(self) -> bool:
        """Whether a driver has it that may go on."""
        return self.lead is not None and not self.halting

    def is_led_by(self, peer: PeerId | None, epoch: int | None) -> bool:
        return self.lead is not None and (self.lead, self.epoch) == (peer, epoch)

    @property
    def needs(self) -> JobDemand:
        """What it needs now: to seal what is staged takes one slot, whichever it is."""
        if self.outcome is None:
            return self.demand
        sealing = TaskDemand(self.demand.tasks[0].task, n_slots=1)
        return replace(self.demand, tasks=(sealing,), task_scheduler="balanced")


def driver_gone(job: JobState) -> JobState:
    """The lead has stopped its driver, or has died, and the driver with it."""
    sealer = job.sealer if job.phase == "completed" else None
    return replace(job, lead=None, halting="", sealer=sealer)


def killed(job: JobState, reason: str, at_ms: int) -> JobState:
    """The driver, if there is one, has yet to stop."""
    return replace(
        job,
        phase="killed",
        reason=reason,
        halting=f"the job is killed: {reason}" if job.lead is not None else "",
        sealer=None,
        ended_ms=at_ms,
    )
