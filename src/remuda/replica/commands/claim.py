"""`claim`: a member takes units that nobody owns. Its position is their epoch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from msgspec.structs import replace

from remuda.replica.command import Rejected, Stamp
from remuda.replica.commands.on_units import OnUnits
from remuda.replica.facts import Fact, UnitsClaimed
from remuda.replica.pool import Pool, Unit, UnitId
from remuda.replica.state import Replica


class Claim(OnUnits, frozen=True, tag="claim"):
    units: tuple[UnitId, ...]

    refusal: ClassVar[str] = "none of these units is free"

    def names(self) -> Iterable[UnitId]:
        return self.units

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        pool = replica.pools.get(self.pool, Pool())
        if self.peer not in pool.members:
            return Rejected(f"{self.peer} is not in {self.pool}")
        if self.peer in pool.drains:
            return Rejected(f"{self.peer} is draining")
        return super().apply(replica, stamp)

    def after(self, pool: Pool, name: UnitId, unit: Unit, stamp: Stamp) -> Unit | None:
        if unit.owner is not None or not pool.may_own(self.peer, unit):
            return None
        return replace(unit, owner=self.peer, epoch=stamp.position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [UnitsClaimed(self.pool, self.peer, len(self.changed(old, new)))]
