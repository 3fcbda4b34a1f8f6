"""`notify-join`: the observer watches the joiner from now on, so the joiner may come in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.commands.accept_join import AcceptJoin
from remuda.replica.facts import Fact, JoinerNotified
from remuda.replica.ring import key_of
from remuda.replica.state import PeerId, Replica


class NotifyJoin(Command, frozen=True, tag="notify-join"):
    """It names the observer, who alone can know that it watches: a notification that comes late
    must not count for another one who has been picked since."""

    joiner: PeerId
    observer: PeerId

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        if replica.prepared.get(self.observer) != self.joiner:
            return Rejected(f"{self.observer} is not prepared to stitch in {self.joiner}")
        prepared = {o: joiner for o, joiner in replica.prepared.items() if o != self.observer}
        accepted = {**replica.accepted, self.observer: self.joiner}
        return replace(replica, prepared=prepared, accepted=accepted)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [JoinerNotified(self.joiner, self.observer)]

    @staticmethod
    def reactions(replica: Replica, me: PeerId) -> Iterable[Command]:
        """The joiner takes its place."""
        if key_of(replica.accepted, me) is not None:
            yield AcceptJoin(me)
