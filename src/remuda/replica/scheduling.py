"""How slots and jobs follow from each other: the plan, and the legal steps towards it.

A slot goes one way only (`schedule.states`), so what the plan wants takes several entries: a slot
that is to change jobs waits until the driver that used it has stopped, is idle, and is told anew.
`rescheduled` makes a new plan and goes as far towards it as can be gone at once; `advanced` goes
on with the plan that is there. Only commands that change slots or jobs pay for either.

- A slot that was told to do a task keeps to it until it has acked, even if it is not wanted there
  any more: it then goes through active and waiting like any other.
- A slot changes between tasks of one job without a step: all of them are one driver's work.
- A job is given a driver when every slot that the plan has for it is active and no former driver
  is left. What it is given later counts when it next starts.
- When slots are taken from a job that runs, by the plan or by a death, the policy of their tasks
  says whether its driver goes on or is to stop and start again. A driver's slots wait until it
  has stopped; one that goes on lets them go at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec.structs import replace

from remuda.replica.jobs import JobState, OfferedSlot, driver_gone, killed
from remuda.replica.pool import PeerId
from remuda.replica.schedule.demand import JobDemand, JobId, TaskId
from remuda.replica.schedule.flux import after_losses
from remuda.replica.schedule.jobs import JobScheduler
from remuda.replica.schedule.plan import Schedule, plan
from remuda.replica.schedule.slots import Place, Slot, SlotId
from remuda.replica.schedule.states import SlotState, may_move
from remuda.replica.state import Replica

_WORKING = (SlotState.ACTIVE, SlotState.SEALING)


def rescheduled(replica: Replica, position: int) -> Replica:
    """The replica after a new plan, and as far towards it as can be gone at once."""
    schedule = _schedule(
        tuple(
            Slot(name, slot.peer, slot.tags)
            for name, slot in sorted(replica.slots.items())
            if slot.is_offered
        ),
        tuple(job.needs for _, job in sorted(replica.jobs.items()) if not job.is_ended),
        replica.job_scheduler,
        tuple(sorted(_previous(replica).items())),
    )
    slots = {
        name: slot
        if slot.wanted == (place := schedule.places.get(name))
        else replace(slot, wanted=place)
        for name, slot in replica.slots.items()
    }
    return advanced(replace(replica, slots=slots), position, schedule.waiting)


def advanced(
    replica: Replica, position: int, reasons: Mapping[JobId, str] | None = None
) -> Replica:
    """The replica as far towards the plan that is there as can be gone at once."""
    floor = _Floor(replica.slots, replica.jobs)
    floor.take_what_is_not_wanted()
    floor.let_go()
    floor.tell(position)
    floor.drive(position, reasons or {})
    return replace(replica, slots=floor.slots, jobs=floor.jobs)


def without_slots_of(replica: Replica, peer: PeerId, position: int, at_ms: int) -> Replica:
    """A member is gone, and its slots and drivers with it."""
    if peer not in replica.offers:
        return replica
    lost: dict[JobId, dict[SlotId, TaskId]] = {}
    for name, slot in replica.slots.items():
        if slot.peer == peer and slot.state in _WORKING and slot.place is not None:
            lost.setdefault(slot.place.job, {})[name] = slot.place.task
    jobs = {
        name: _after_losses(job, lost.get(name, {}), peer, at_ms)
        for name, job in replica.jobs.items()
    }
    left = replace(
        replica,
        offers={p: offer for p, offer in replica.offers.items() if p != peer},
        slots={name: slot for name, slot in replica.slots.items() if slot.peer != peer},
        jobs=jobs,
    )
    return rescheduled(left, position)


def stepped(slot: OfferedSlot, *ways: SlotState) -> OfferedSlot:
    """A slot after legal steps; that others are never asked for is this module's to see to."""
    for to in ways:
        assert may_move(slot.state, to), f"a slot cannot go from {slot.state} to {to}"
        slot = replace(slot, state=to, place=None if to is SlotState.IDLE else slot.place)
    return slot


# ── inside ───────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=16)
def _schedule(
    slots: tuple[Slot, ...],
    demands: tuple[JobDemand, ...],
    scheduler: JobScheduler,
    previous: tuple[tuple[SlotId, Place], ...],
) -> Schedule:
    """Kept for a while: the peers of a simulation all ask the same, one after another."""
    return plan(slots, demands, scheduler, dict(previous))


def _previous(replica: Replica) -> dict[SlotId, Place]:
    """How things are, as the plan is to keep them. Of a job that is being sealed only the sealer
    counts, whichever task it did before."""
    previous: dict[SlotId, Place] = {}
    for name, slot in replica.slots.items():
        if slot.wanted is None:
            continue
        job = replica.jobs.get(slot.wanted.job)
        if job is None or job.outcome is None:
            previous[name] = slot.wanted
        elif job.sealer == name:
            previous[name] = Place(slot.wanted.job, job.needs.tasks[0].task)
    return previous


def _after_losses(
    job: JobState, lost: Mapping[SlotId, TaskId], peer: PeerId, at_ms: int
) -> JobState:
    was_driven = job.lead is not None and not job.is_ended
    if job.lead == peer:
        job = driver_gone(job)
    if not was_driven or job.outcome is not None:
        return job
    after = after_losses(job.demand, lost)
    if after is None or after.outcome == "task-goes-on":
        return job
    if after.outcome == "job-is-killed":
        return killed(job, after.reason, at_ms)
    return replace(job, halting=job.halting or after.reason) if job.lead is not None else job


class _Floor:
    """Slots and jobs on their way. In each step the order of slots decides nothing but which of
    several reasons is told, and there it is by name."""

    def __init__(self, slots: Mapping[SlotId, OfferedSlot], jobs: Mapping[JobId, JobState]) -> None:
        self.slots = dict(slots)
        self.jobs = dict(jobs)

    def take_what_is_not_wanted(self) -> None:
        for name in sorted(self.slots):
            slot = self.slots[name]
            if slot.state not in _WORKING or slot.place is None:
                continue
            if slot.wanted is not None and slot.wanted.job == slot.place.job:
                self.slots[name] = replace(slot, place=slot.wanted)
            elif slot.state is SlotState.ACTIVE:
                self.slots[name] = stepped(slot, SlotState.WAITING)
                self._note_taken(name, slot.place)
        for name in sorted(self.jobs):
            job = self.jobs[name]
            if job.is_driven and job.lead not in self._peers_on(name, _WORKING):
                self.jobs[name] = replace(job, halting=f"{job.lead} has no slot for it any more")

    def let_go(self) -> None:
        """Of slots that no driver uses any more."""
        for name, slot in self.slots.items():
            if slot.place is None or slot.state not in (SlotState.WAITING, SlotState.SEALING):
                continue
            job = self.jobs[slot.place.job]
            goes_on = job.is_driven and job.sealer is None
            if job.lead is None or (goes_on and slot.state is SlotState.WAITING):
                self.slots[name] = stepped(slot, SlotState.IDLE)

    def tell(self, position: int) -> None:
        """What is idle what to do next."""
        for name, slot in list(self.slots.items()):
            if slot.state is not SlotState.IDLE:
                continue
            if slot.withdrawn:
                del self.slots[name]
            elif slot.wanted is not None:
                acking = stepped(slot, SlotState.ACKING)
                self.slots[name] = replace(acking, place=slot.wanted, told=position)

    def drive(self, position: int, reasons: Mapping[JobId, str]) -> None:
        """Jobs that have all they need get a driver; the others say what they lack."""
        planned: dict[JobId, list[SlotId]] = {}
        for name, slot in sorted(self.slots.items()):
            if slot.wanted is not None:
                planned.setdefault(slot.wanted.job, []).append(name)
        for name, job in self.jobs.items():
            if job.is_ended or job.is_driven:
                continue
            given = planned.get(name, [])
            ready = [slot for slot in given if self._is_active_on(name, self.slots[slot])]
            if job.lead is None and given and ready == given:
                self.jobs[name] = self._led(name, job, position)
            elif given:
                lacks = f"{len(given) - len(ready)} of its {len(given)} slots are yet to begin"
                halts = f"its driver has yet to stop: {job.halting}"
                reason = halts if job.halting else lacks
                self.jobs[name] = replace(job, phase="starting", reason=reason)
            else:
                reason = reasons.get(name, job.reason)
                self.jobs[name] = replace(job, phase="waiting", reason=reason)

    def _led(self, name: JobId, job: JobState, position: int) -> JobState:
        """By whoever has most of its slots, the first by name if several have."""
        peers = Counter(self._peers_on(name, [SlotState.ACTIVE]))
        lead = min(peers, key=lambda peer: (-peers[peer], peer))
        led = replace(
            job,
            phase="running",
            reason="",
            lead=lead,
            epoch=position,
            restarts=job.restarts + (job.epoch >= 0),
        )
        if job.outcome is None:
            return led
        sealer = sealer_of(self.slots, name, lead)
        self.slots[sealer] = stepped(self.slots[sealer], SlotState.SEALING)
        return replace(led, phase="sealing", sealer=sealer)

    def _note_taken(self, slot: SlotId, place: Place) -> None:
        """Whether the driver goes on without it. If it is done but for sealing, it does."""
        job = self.jobs[place.job]
        if not job.is_driven or job.sealer is not None:
            return
        flux = next(task.flux for task in job.demand.tasks if task.task == place.task)
        if flux != "continue":
            halting = f"slot {slot} of task {place.task} is taken from it"
            self.jobs[place.job] = replace(job, halting=halting)

    def _peers_on(self, job: JobId, states: Iterable[SlotState]) -> list[PeerId]:
        return [
            slot.peer
            for slot in self.slots.values()
            if slot.state in states and slot.place is not None and slot.place.job == job
        ]

    def _is_active_on(self, job: JobId, slot: OfferedSlot) -> bool:
        return slot.state is SlotState.ACTIVE and slot.place is not None and slot.place.job == job


def sealer_of(slots: Mapping[SlotId, OfferedSlot], job: JobId, lead: PeerId) -> SlotId:
    """The lead's first slot on the job."""
    return min(
        name
        for name, slot in slots.items()
        if slot.peer == lead
        and slot.state is SlotState.ACTIVE
        and slot.place is not None
        and slot.place.job == job
    )
