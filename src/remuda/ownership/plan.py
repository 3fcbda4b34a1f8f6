"""A pool → the moves that would balance it.

A plan is sticky (a unit without need to move stays), minimal in its movement, deterministic (by
name where nothing else decides), and a plan that was carried out plans nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from remuda.ownership.count import plan_by_count
from remuda.ownership.load import plan_by_load
from remuda.ownership.placement import Cause, Placement
from remuda.replica.pool import PeerId, Pool, UnitId


class Move(Struct, frozen=True):
    """`to` is None where a unit has to leave its owner and can go nowhere yet."""

    unit: UnitId
    source: PeerId | None
    to: PeerId | None
    cause: Cause
    reason: str


class Plan(Struct, frozen=True):
    moves: tuple[Move, ...]
    # Why units stay without an owner.
    waiting: Mapping[UnitId, str]

    def claims_of(self, peer: PeerId) -> tuple[UnitId, ...]:
        """What nobody owns and this peer should."""
        return tuple(m.unit for m in self.moves if m.source is None and m.to == peer)

    def gifts_of(self, peer: PeerId) -> dict[UnitId, Move]:
        """What this peer owns and should not."""
        return {m.unit: m for m in self.moves if m.source == peer}


def plan(pool: Pool, *, budget: int | None = None) -> Plan:
    """The moves that would balance a pool; of those for the sake of load, at most `budget`."""
    placement = Placement(pool)
    placement.evict()
    if pool.balance == "load" and any(unit.load for unit in pool.units.values()):
        plan_by_load(placement, budget)
    else:
        plan_by_count(placement)
    moves = tuple(
        Move(unit, source, to, placement.causes[unit], placement.reasons[unit])
        for unit, (source, to) in sorted(placement.changes().items())
    )
    return Plan(moves, placement.waiting())
