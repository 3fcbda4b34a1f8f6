"""`join-pool`: a member of the cluster is ready to own units of a pool."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp, pool_named, with_pool
from remuda.replica.facts import Fact, PoolJoined
from remuda.replica.pool import Balance, Pool
from remuda.replica.state import PeerId, Replica


class JoinPool(Command, frozen=True, tag="join-pool"):
    """Its settings become the pool's: during a rolling change the newest member is right."""

    pool: str
    peer: PeerId
    balance: Balance = "count"
    overlap: bool = False

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        if self.peer not in replica.members:
            return Rejected(f"{self.peer} is not a member of the cluster")
        pool = pool_named(replica, self.pool) or Pool()
        if self.peer in pool.members:
            return Rejected(f"{self.peer} is in {self.pool} already")
        name = replica.peers[self.peer].name
        joined = replace(
            pool,
            balance=self.balance,
            overlap=self.overlap,
            members=(*pool.members, self.peer),
            names={**pool.names, self.peer: name} if name else pool.names,
        )
        return with_pool(replica, self.pool, joined)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [PoolJoined(self.pool, self.peer)]
