"""Drivers of jobs and the store that they write to, by the simulation's own clock.

A driver is a process of its own: it goes on while its peer is frozen, and ends when its peer ends.
The store does what a real one has to: it remembers the greatest epoch that ever began, refuses
what comes with a smaller one, and publishes the output of a job once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remuda.testing.process import SimProcess


class Driver:
    def __init__(self, process: SimProcess, job: str, epoch: int) -> None:
        self.process = process
        self.job = job
        self.epoch = epoch
        self.alive = True


class Drivers:
    def __init__(self) -> None:
        self.started: list[Driver] = []
        self._running: dict[str, list[Driver]] = {}

    def start(self, process: SimProcess, job: str, epoch: int) -> Driver:
        driver = Driver(process, job, epoch)
        self.started.append(driver)
        self._running.setdefault(job, []).append(driver)
        return driver

    def find(self, process: SimProcess, job: str, epoch: int) -> Driver | None:
        for driver in self._running.get(job, []):
            if (driver.process, driver.epoch) == (process, epoch):
                return driver
        return None

    def end(self, driver: Driver) -> None:
        if driver.alive:
            driver.alive = False
            self._running[driver.job].remove(driver)

    def end_all(self, process: SimProcess) -> None:
        for driver in [*self.running]:
            if driver.process is process:
                self.end(driver)

    @property
    def running(self) -> list[Driver]:
        return [driver for drivers in self._running.values() for driver in drivers]

    def crowded(self) -> list[list[Driver]]:
        """Jobs with several drivers whose peers are awake."""
        awake = (
            [driver for driver in drivers if not driver.process.frozen]
            for drivers in self._running.values()
            if len(drivers) > 1
        )
        return [drivers for drivers in awake if len(drivers) > 1]


class Store:
    def __init__(self) -> None:
        self.fences: dict[str, int] = {}
        # Each publication that changed something: the job, its epoch, the fence at that time.
        self.published: list[tuple[str, int, int]] = []
        # Each commit of a part of the output, likewise.
        self.commits: list[tuple[str, int, int]] = []

    def take_fence(self, driver: Driver) -> bool:
        """A driver begins; false if a later one has already."""
        if self.refuses(driver):
            return False
        self.fences[driver.job] = max(driver.epoch, self.fences.get(driver.job, -1))
        return True

    def refuses(self, driver: Driver) -> bool:
        return self.fences.get(driver.job, -1) > driver.epoch

    def commit(self, driver: Driver) -> bool:
        """A part of a stream's output becomes visible; false if a later driver has the job."""
        if self.refuses(driver):
            return False
        self.commits.append((driver.job, driver.epoch, self.fences.get(driver.job, -1)))
        return True

    def is_published(self, job: str) -> bool:
        return any(published == job for published, _, _ in self.published)

    def publish(self, driver: Driver) -> bool:
        """All output becomes visible, or is already; false if a later driver has the job."""
        if self.refuses(driver):
            return False
        if not self.is_published(driver.job):
            self.published.append((driver.job, driver.epoch, self.fences.get(driver.job, -1)))
        return True
