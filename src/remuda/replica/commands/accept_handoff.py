"""`accept-handoff`: whom units were offered to has started them; both serve them now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from remuda.replica.command import Stamp
from remuda.replica.commands.on_units import OnUnits
from remuda.replica.facts import Fact, HandoffAccepted
from remuda.replica.pool import Handoff, Pool, Unit, UnitId
from remuda.replica.state import Replica


class AcceptHandoff(OnUnits, frozen=True, tag="accept-handoff"):
    """`units` maps each to the epoch of the offer that is meant."""

    units: Mapping[UnitId, int]

    refusal: ClassVar[str] = "none of these units is offered to the peer"

    def names(self) -> Iterable[UnitId]:
        return self.units

    def after(self, pool: Pool, name: UnitId, unit: Unit, stamp: Stamp) -> Unit | None:
        offer = Handoff(self.peer, self.units[name])
        return (
            replace(unit, handoff=replace(offer, accepted=True)) if unit.handoff == offer else None
        )

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [HandoffAccepted(self.pool, self.peer, self.changed(old, new))]
