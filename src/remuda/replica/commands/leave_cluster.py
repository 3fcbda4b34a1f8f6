"""`leave-cluster`: a peer is gone, by its own word or by that of one who watched it.

Nothing in the replica calls for it: that a pulse stopped, only its watcher sees (`peer/`). It
does not matter who reports it, or how late: an id is never used twice, so a pulse that has
stopped has stopped for good.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.commands.abort_join import without_joiner
from remuda.replica.facts import Fact, JoinAborted, PeerLeft, RingClosed
from remuda.replica.job_facts import job_facts
from remuda.replica.pool import without_peer
from remuda.replica.ring import is_known, watcher_of
from remuda.replica.scheduling import without_slots_of
from remuda.replica.state import PeerId, Replica


class LeaveCluster(Command, frozen=True, tag="leave-cluster"):
    peer: PeerId

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        if not is_known(replica, self.peer):
            return Rejected(f"{self.peer} is not here")
        for stage in (replica.prepared, replica.accepted):
            if self.peer in stage:
                # Its joiner is stranded, and has to ask again.
                replica = without_joiner(replica, stage[self.peer])
        members = tuple(member for member in replica.members if member != self.peer)
        left = replace(
            without_joiner(replica, self.peer),
            members=members,
            pairs=_closed_over(replica, self.peer) if len(members) > 1 else {},
            pools={
                name: without_peer(pool, self.peer, stamp.position)
                for name, pool in replica.pools.items()
            },
        )
        return without_slots_of(left, self.peer, stamp.position, stamp.at_ms)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        facts: list[Fact] = [PeerLeft(self.peer)]
        facts += [JoinAborted(p) for p in old.peers if p not in new.peers and p != self.peer]
        watcher = watcher_of(old, self.peer)
        if watcher is not None and watcher in new.pairs:
            facts.append(RingClosed(watcher, new.pairs[watcher]))
        return [*facts, *job_facts(old, new)]


def _closed_over(replica: Replica, gone: PeerId) -> dict[PeerId, PeerId]:
    if gone not in replica.pairs:
        return dict(replica.pairs)
    following = replica.pairs[gone]
    return {
        watcher: following if watched == gone else watched
        for watcher, watched in replica.pairs.items()
        if watcher != gone
    }
