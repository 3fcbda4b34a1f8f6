"""`abort-join`: a joiner whose observer does not move gives up its place in the queue."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import Fact, JoinAborted
from remuda.replica.ring import is_joining
from remuda.replica.state import PeerId, Replica


class AbortJoin(Command, frozen=True, tag="abort-join"):
    joiner: PeerId

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        if not is_joining(replica, self.joiner):
            return Rejected(f"{self.joiner} is not joining")
        return without_joiner(replica, self.joiner)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [JoinAborted(self.joiner)]


def without_joiner(replica: Replica, joiner: PeerId) -> Replica:
    return replace(
        replica,
        peers={peer: info for peer, info in replica.peers.items() if peer != joiner},
        prepared={o: j for o, j in replica.prepared.items() if j != joiner},
        accepted={o: j for o, j in replica.accepted.items() if j != joiner},
    )
