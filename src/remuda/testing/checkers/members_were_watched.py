from __future__ import annotations

from remuda.replica.facts import MemberJoined
from remuda.replica.fold import Played
from remuda.replica.ring import watcher_of
from remuda.replica.state import Replica
from remuda.testing.checkers.checker import Checker


class MembersWereWatched(Checker):
    """A new member was watched, by the one who watches it from now on, before it counted."""

    def on_entry(self, before: Replica, played: Played) -> None:
        for fact in played.facts:
            if not isinstance(fact, MemberJoined):
                continue
            watcher = watcher_of(played.replica, fact.peer)
            if watcher is not None and (watcher, fact.peer) not in self.world.zookeeper.asked:
                self.fail(f"{fact.peer} is a member, and {watcher} has not looked at its pulse yet")
