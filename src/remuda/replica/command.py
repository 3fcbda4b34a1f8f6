"""What every command of the cluster log answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from remuda.replica.facts import Fact
from remuda.replica.pool import Pool
from remuda.replica.state import PeerId, Replica


class Rejected(Struct, frozen=True):
    """A command that comes too late or asks for what may not be. It changes nothing."""

    reason: str


class Stamp(Struct, frozen=True):
    """Where an entry stands, who proposed it, and when by the proposer's clock."""

    position: int
    by: PeerId
    at_ms: int


class Command(Struct, frozen=True, tag_field="type"):
    """Data that asks for a change. Each has a file of its own in `commands/`."""

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        """The replica after this command: a pure function, never an exception."""
        raise NotImplementedError

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        """What it changed."""
        return ()

    @staticmethod
    def reactions(replica: Replica, me: PeerId) -> Iterable[Command]:
        """What `me` owes the log as long as the replica stands as this command leaves it."""
        return ()


def pool_named(replica: Replica, name: str) -> Pool | None:
    return replica.pools.get(name)


def with_pool(replica: Replica, name: str, pool: Pool) -> Replica:
    return replace(replica, pools={**replica.pools, name: pool})
