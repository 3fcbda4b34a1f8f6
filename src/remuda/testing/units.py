"""Which units run where, by the simulation's own clock: what no single peer can know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remuda.ownership.contract import StartUnit, StopUnit

if TYPE_CHECKING:
    from remuda.testing.process import SimProcess


class Run:
    """One unit in one process, from the moment it is told to start until it has stopped."""

    def __init__(self, process: SimProcess, pool: str, unit: str, epoch: int) -> None:
        self.process = process
        self.pool = pool
        self.unit = unit
        self.epoch = epoch
        self.started = False


class RunningUnits:
    def __init__(self) -> None:
        self._runs: dict[tuple[str, str], list[Run]] = {}

    def start(self, process: SimProcess, start: StartUnit) -> Run:
        run = Run(process, start.pool, start.unit, start.epoch)
        self._runs.setdefault((start.pool, start.unit), []).append(run)
        return run

    def find(self, process: SimProcess, stop: StopUnit) -> Run | None:
        return next(
            (
                run
                for run in self.of(stop.pool, stop.unit)
                if run.process is process and run.epoch == stop.epoch
            ),
            None,
        )

    def is_running(self, run: Run) -> bool:
        return run in self.of(run.pool, run.unit)

    def end(self, run: Run) -> None:
        runs = self._runs.get((run.pool, run.unit), [])
        if run in runs:
            runs.remove(run)

    def end_all(self, process: SimProcess) -> None:
        for runs in self._runs.values():
            runs[:] = [run for run in runs if run.process is not process]

    def of(self, pool: str, unit: str) -> list[Run]:
        return self._runs.get((pool, unit), [])

    def awake(self, pool: str, unit: str) -> list[Run]:
        """Those that do something at this moment: a frozen process does nothing."""
        return [run for run in self.of(pool, unit) if not run.process.frozen]
