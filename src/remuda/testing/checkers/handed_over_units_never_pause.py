from __future__ import annotations

from typing import TYPE_CHECKING

from remuda.ownership.contract import StopUnit
from remuda.replica.pool import Unit
from remuda.testing.checkers.checker import Checker

if TYPE_CHECKING:
    from remuda.testing.process import SimProcess


class HandedOverUnitsNeverPause(Checker):
    """In an overlapping pool a healthy owner stops a unit only when another one serves it.

    Unless there is nobody to serve it: the unit was removed, its peg or its failures leave no
    choice, nobody else is active, or time is up for a peer that leaves.
    """

    def on_stopping(self, process: SimProcess, stop: StopUnit) -> None:
        # By what it can know: the log may be further than it has read.
        pool = process.core.replica.pools.get(stop.pool)
        unit = pool.units.get(stop.unit) if pool is not None else None
        if pool is None or not pool.overlap or unit is None:
            return
        if not _is_healthy(process) or (process.leaving and not process.core.working):
            return
        if unit.owner != process.me or unit.epoch != stop.epoch:
            # It stops what others own by now, or what it was offered and is offered no more.
            return
        may = [peer for peer in pool.active if peer != process.me and pool.may_own(peer, unit)]
        if may and not self._is_served(stop, unit, process):
            self.fail(f"{process.me} stops {stop.unit}, and nobody else serves it")

    def _is_served(self, stop: StopUnit, unit: Unit, by_other_than: SimProcess) -> bool:
        if any(
            run.started and run.process is not by_other_than
            for run in self.world.units.of(stop.pool, stop.unit)
        ):
            return True
        # Who has taken it over may have died since, or had to leave, and we cannot know yet.
        return (
            unit.handoff is not None
            and unit.handoff.accepted
            and not any(
                p.me == unit.handoff.to and _is_healthy(p) and not p.leaving
                for p in self.world.processes
            )
        )


def _is_healthy(process: SimProcess) -> bool:
    return (
        process.alive
        and not process.frozen
        and process.connected
        and process.session.alive
        and not process.core.finished
    )
