"""`add-units`: units of work that the members of a pool are to own."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp, pool_named, with_pool
from remuda.replica.facts import Fact, UnitsAdded
from remuda.replica.pool import Pool, Unit, UnitId, with_units
from remuda.replica.state import Replica


class AddUnits(Command, frozen=True, tag="add-units"):
    """Those that are there already stay as they are."""

    pool: str
    units: tuple[UnitId, ...]

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        pool = pool_named(replica, self.pool) or Pool()
        new = {
            name: replace(pool.units[name], removed=False)
            if name in pool.units
            else Unit(epoch=stamp.position)
            for name in self.units
            if name not in pool.units or pool.units[name].removed
        }
        if not new and self.pool in replica.pools:
            return Rejected(f"all of these units are in {self.pool} already")
        return with_pool(replica, self.pool, with_units(pool, new))

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        before = old.pools.get(self.pool, Pool()).units
        count = sum(name not in before or before[name].removed for name in set(self.units))
        return [UnitsAdded(self.pool, count)]
