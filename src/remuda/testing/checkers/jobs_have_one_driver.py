from __future__ import annotations

from remuda.testing.checkers.checker import Checker


class JobsHaveOneDriver(Checker):
    """By the simulation's own clock, no job has two drivers whose peers are awake, and none has
    two under one epoch, ever.

    The driver of a frozen peer goes on without it: what it may still do is for the store to say.
    """

    _checked = 0

    def on_event(self) -> None:
        for drivers in self.world.drivers.crowded():
            who = ", ".join(f"{driver.process.me} (epoch {driver.epoch})" for driver in drivers)
            self.fail(f"{drivers[0].job} is driven by {who}")
        started = self.world.drivers.started
        for number in range(self._checked, len(started)):
            job, epoch = started[number].job, started[number].epoch
            if any((d.job, d.epoch) == (job, epoch) for d in started[:number]):
                self.fail(f"{job} has had a driver under epoch {epoch} before")
        self._checked = len(started)
