"""`remove-units`: units that nobody is to own any more; gone when their owners have stopped."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp, pool_named, with_pool
from remuda.replica.facts import Fact, UnitsRemoved
from remuda.replica.pool import UnitId, with_units
from remuda.replica.state import Replica


class RemoveUnits(Command, frozen=True, tag="remove-units"):
    pool: str
    units: tuple[UnitId, ...]

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        pool = pool_named(replica, self.pool)
        if pool is None or not any(unit in pool.units for unit in self.units):
            return Rejected(f"none of these units are in {self.pool}")
        gone = {
            name: replace(pool.units[name], removed=True, handoff=None)
            for name in self.units
            if name in pool.units
        }
        return with_pool(replica, self.pool, with_units(pool, gone))

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        units = old.pools[self.pool].units
        count = sum(name in units and not units[name].removed for name in set(self.units))
        return [UnitsRemoved(self.pool, count)]
