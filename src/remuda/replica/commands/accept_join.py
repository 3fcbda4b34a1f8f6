"""`accept-join`: the joiner takes its place in the ring, between its observer and the next."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import Fact, MemberJoined, RingClosed
from remuda.replica.ring import key_of
from remuda.replica.state import PeerId, Replica


class AcceptJoin(Command, frozen=True, tag="accept-join"):
    joiner: PeerId

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        observer = key_of(replica.accepted, self.joiner)
        if observer is None:
            return Rejected(f"{self.joiner} was not notified, or its observer has gone since")
        # Whoever the observer watches by now: the one it watched at first may have died.
        following = replica.pairs.get(observer, observer)
        return replace(
            replica,
            members=(*replica.members, self.joiner),
            pairs={**replica.pairs, observer: self.joiner, self.joiner: following},
            accepted={o: joiner for o, joiner in replica.accepted.items() if o != observer},
        )

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        observer = key_of(new.pairs, self.joiner)
        assert observer is not None
        return [
            MemberJoined(self.joiner),
            RingClosed(observer, self.joiner),
            RingClosed(self.joiner, new.pairs[self.joiner]),
        ]
