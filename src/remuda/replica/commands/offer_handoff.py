"""`offer-handoff`: an owner asks another member to start its units before it stops them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from remuda.replica.command import Stamp
from remuda.replica.commands.on_units import OnUnits
from remuda.replica.facts import Fact, HandoffOffered
from remuda.replica.pool import Handoff, Pool, Unit, UnitId
from remuda.replica.state import PeerId, Replica


class OfferHandoff(OnUnits, frozen=True, tag="offer-handoff"):
    """`units` maps each unit to whom it is offered. The position is their epoch with them."""

    units: Mapping[UnitId, PeerId]

    refusal: ClassVar[str] = "none of these units can be handed over like this"

    def names(self) -> Iterable[UnitId]:
        return self.units

    def after(self, pool: Pool, name: UnitId, unit: Unit, stamp: Stamp) -> Unit | None:
        to = self.units[name]
        if unit.owner != self.peer or unit.handoff is not None or to == self.peer:
            return None
        if not pool.may_own(to, unit):
            return None
        return replace(unit, handoff=Handoff(to, stamp.position))

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [
            HandoffOffered(self.pool, self.peer, {n: self.units[n] for n in self.changed(old, new)})
        ]
