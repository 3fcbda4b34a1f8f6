from __future__ import annotations

from remuda.replica.fold import Played
from remuda.replica.invariants import broken
from remuda.replica.state import Replica
from remuda.testing.checkers.checker import Checker


class ReplicaInvariantsHold(Checker):
    """After every entry, every named invariant of the replica holds."""

    def on_entry(self, before: Replica, played: Played) -> None:
        wrong = broken(played.replica)
        if wrong:
            self.fail(f"after entry {played.entry.position}: {'; '.join(wrong)}")
