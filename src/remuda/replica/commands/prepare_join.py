"""`prepare-join`: a new peer asks to be let in, and the log picks who stitches it into the ring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.commands.notify_join import NotifyJoin
from remuda.replica.facts import Fact, MemberJoined, ObserverPicked
from remuda.replica.ring import candidates, is_known, key_of
from remuda.replica.state import PeerId, PeerInfo, Replica


class PrepareJoin(Command, frozen=True, tag="prepare-join"):
    peer: PeerId
    info: PeerInfo

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        if is_known(replica, self.peer):
            return Rejected(f"{self.peer} is here already")
        peers = {**replica.peers, self.peer: self.info}
        if not replica.members:
            return replace(replica, peers=peers, members=(self.peer,))
        free = candidates(replica, self.peer)
        if not free:
            return Rejected("every member that could observe the join is busy with another one")
        observer = free[stamp.position % len(free)]
        return replace(replica, peers=peers, prepared={**replica.prepared, observer: self.peer})

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        observer = key_of(new.prepared, self.peer)
        return [ObserverPicked(self.peer, observer)] if observer else [MemberJoined(self.peer)]

    @staticmethod
    def reactions(replica: Replica, me: PeerId) -> Iterable[Command]:
        """The observer lets its joiner know, once it watches it: `peer/` sees to that order."""
        if me in replica.prepared:
            yield NotifyJoin(replica.prepared[me], me)
