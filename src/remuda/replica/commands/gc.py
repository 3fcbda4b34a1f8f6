"""`gc`: the log up to here may be replaced by what it amounts to.

Whoever proposed it writes the origin as of this very entry, then trims. If that one dies before
it has, nothing is lost: the log is merely longer until the next gc.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import Fact, LogCollected
from remuda.replica.state import Replica


class Gc(Command, frozen=True, tag="gc"):
    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        return replace(replica, collected=stamp.position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [LogCollected(new.collected)]
