"""`leave-pool`: a member is done with a pool, and stays in the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from remuda.replica.command import Command, Rejected, Stamp, pool_named, with_pool
from remuda.replica.facts import Fact, PoolLeft
from remuda.replica.pool import without_peer
from remuda.replica.state import PeerId, Replica


class LeavePool(Command, frozen=True, tag="leave-pool"):
    pool: str
    peer: PeerId

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        pool = pool_named(replica, self.pool)
        if pool is None or self.peer not in pool.members:
            return Rejected(f"{self.peer} is not in {self.pool}")
        return with_pool(replica, self.pool, without_peer(pool, self.peer, stamp.position))

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [PoolLeft(self.pool, self.peer)]
