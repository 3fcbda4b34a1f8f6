"""`report-load`: what an owner has measured of its units, in whole numbers a minute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from remuda.replica.command import Stamp
from remuda.replica.commands.on_units import OnUnits
from remuda.replica.facts import Fact, LoadReported
from remuda.replica.pool import Pool, Unit, UnitId
from remuda.replica.state import Replica


class ReportLoad(OnUnits, frozen=True, tag="report-load"):
    loads: Mapping[UnitId, int]

    refusal: ClassVar[str] = "none of these units is the peer's"

    def names(self) -> Iterable[UnitId]:
        return self.loads

    def after(self, pool: Pool, name: UnitId, unit: Unit, stamp: Stamp) -> Unit | None:
        load = self.loads[name]
        return replace(unit, load=load) if unit.owner == self.peer and load >= 0 else None

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        total = sum(self.loads[name] for name in self.changed(old, new))
        return [LoadReported(self.pool, self.peer, total)]
