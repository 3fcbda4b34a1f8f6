"""What one peer does about jobs: a state machine without I/O.

It is shown the replica, and is told what becomes of the drivers here. It answers with drivers to
start, to let seal and to stop, and with commands for the log. Like the rest of a peer it is asked
anew after every event, so nothing depends on having seen every entry.

State: the drivers here, each with its epoch and how far it is; how those ended that have; since
when each slot of the cluster has been seen to be acking.

Invariants:
- A driver runs here only under an epoch that the replica gave this peer, and under each once.
- The end of a driver is told to the log only after the driver has ended. So whoever drives the
  job next starts after that.
- What an epoch is given up for is said until the log has heard it.

Every peer looks after the acks of all, and the first member by name speaks: it may offer no slots
itself.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from remuda.peer.job_contract import (
    JobChange,
    JobEffect,
    JobEnding,
    JobFailed,
    JobOffer,
    JobSealed,
    JobStaged,
    JobStarted,
    JobStopped,
    SealJob,
    StartJob,
    StopJob,
)
from remuda.replica.commands import (
    AckTask,
    AnyCommand,
    CompleteJob,
    KillJob,
    OfferSlots,
    ReleaseJob,
    RevokeTask,
    SealTask,
)
from remuda.replica.commands.kill_job import REASON_CHARACTERS_MAX
from remuda.replica.commands.seal_task import OUTCOME_BYTES_MAX
from remuda.replica.jobs import JobState, OfferedSlot
from remuda.replica.schedule.demand import JobId
from remuda.replica.schedule.slots import SlotId
from remuda.replica.schedule.states import SlotState
from remuda.replica.state import PeerId, Replica

_NEVER = float("inf")


class DriverPhase(enum.Enum):
    STARTING = "starting"
    RUNNING = "running"
    STAGED = "staged"
    SEALING = "sealing"
    STOPPING = "stopping"


class _Driver(Struct):
    epoch: int
    phase: DriverPhase
    outcome: str = ""


class JobKeeper:
    def __init__(self, me: PeerId, offer: JobOffer | None, ack_timeout_s: float) -> None:
        self.me = me
        self.drivers: dict[JobId, _Driver] = {}
        self._offer = offer or JobOffer(0)
        self._ack_timeout_s = ack_timeout_s
        self._endings: dict[JobId, JobEnding] = {}
        self._jobs: Mapping[JobId, JobState] = {}
        self._slots: Mapping[SlotId, OfferedSlot] = {}
        self._led: dict[JobId, JobState] = {}
        self._mine: dict[SlotId, OfferedSlot] = {}
        # Since when a slot, told at that position, has been seen to be acking.
        self._acking: dict[tuple[SlotId, int], float] = {}

    # ── what happened ────────────────────────────────────────────────────────────────────────

    def changed(self, change: JobChange) -> None:
        driver = self.drivers.get(change.job_id)
        if driver is None or driver.epoch != change.epoch:
            return
        match change:
            case JobStarted():
                if driver.phase is DriverPhase.STARTING:
                    driver.phase = DriverPhase.RUNNING
            case JobStaged(outcome=outcome):
                if driver.phase in (DriverPhase.STARTING, DriverPhase.RUNNING):
                    driver.phase = DriverPhase.STAGED
                    driver.outcome = outcome if _fits(outcome) else "{}"
            case JobSealed() | JobFailed() | JobStopped():
                del self.drivers[change.job_id]
                self._endings[change.job_id] = change

    # ── what follows ─────────────────────────────────────────────────────────────────────────

    def settle(
        self,
        replica: Replica,
        now: float,
        *,
        may_run: bool,
        connected: bool,
        leaving: bool = False,
        time_is_up: bool = False,
    ) -> tuple[list[JobEffect], list[AnyCommand]]:
        """Everything that follows from the replica, the drivers here, and the time.

        Without a connection nothing is started or proposed; drivers go on as long as the session
        surely lives. A peer that is leaving offers nothing any more and starts nothing, and when
        its time is up, everything stops.
        """
        self._look(replica, now)
        effects: list[JobEffect] = [*self._stop_unwanted(may_run=may_run and not time_is_up)]
        if not connected:
            return effects, []
        if may_run and not leaving:
            effects += self._start_wanted()
        if may_run and not time_is_up:
            effects += self._seal_staged()
        if time_is_up:
            return effects, []
        return effects, [*self._wants(replica, now, may_run=may_run, leaving=leaving)]

    def stop_all(self, reason: str) -> list[JobEffect]:
        """Whatever runs here must not: the session is lost."""
        return [
            self._stop(name, driver, reason)
            for name, driver in self.drivers.items()
            if driver.phase is not DriverPhase.STOPPING
        ]

    @property
    def is_idle(self) -> bool:
        """Nothing runs here, and no slot of ours has anything to do."""
        return not self.drivers and all(slot.place is None for slot in self._mine.values())

    def deadline(self, now: float) -> float:
        times = (since + self._ack_timeout_s for since in self._acking.values())
        return min((at for at in times if at > now), default=_NEVER)

    # ── looking ──────────────────────────────────────────────────────────────────────────────

    def _look(self, replica: Replica, now: float) -> None:
        if replica.jobs is self._jobs and replica.slots is self._slots:
            return
        self._jobs, self._slots = replica.jobs, replica.slots
        self._led = {name: job for name, job in sorted(self._jobs.items()) if job.lead == self.me}
        self._mine = {
            name: slot for name, slot in sorted(self._slots.items()) if slot.peer == self.me
        }
        self._endings = {
            name: ending
            for name, ending in self._endings.items()
            if name in self._led and self._led[name].epoch == ending.epoch
        }
        self._acking = {
            (name, slot.told): self._acking.get((name, slot.told), now)
            for name, slot in sorted(self._slots.items())
            if slot.state is SlotState.ACKING
        }

    # ── driving ──────────────────────────────────────────────────────────────────────────────

    def _stop_unwanted(self, *, may_run: bool) -> Iterator[JobEffect]:
        for name, driver in self.drivers.items():
            if driver.phase is DriverPhase.STOPPING:
                continue
            job = self._led.get(name)
            if not may_run:
                yield self._stop(name, driver, "this peer must not work now")
            elif job is None or job.epoch != driver.epoch:
                yield self._stop(name, driver, "the job is not this peer's any more")
            elif job.halting:
                yield self._stop(name, driver, job.halting)

    def _stop(self, name: JobId, driver: _Driver, reason: str) -> StopJob:
        driver.phase = DriverPhase.STOPPING
        return StopJob(name, driver.epoch, reason)

    def _start_wanted(self) -> Iterator[JobEffect]:
        for name, job in self._led.items():
            if not job.is_driven or name in self.drivers or name in self._endings:
                continue
            if job.phase == "sealing":
                self.drivers[name] = _Driver(job.epoch, DriverPhase.SEALING)
                yield _seal(name, job)
            else:
                self.drivers[name] = _Driver(job.epoch, DriverPhase.STARTING)
                yield self._start(name, job)

    def _seal_staged(self) -> Iterator[JobEffect]:
        for name, driver in self.drivers.items():
            job = self._led.get(name)
            if (
                job is not None
                and driver.phase is DriverPhase.STAGED
                and (job.phase, job.epoch) == ("sealing", driver.epoch)
            ):
                driver.phase = DriverPhase.SEALING
                yield _seal(name, job)

    def _start(self, name: JobId, job: JobState) -> StartJob:
        held = [
            (slot.peer, slot.place.task)
            for slot in self._slots.values()
            if slot.state is SlotState.ACTIVE and slot.place is not None and slot.place.job == name
        ]
        counts = Counter(task for _, task in held)
        return StartJob(
            name,
            job.epoch,
            job.spec,
            slots_here=sum(peer == self.me for peer, _ in held),
            slots_total=len(held),
            tasks={task.task: counts[task.task] for task in job.demand.tasks},
            restarts=job.restarts,
        )

    # ── asking the log ───────────────────────────────────────────────────────────────────────

    def _wants(
        self, replica: Replica, now: float, *, may_run: bool, leaving: bool
    ) -> Iterator[AnyCommand]:
        yield from self._offers(replica, may_run=may_run, leaving=leaving)
        acks = {
            name: slot.told
            for name, slot in self._mine.items()
            if slot.state is SlotState.ACKING and (slot.withdrawn or not leaving)
        }
        if acks and may_run:
            yield AckTask(peer=self.me, slots=acks)
        for name, job in self._led.items():
            yield from self._about(name, job)
        if self._acking and min(replica.members) == self.me:
            late = {
                name: told
                for (name, told), since in self._acking.items()
                if now >= since + self._ack_timeout_s
            }
            if late:
                yield RevokeTask(late)

    def _offers(self, replica: Replica, *, may_run: bool, leaving: bool) -> Iterator[AnyCommand]:
        offered = replica.offers.get(self.me)
        if leaving:
            if offered is not None and offered.slots:
                yield OfferSlots(self.me, 0, offered.tags)
        elif may_run and (self._offer.slots or offered is not None):
            there = sum(slot.is_offered for slot in self._mine.values())
            said = (offered.slots, offered.tags) if offered is not None else None
            if there < self._offer.slots or said != (self._offer.slots, self._offer.tags):
                yield OfferSlots(self.me, self._offer.slots, self._offer.tags)

    def _about(self, name: JobId, job: JobState) -> Iterator[AnyCommand]:
        """What the log has to hear of a job that it says is ours."""
        driver = self.drivers.get(name)
        if driver is not None:
            if driver.phase is DriverPhase.STAGED and job.is_driven and job.sealer is None:
                yield SealTask(name, self.me, job.epoch, driver.outcome)
            return
        match self._endings.get(name):
            case JobSealed():
                yield CompleteJob(name, self.me, job.epoch)
            case JobFailed(reason=reason):
                failed = reason[:REASON_CHARACTERS_MAX] or "its driver failed without a word"
                yield KillJob(name, failed, self.me, job.epoch)
            case JobStopped(reason=reason):
                yield ReleaseJob(name, self.me, job.epoch, reason[:REASON_CHARACTERS_MAX])
            case None:
                if job.halting:
                    yield ReleaseJob(name, self.me, job.epoch, "it was not started here")


def _seal(name: JobId, job: JobState) -> SealJob:
    return SealJob(name, job.epoch, job.spec, job.outcome or "")


def _fits(outcome: str) -> bool:
    return len(msgspec.json.encode(outcome)) <= OUTCOME_BYTES_MAX
