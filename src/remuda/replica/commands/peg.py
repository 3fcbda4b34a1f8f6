"""`peg`: a unit goes to one peer, by id or by name, and only there."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp, pool_named, with_pool
from remuda.replica.facts import Fact, UnitPegged
from remuda.replica.pool import UnitId, with_units
from remuda.replica.state import Replica


class Peg(Command, frozen=True, tag="peg"):
    """An offer to somebody else that was not accepted yet is withdrawn."""

    pool: str
    unit: UnitId
    to: str

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        pool = pool_named(replica, self.pool)
        if pool is None or self.unit not in pool.units:
            return Rejected(f"there is no unit {self.unit} in {self.pool}")
        unit = replace(pool.units[self.unit], peg=self.to)
        handoff = unit.handoff
        if handoff is not None and not handoff.accepted and not pool.is_peg_of(self.to, handoff.to):
            unit = replace(unit, handoff=None)
        return with_pool(replica, self.pool, with_units(pool, {self.unit: unit}))

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [UnitPegged(self.pool, self.unit, self.to)]
