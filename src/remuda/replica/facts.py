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
    | LogCollected
)


def some(units: tuple[str, ...]) -> str:
    """A few by name, many by their number."""
    return ", ".join(units) if len(units) <= 3 else f"{len(units)} units"
