"""A log of jobs, for tests: a replica, and commands put to it one after another."""

from __future__ import annotations

from collections import Counter

from remuda.replica.command import Stamp
from remuda.replica.commands import (
    AcceptJoin,
    AckTask,
    AnyCommand,
    CompleteJob,
    NotifyJoin,
    OfferSlots,
    PrepareJoin,
    ReleaseJob,
    SealTask,
    SubmitJob,
)
from remuda.replica.entry import Entry
from remuda.replica.fold import Played, play
from remuda.replica.invariants import broken
from remuda.replica.jobs import JobState
from remuda.replica.ring import key_of
from remuda.replica.schedule.demand import TaskDemand
from remuda.replica.schedule.states import SlotState
from remuda.replica.state import PeerInfo, Replica

INFO = PeerInfo("host", 1)


class JobLog:
    """Every invariant is checked after every entry, and that slots go only the legal ways."""

    def __init__(self, *members: str, slots: int = 2) -> None:
        self.replica = Replica()
        for peer in members:
            self.join(peer)
        for peer in members:
            if slots:
                self.take(OfferSlots(peer, slots))

    def put(self, command: AnyCommand) -> Played:
        before = self.replica
        position = before.position + 1
        played = play(before, Entry("id", Stamp(position, "by", 1000 * position), command))
        self.replica = played.replica
        assert broken(self.replica) == []
        check_ways(before, self.replica)
        return played

    def take(self, command: AnyCommand) -> Played:
        played = self.put(command)
        assert played.rejected is None, played.rejected
        return played

    def refuse(self, command: AnyCommand) -> str:
        before = self.replica
        played = self.put(command)
        assert played.rejected is not None
        assert (played.replica.jobs, played.replica.slots) == (before.jobs, before.slots)
        return played.rejected

    # ── what peers do ────────────────────────────────────────────────────────────────────────

    def join(self, peer: str) -> None:
        self.take(PrepareJoin(peer, INFO))
        observer = key_of(self.replica.prepared, peer)
        if observer is not None:
            self.take(NotifyJoin(peer, observer))
            self.take(AcceptJoin(peer))

    def submit(self, job: str, *tasks: TaskDemand, percent: int | None = None) -> Played:
        share = None if percent is None else percent * 10_000
        asked = tasks or (TaskDemand("t"),)
        return self.take(SubmitJob(job, f"spec of {job}", asked, share_ppm=share))

    def ack_all(self) -> None:
        """All that are acking, until none is: one entry a peer."""
        while acking := {
            (slot.peer, name): slot.told
            for name, slot in self.replica.slots.items()
            if slot.state is SlotState.ACKING
        }:
            peer = min(acking)[0]
            slots = {name: told for (by, name), told in sorted(acking.items()) if by == peer}
            self.take(AckTask(peer=peer, slots=slots))

    def stop_halting(self) -> None:
        """Drivers that are to stop have stopped, and what follows is acked, until all is quiet."""
        self.ack_all()
        while halting := [name for name, job in self.replica.jobs.items() if job.halting]:
            for name in halting:
                job = self.job(name)
                assert job.lead is not None
                self.take(ReleaseJob(name, job.lead, job.epoch))
            self.ack_all()

    def stage(self, name: str) -> None:
        job = self.job(name)
        assert job.lead is not None
        self.take(SealTask(name, job.lead, job.epoch, '{"rows":1}'))

    def finish(self, name: str) -> None:
        """Its driver stages what it has not staged yet, and seals it."""
        if self.job(name).outcome is None:
            self.stage(name)
        job = self.job(name)
        assert job.lead is not None
        self.take(CompleteJob(name, job.lead, job.epoch))

    # ── what is so ───────────────────────────────────────────────────────────────────────────

    def job(self, name: str) -> JobState:
        return self.replica.jobs[name]

    def states(self, job: str) -> dict[str, SlotState]:
        return {
            name: slot.state
            for name, slot in sorted(self.replica.slots.items())
            if slot.place is not None and slot.place.job == job
        }

    def totals(self) -> Counter[str]:
        """How many slots work for each job."""
        return Counter(
            slot.place.job
            for slot in self.replica.slots.values()
            if slot.state is SlotState.ACTIVE and slot.place is not None
        )


# Where a slot can get in one entry. Some steps need nobody's word and follow at once: a slot that
# acks what it is not wanted for any more is let go, and told something else.
_S = SlotState
IN_ONE_ENTRY: dict[SlotState, set[SlotState]] = {
    _S.IDLE: {_S.ACKING},
    _S.ACKING: {_S.ACTIVE, _S.REVOKED, _S.SEALING, _S.WAITING, _S.IDLE, _S.ACKING},
    _S.ACTIVE: {_S.ACTIVE, _S.SEALING, _S.WAITING, _S.IDLE, _S.ACKING},
    _S.WAITING: {_S.IDLE, _S.ACKING},
    _S.SEALING: {_S.SEALING, _S.IDLE, _S.ACKING},
    _S.REVOKED: set(),
}


def check_ways(before: Replica, after: Replica) -> None:
    """Every slot has come to where it is by legal steps, and new ones begin as they must."""
    for name, slot in after.slots.items():
        old = before.slots.get(name)
        if old is None:
            assert slot.state in (SlotState.IDLE, SlotState.ACKING)
        elif (old.place, old.state, old.told) != (slot.place, slot.state, slot.told):
            assert slot.state in IN_ONE_ENTRY[old.state]
