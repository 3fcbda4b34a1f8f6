"""What an entry changed, in the past tense: for the log's readers and for effects."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from remuda.replica.state import PeerId


class ObserverPicked(Struct, frozen=True, tag="observer-picked"):
    joiner: PeerId
    observer: PeerId

    def __str__(self) -> str:
        return f"{self.observer} observes {self.joiner}"


class JoinerNotified(Struct, frozen=True, tag="joiner-notified"):
    joiner: PeerId
    observer: PeerId

    def __str__(self) -> str:
        return f"{self.observer} watches {self.joiner}, which may join"


class MemberJoined(Struct, frozen=True, tag="member-joined"):
    peer: PeerId

    def __str__(self) -> str:
        return f"{self.peer} is a member"


class JoinAborted(Struct, frozen=True, tag="join-aborted"):
    joiner: PeerId

    def __str__(self) -> str:
        return f"{self.joiner} has to ask again"


class PeerLeft(Struct, frozen=True, tag="peer-left"):
    peer: PeerId

    def __str__(self) -> str:
        return f"{self.peer} is gone"


class RingClosed(Struct, frozen=True, tag="ring-closed"):
    """Somebody watches somebody else than before."""

    watcher: PeerId
    watched: PeerId

    def __str__(self) -> str:
        return f"{self.watcher} watches {self.watched}"


class PoolJoined(Struct, frozen=True, tag="pool-joined"):
    pool: str
    peer: PeerId

    def __str__(self) -> str:
        return f"{self.peer} serves {self.pool}"


class PoolLeft(Struct, frozen=True, tag="pool-left"):
    pool: str
    peer: PeerId

    def __str__(self) -> str:
        return f"{self.peer} no longer serves {self.pool}"


class UnitsAdded(Struct, frozen=True, tag="units-added"):
    pool: str
    count: int

    def __str__(self) -> str:
        return f"{self.pool} has {self.count} more units"


class UnitsRemoved(Struct, frozen=True, tag="units-removed"):
    pool: str
    count: int

    def __str__(self) -> str:
        return f"{self.pool} has {self.count} units less"


class UnitsClaimed(Struct, frozen=True, tag="units-claimed"):
    pool: str
    peer: PeerId
    count: int

    def __str__(self) -> str:
        return f"{self.peer} owns {self.count} more units of {self.pool}"


class UnitsReleased(Struct, frozen=True, tag="units-released"):
    pool: str
    peer: PeerId
    units: tuple[str, ...]
    failure: str | None

    def __str__(self) -> str:
        why = f", having failed: {self.failure}" if self.failure else ""
        return f"{self.peer} gave up {some(self.units)} of {self.pool}{why}"


class HandoffOffered(Struct, frozen=True, tag="handoff-offered"):
    pool: str
    peer: PeerId
    units: dict[str, PeerId]

    def __str__(self) -> str:
        return f"{self.peer} offers {some(tuple(self.units))} of {self.pool}"


class HandoffAccepted(Struct, frozen=True, tag="handoff-accepted"):
    pool: str
    peer: PeerId
    units: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.peer} serves {some(self.units)} of {self.pool} as well"


class HandoffCompleted(Struct, frozen=True, tag="handoff-completed"):
    pool: str
    peer: PeerId
    units: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.peer} has handed over {some(self.units)} of {self.pool}"


class LoadReported(Struct, frozen=True, tag="load-reported"):
    pool: str
    peer: PeerId
    load: int

    def __str__(self) -> str:
        return f"{self.peer} carries a load of {self.load} in {self.pool}"


class UnitPegged(Struct, frozen=True, tag="unit-pegged"):
    pool: str
    unit: str
    to: str

    def __str__(self) -> str:
        return f"{self.unit} of {self.pool} is pegged to {self.to}"


class UnitUnpegged(Struct, frozen=True, tag="unit-unpegged"):
    pool: str
    unit: str

    def __str__(self) -> str:
        return f"{self.unit} of {self.pool} is free to move"


class RebalanceAsked(Struct, frozen=True, tag="rebalance-asked"):
    pool: str

    def __str__(self) -> str:
        return f"{self.pool} rebalances"


class DrainAsked(Struct, frozen=True, tag="drain-asked"):
    peer: PeerId
    to: int
    off: bool

    def __str__(self) -> str:
        return f"{self.peer} takes units again" if self.off else f"{self.peer} drains to {self.to}"


class SlotsOffered(Struct, frozen=True, tag="slots-offered"):
    peer: PeerId
    slots: int

    def __str__(self) -> str:
        return f"{self.peer} offers {counted(self.slots, 'slot')}"


class SlotsAcked(Struct, frozen=True, tag="slots-acked"):
    peer: PeerId
    slots: int

    def __str__(self) -> str:
        return f"{counted(self.slots, 'slot')} of {self.peer} acked"


class SlotsRevoked(Struct, frozen=True, tag="slots-revoked"):
    slots: tuple[str, ...]

    def __str__(self) -> str:
        return f"{some(self.slots, 'slots')} did not ack in time"


class JobSchedulerSet(Struct, frozen=True, tag="job-scheduler-set"):
    scheduler: str

    def __str__(self) -> str:
        return f"jobs are scheduled by {self.scheduler}"


class JobSubmitted(Struct, frozen=True, tag="job-submitted"):
    job: str

    def __str__(self) -> str:
        return f"{self.job} is submitted"


class JobWaits(Struct, frozen=True, tag="job-waits"):
    job: str
    reason: str

    def __str__(self) -> str:
        return f"{self.job} waits: {self.reason}"


class JobGivenSlots(Struct, frozen=True, tag="job-given-slots"):
    job: str
    slots: int

    def __str__(self) -> str:
        return f"{self.job} is given {counted(self.slots, 'slot')}"


class DriverPicked(Struct, frozen=True, tag="driver-picked"):
    job: str
    lead: PeerId
    epoch: int

    def __str__(self) -> str:
        return f"{self.lead} leads {self.job} under epoch {self.epoch}"


class DriverHalted(Struct, frozen=True, tag="driver-halted"):
    job: str
    reason: str

    def __str__(self) -> str:
        return f"the driver of {self.job} is to stop: {self.reason}"


class DriverStopped(Struct, frozen=True, tag="driver-stopped"):
    job: str
    peer: PeerId
    reason: str

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return f"the driver of {self.job} at {self.peer} has stopped{why}"


class SealerPicked(Struct, frozen=True, tag="sealer-picked"):
    job: str
    sealer: str

    def __str__(self) -> str:
        return f"{self.sealer} seals {self.job}"


class JobCompleted(Struct, frozen=True, tag="job-completed"):
    job: str
    outcome: str

    def __str__(self) -> str:
        return f"{self.job} is completed"


class JobKilled(Struct, frozen=True, tag="job-killed"):
    job: str
    reason: str

    def __str__(self) -> str:
        return f"{self.job} is killed: {self.reason}"


class JobResumed(Struct, frozen=True, tag="job-resumed"):
    job: str

    def __str__(self) -> str:
        return f"{self.job} is resumed"


class JobForgotten(Struct, frozen=True, tag="job-forgotten"):
    """It ended long ago."""

    job: str

    def __str__(self) -> str:
        return f"{self.job} is forgotten"


class LogCollected(Struct, frozen=True, tag="log-collected"):
    position: int

    def __str__(self) -> str:
        return f"entries up to {self.position} may be trimmed"


Fact: TypeAlias = (
    ObserverPicked
    | JoinerNotified
    | MemberJoined
    | JoinAborted
    | PeerLeft
    | RingClosed
    | PoolJoined
    | PoolLeft
    | UnitsAdded
    | UnitsRemoved
    | UnitsClaimed
    | UnitsReleased
    | HandoffOffered
    | HandoffAccepted
    | HandoffCompleted
    | LoadReported
    | UnitPegged
    | UnitUnpegged
    | RebalanceAsked
    | DrainAsked
    | SlotsOffered
    | SlotsAcked
    | SlotsRevoked
    | JobSchedulerSet
    | JobSubmitted
    | JobWaits
    | JobGivenSlots
    | DriverPicked
    | DriverHalted
    | DriverStopped
    | SealerPicked
    | JobCompleted
    | JobKilled
    | JobResumed
    | JobForgotten
    | LogCollected
)


def some(names: tuple[str, ...], what: str = "units") -> str:
    """A few by name, many by their number."""
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} {what}"


def counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
