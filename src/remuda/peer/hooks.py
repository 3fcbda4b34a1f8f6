"""Everything that happens to a peer, as a catalogue: override what you want to know of.

Hooks are called in the peer's event loop, must not block, and must not raise.
"""

from __future__ import annotations

from remuda.peer.effects import Ending
from remuda.replica.fold import Played
from remuda.replica.state import PeerId, Replica
from remuda.zookeeper.connection import Link


class Hooks:
    """What a peer tells; every method does nothing until it is overridden."""

    def life_began(self, me: PeerId) -> None:
        """The peer has a session and a pulse, and asks to join."""

    def link_changed(self, link: Link) -> None:
        """The connection to ZooKeeper broke, came back, or is lost with its session."""

    def origin_taken(self, replica: Replica) -> None:
        """The replica was replaced by the log's origin."""

    def entry_played(self, played: Played) -> None:
        """An entry has changed the replica, or was rejected."""

    def work_may_start(self) -> None:
        """The peer is a member with a live session."""

    def work_must_stop(self, reason: str) -> None:
        """When this returns, exclusively owned work has stopped."""

    def life_ended(self, me: PeerId, ending: Ending) -> None:
        """The peer has left, or its session was lost and it will begin a new life."""
