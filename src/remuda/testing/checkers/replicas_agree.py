from __future__ import annotations

from typing import TYPE_CHECKING

from remuda.replica.fold import Played
from remuda.testing.checkers.checker import Checker

if TYPE_CHECKING:
    from remuda.testing.process import SimProcess


class ReplicasAgree(Checker):
    """After entry k every replica is equal, whether it was played from 0 or from an origin."""

    def on_played(self, process: SimProcess, played: Played) -> None:
        position = played.entry.position
        if played.replica != self.world.history[position]:
            self.fail(
                f"{process.me} at entry {position} has {played.replica}, "
                f"the log amounts to {self.world.history[position]}"
            )
