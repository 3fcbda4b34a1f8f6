"""`drain`: a member is to give up its units, in all its pools or in one, and take no others."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import DrainAsked, Fact
from remuda.replica.pool import Drain as Draining
from remuda.replica.pool import Pool
from remuda.replica.state import PeerId, Replica


class Drain(Command, frozen=True, tag="drain"):
    """`to` units may stay; the others go evenly over `over_ms`, or in the member's own time.

    `off` ends a drain: the member takes units again.
    """

    peer: PeerId
    pool: str | None = None
    to: int = 0
    shutdown: bool = False
    over_ms: int | None = None
    off: bool = False

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        pools = {
            name: changed
            for name, pool in replica.pools.items()
            if self.pool in (None, name)
            and self.peer in pool.members
            and (changed := self._changed(pool)) != pool
        }
        if not pools:
            return Rejected(f"that changes nothing for {self.peer}")
        return replace(replica, pools={**replica.pools, **pools})

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [DrainAsked(self.peer, self.to, self.off)]

    def _changed(self, pool: Pool) -> Pool:
        others = {peer: drain for peer, drain in pool.drains.items() if peer != self.peer}
        before = pool.drains.get(self.peer)
        if before is not None and before.shutdown:
            # It is on its way out, and nobody can call it back.
            return pool
        if self.off:
            return replace(pool, drains=others)
        return replace(
            pool, drains={**others, self.peer: Draining(self.to, self.shutdown, self.over_ms)}
        )
