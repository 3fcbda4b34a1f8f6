"""A pool: units of work, the peers that may own them, and who owns which.

A service is a pool; so is a consumer group, and so are the data partitions. What follows from
the state of a unit is in docs/handoff.md, as a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

PeerId: TypeAlias = str
UnitId: TypeAlias = str

Balance: TypeAlias = Literal["count", "load"]


class Handoff(Struct, frozen=True, omit_defaults=True):
    """A unit on its way, overlapping: `to` starts it, says so, and the owner stops later."""

    to: PeerId
    epoch: int
    accepted: bool = False


class Unit(Struct, frozen=True, omit_defaults=True):
    """`epoch` is the log position by which its owner came to own it, or, while nobody does, by
    which it came to be free. It only ever grows."""

    owner: PeerId | None = None
    epoch: int = -1
    peg: str | None = None
    load: int = 0
    handoff: Handoff | None = None
    # Who could not start it, and why: it is not given to them again.
    failures: Mapping[PeerId, str] = {}
    # To go as soon as its owner has stopped it. If it were gone at once, and added again at once,
    # another could start it before that.
    removed: bool = False


class Drain(Struct, frozen=True, omit_defaults=True):
    """A member that gives units up until it has `to`, and takes none. A shutdown keeps not even
    those that are pegged to it."""

    to: int = 0
    shutdown: bool = False
    over_ms: int | None = None


class Pool(Struct, frozen=True, omit_defaults=True):
    balance: Balance = "count"
    overlap: bool = False
    members: tuple[PeerId, ...] = ()
    # Members by the name they gave themselves, for pegs.
    names: Mapping[PeerId, str] = {}
    drains: Mapping[PeerId, Drain] = {}
    units: Mapping[UnitId, Unit] = {}
    # The position of the last request to rebalance at once.
    rebalanced: int = -1

    @property
    def active(self) -> list[PeerId]:
        """Those that may be given units, sorted."""
        return sorted(peer for peer in self.members if peer not in self.drains)

    def is_peg_of(self, peg: str, peer: PeerId) -> bool:
        """Whether a peg means this peer, by its id or by its name."""
        return peg in (peer, self.names.get(peer))

    def may_own(self, peer: PeerId, unit: Unit) -> bool:
        """Whether a unit may be given to a peer at all, whatever the balance."""
        return (
            peer in self.members
            and not unit.removed
            and peer not in self.drains
            and peer not in unit.failures
            and (unit.peg is None or self.is_peg_of(unit.peg, peer))
        )

    def owned_by(self, peer: PeerId) -> list[UnitId]:
        return sorted(unit for unit, state in self.units.items() if state.owner == peer)


def with_units(pool: Pool, changed: Mapping[UnitId, Unit]) -> Pool:
    if not changed:
        return pool
    units = {**pool.units, **changed}
    for name, unit in changed.items():
        if unit.removed and unit.owner is None:
            del units[name]
    return replace(pool, units=units)


def released(unit: Unit, position: int) -> Unit:
    """Its owner is gone: whoever it was being handed to has it, or nobody."""
    if unit.handoff is not None:
        return replace(unit, owner=unit.handoff.to, epoch=unit.handoff.epoch, handoff=None)
    return replace(unit, owner=None, epoch=position)


def without_peer(pool: Pool, peer: PeerId, position: int) -> Pool:
    """A member is gone, and with it what it owned, was offered, or failed at."""
    if peer not in pool.members:
        return pool
    changed: dict[UnitId, Unit] = {}
    for name, unit in pool.units.items():
        if unit.owner == peer:
            changed[name] = released(unit, position)
        elif unit.handoff is not None and unit.handoff.to == peer:
            changed[name] = replace(unit, handoff=None)
        if peer in unit.failures:
            changed[name] = replace(
                changed.get(name, unit),
                failures={p: reason for p, reason in unit.failures.items() if p != peer},
            )
    return replace(
        with_units(pool, changed),
        members=tuple(member for member in pool.members if member != peer),
        names={p: name for p, name in pool.names.items() if p != peer},
        drains={p: drain for p, drain in pool.drains.items() if p != peer},
    )
