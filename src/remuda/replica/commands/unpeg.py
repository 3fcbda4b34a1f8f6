"""`unpeg`: a unit may be owned by any member again."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp, pool_named, with_pool
from remuda.replica.facts import Fact, UnitUnpegged
from remuda.replica.pool import UnitId, with_units
from remuda.replica.state import Replica


class Unpeg(Command, frozen=True, tag="unpeg"):
    pool: str
    unit: UnitId

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        pool = pool_named(replica, self.pool)
        if pool is None or self.unit not in pool.units:
            return Rejected(f"there is no unit {self.unit} in {self.pool}")
        if pool.units[self.unit].peg is None:
            return Rejected(f"{self.unit} is not pegged")
        unit = replace(pool.units[self.unit], peg=None)
        return with_pool(replica, self.pool, with_units(pool, {self.unit: unit}))

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [UnitUnpegged(self.pool, self.unit)]
