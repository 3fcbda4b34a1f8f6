from __future__ import annotations

from typing import TYPE_CHECKING

from remuda.replica.fold import Played
from remuda.replica.state import Replica
from remuda.testing.checkers.checker import Checker

if TYPE_CHECKING:
    from remuda.testing.simulation import Simulation


class EntriesAreUnique(Checker):
    """No proposal is ever written twice, however often its answer was lost."""

    def __init__(self, world: Simulation) -> None:
        super().__init__(world)
        self._seen: set[str] = set()

    def on_entry(self, before: Replica, played: Played) -> None:
        if played.entry.id in self._seen:
            self.fail(f"entry {played.entry.position} repeats the proposal {played.entry.id}")
        self._seen.add(played.entry.id)
