from __future__ import annotations

from typing import TYPE_CHECKING

from remuda.replica.fold import Played
from remuda.replica.state import Replica
from remuda.testing.checkers.checker import Checker

if TYPE_CHECKING:
    from remuda.testing.simulation import Simulation


class ExclusiveUnitsRunOnce(Checker):
    """By the simulation's own clock, no unit of an exclusive pool runs in two processes.

    A frozen process runs nothing while it sleeps, and must run nothing when it wakes.
    """

    def __init__(self, world: Simulation) -> None:
        super().__init__(world)
        self._pools = [m.pool for m in world.memberships if not m.overlap]
        self._units: list[tuple[str, str]] = []

    def on_entry(self, before: Replica, played: Played) -> None:
        pools = played.replica.pools
        self._units = [(p, unit) for p in self._pools if p in pools for unit in pools[p].units]

    def on_event(self) -> None:
        for pool, unit in self._units:
            if len(self.world.units.of(pool, unit)) < 2:
                continue
            runs = self.world.units.awake(pool, unit)
            if len(runs) > 1:
                who = ", ".join(f"{run.process.me} (epoch {run.epoch})" for run in runs)
                self.fail(f"{unit} runs in {who}")
