"""`rebalance`: somebody wants owned units to move now, and failed ones to be tried again."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp, pool_named, with_pool
from remuda.replica.facts import Fact, RebalanceAsked
from remuda.replica.pool import with_units
from remuda.replica.state import Replica


class Rebalance(Command, frozen=True, tag="rebalance"):
    pool: str

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        pool = pool_named(replica, self.pool)
        if pool is None:
            return Rejected(f"there is no pool {self.pool}")
        again = {
            name: replace(unit, failures={}) for name, unit in pool.units.items() if unit.failures
        }
        asked = replace(with_units(pool, again), rebalanced=stamp.position)
        return with_pool(replica, self.pool, asked)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [RebalanceAsked(self.pool)]
