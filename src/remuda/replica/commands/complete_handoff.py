"""`complete-handoff`: the old owner has stopped; the units are the new one's alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from remuda.replica.command import Stamp
from remuda.replica.commands.on_units import OnUnits
from remuda.replica.facts import Fact, HandoffCompleted
from remuda.replica.pool import Pool, Unit, UnitId, released
from remuda.replica.state import Replica


class CompleteHandoff(OnUnits, frozen=True, tag="complete-handoff"):
    """`units` maps each to the epoch under which its old owner had it."""

    units: Mapping[UnitId, int]

    refusal: ClassVar[str] = "none of these units has been taken over from the peer"

    def names(self) -> Iterable[UnitId]:
        return self.units

    def after(self, pool: Pool, name: UnitId, unit: Unit, stamp: Stamp) -> Unit | None:
        if (unit.owner, unit.epoch) != (self.peer, self.units[name]):
            return None
        if unit.handoff is None or not unit.handoff.accepted:
            return None
        return released(unit, stamp.position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [HandoffCompleted(self.pool, self.peer, self.changed(old, new))]
