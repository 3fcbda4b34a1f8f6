"""What a simulated process does about the jobs that its peer leads: drivers that take a while,
break, fail, and now and then do the right thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from remuda.peer.job_contract import (
    JobChange,
    JobFailed,
    JobSealed,
    JobStaged,
    JobStarted,
    JobStopped,
    SealJob,
    StartJob,
    StopJob,
)
from remuda.testing.drivers import Driver

if TYPE_CHECKING:
    from remuda.peer.core import PeerCore
    from remuda.testing.process import SimProcess

Tell = Callable[["PeerCore", JobChange], None]


class SimJobWorker:
    """`tell` brings a change to the life that asked, if the process is there to hear it."""

    def __init__(self, process: SimProcess, tell: Tell) -> None:
        self._process = process
        self._world = process.world
        self._tell = tell

    def start(self, life: PeerCore, start: StartJob) -> None:
        driver = self._world.drivers.start(self._process, start.job_id, start.epoch)
        job, epoch = driver.job, driver.epoch

        parts = self._world.chance.choice((1, 3, 15))

        def begin() -> None:
            if self._world.store.take_fence(driver):
                self._tell(life, JobStarted(job, epoch))
                work(parts)
            else:
                self._end(life, driver, JobStopped(job, epoch, "another has begun"))

        def work(left: int) -> None:
            if not self._world.store.commit(driver):
                self._end(life, driver, JobStopped(job, epoch, "another has begun"))
            elif left:
                pause_s = self._world.chance.uniform(0.05, 0.5)
                self._later(driver, pause_s, lambda: work(left - 1))
            else:
                finish()

        def finish() -> None:
            luck = self._world.chance.random()
            if luck < self._world.driver_failures:
                self._end(life, driver, JobFailed(job, epoch, "bad luck"))
            elif luck < 3 * self._world.driver_failures:
                self._end(life, driver, JobStopped(job, epoch, "the driver was killed"))
            else:
                self._tell(life, JobStaged(job, epoch, '{"rows":3}'))

        self._later(driver, self._world.latency(), begin)

    def seal(self, life: PeerCore, seal: SealJob) -> None:
        """By the driver that staged it, or after a crash by one that does nothing else."""
        found = self._world.drivers.find(self._process, seal.job_id, seal.epoch)
        driver = found or self._world.drivers.start(self._process, seal.job_id, seal.epoch)
        job, epoch = driver.job, driver.epoch

        def publish() -> None:
            killed = self._world.chance.random() < self._world.driver_failures
            kept = self._world.store.take_fence(driver) and self._world.store.publish(driver)
            if killed or not kept:
                # It may have published: nobody knows but the store.
                self._end(life, driver, JobStopped(job, epoch, "killed while it sealed"))
            else:
                self._end(life, driver, JobSealed(job, epoch))

        self._later(driver, self._world.chance.uniform(0.001, 0.5), publish)

    def stop(self, life: PeerCore, stop: StopJob, *, at_once: bool) -> None:
        driver = self._world.drivers.find(self._process, stop.job_id, stop.epoch)
        if driver is None:
            return  # it has ended by itself, and the word of it is on its way
        if at_once:
            self._world.drivers.end(driver)
        self._process.here_after(
            self._world.chance.uniform(0.001, 0.2),
            lambda: self._end(life, driver, JobStopped(stop.job_id, stop.epoch)),
        )

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _later(self, driver: Driver, seconds: float, call: Callable[[], None]) -> None:
        """In the driver, which does not care whether its peer is frozen."""
        self._world.after(seconds, lambda: call() if driver.alive else None)

    def _end(self, life: PeerCore, driver: Driver, change: JobChange) -> None:
        self._world.drivers.end(driver)
        self._tell(life, change)
