from __future__ import annotations

from remuda.replica.facts import PeerLeft
from remuda.replica.fold import Played
from remuda.replica.state import Replica
from remuda.testing.checkers.checker import Checker


class OnlyTheDeadAreReported(Checker):
    """Nobody with a live session is declared gone by another."""

    def on_entry(self, before: Replica, played: Played) -> None:
        for fact in played.facts:
            if not isinstance(fact, PeerLeft) or fact.peer == played.entry.by:
                continue
            if self.world.zookeeper.is_alive(fact.peer):
                self.fail(f"{played.entry.by} declared {fact.peer} gone, whose session lives")
