"""The drivers of the jobs that a peer leads.

State: by job, the driver that has it here. A driver is taken from the spares, runs its job under
the epoch that the log gave, and ends. All that is told to the peer is told by the driver itself,
or after it has ended.

Crash points: if the peer dies, its drivers die with it. A driver that dies is told as stopped, and
the job is given to the next one, here or elsewhere; unless several in a row have died without
getting anywhere, because then the job is what kills them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

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
from remuda.peer.job_worker import TellJob
from remuda.pipeline.driver.messages import (
    Beat,
    Failed,
    FromDriver,
    Ready,
    RunJob,
    Sealed,
    Staged,
    Started,
    Stopped,
    Told,
)
from remuda.pipeline.driver.spares import Spares
from remuda.pipeline.driver.supervisor import Driver, DriverFailed
from remuda.pipeline.run import Progress
from remuda.pipeline.submission import decode_submission
from remuda.replica.state import PeerId

log = logging.getLogger("remuda.pipeline")

_FRUITLESS_MAX = 10


class Showing(Struct, frozen=True, kw_only=True):
    """What is on the board of a job."""

    epoch: int
    lead: PeerId
    driver_pid: int
    log_path: str = ""
    # Whether it has a Spark session, and the job's fence.
    started: bool = False
    progress: Progress = Progress()


Show = Callable[[str, Showing], None]


class Terms(Struct, frozen=True, kw_only=True):
    """What every job here gets."""

    # On storage that all nodes reach; each job has a directory in it.
    work: Path
    master: str = "local"
    options: Mapping[str, str] = {}


class JobLeader:
    """A `JobWorker`: see there for what is called when."""

    def __init__(self, spares: Spares, terms: Terms, show: Show) -> None:
        self._spares = spares
        self._terms = terms
        self._show = show
        self._led: dict[str, _Led] = {}
        # Drivers in a row that died before anything had come of them.
        self._fruitless: dict[str, int] = {}

    def start_job(self, me: PeerId, start: StartJob, tell: TellJob) -> None:
        cores = start.slots_here if self._terms.master == "local" else start.slots_total
        self._drive(me, start.job_id, self._order(start, cores=cores), tell)

    def seal_job(self, me: PeerId, seal: SealJob, tell: TellJob) -> None:
        led = self._led.get(seal.job_id)
        if led is not None and led.epoch == seal.epoch and not led.stopping:
            led.driver.seal()
        else:
            self._drive(me, seal.job_id, self._order(seal, cores=1), tell)

    def stop_job(self, stop: StopJob, tell: TellJob) -> None:
        led = self._led.get(stop.job_id)
        if led is None or led.epoch != stop.epoch:
            tell(JobStopped(stop.job_id, stop.epoch, stop.reason))
            return
        led.stopping = True
        led.ending = asyncio.create_task(led.driver.end())

    async def close(self) -> None:
        """End every driver, taken or not."""
        led = list(self._led.values())
        for one in led:
            one.stopping = True
        await asyncio.gather(*(one.driver.end() for one in led))
        await asyncio.gather(*(one.following for one in led if one.following is not None))
        await self._spares.close()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _order(self, asked: StartJob | SealJob, *, cores: int) -> RunJob:
        submission = decode_submission(asked.spec)
        return RunJob(
            job_id=asked.job_id,
            spec=msgspec.to_builtins(submission.job),
            work=str(self._terms.work / asked.job_id),
            fence_epoch=asked.epoch,
            master=self._terms.master,
            cores=max(1, cores),
            options=self._terms.options,
            python_path=list(submission.python_path),
            only_seal=isinstance(asked, SealJob),
        )

    def _drive(self, me: PeerId, job_id: str, order: RunJob, tell: TellJob) -> None:
        try:
            driver = self._spares.take()
        except DriverFailed as error:
            tell(JobStopped(job_id, order.fence_epoch, str(error)))
            return
        before, led = self._led.get(job_id), _Led(driver, order.fence_epoch)
        self._led[job_id] = led
        led.following = asyncio.create_task(self._follow(me, led, order, tell, before))

    async def _follow(
        self, me: PeerId, led: _Led, order: RunJob, tell: TellJob, before: _Led | None
    ) -> None:
        if before is not None:
            await before.driver.end()
        led.driver.run(order, holds=lambda: not led.stopping)
        showing = Showing(
            epoch=led.epoch, lead=me, driver_pid=led.driver.pid, log_path=str(led.driver.log_path)
        )
        self._show(order.job_id, showing)
        async for said in led.driver.events():
            if isinstance(said, Started):
                showing = replace(showing, started=True)
                self._show(order.job_id, showing)
            if isinstance(said, Told):
                led.got_somewhere |= bool(said.progress.edges or said.progress.batches)
                showing = replace(showing, progress=said.progress)
                self._show(order.job_id, showing)
            change = self._meaning(order.job_id, led, said)
            if change is not None:
                if self._led.get(order.job_id) is led and not isinstance(
                    change, JobStarted | JobStaged
                ):
                    del self._led[order.job_id]
                tell(change)

    def _meaning(self, job_id: str, led: _Led, said: FromDriver) -> JobChange | None:
        """What the peer is told of it."""
        match said:
            case Started():
                return JobStarted(job_id, led.epoch)
            case Staged(outcome=outcome):
                return JobStaged(job_id, led.epoch, msgspec.json.encode(outcome).decode())
            case Sealed():
                self._fruitless.pop(job_id, None)
                return JobSealed(job_id, led.epoch)
            case Stopped(reason=reason):
                return JobStopped(job_id, led.epoch, reason)
            case Failed():
                return self._failure(job_id, led, said)
            case Told() | Beat() | Ready():
                return None
            case _:
                assert_never(said)

    def _failure(self, job_id: str, led: _Led, failed: Failed) -> JobChange:
        where = f" at {failed.where}" if failed.where and failed.where not in failed.reason else ""
        reason = f"{failed.reason}{where}"
        if led.stopping:
            return JobStopped(job_id, led.epoch, reason)
        log.warning("job %s: %s (see %s)", job_id, reason, led.driver.log_path)
        if not failed.retry:
            return JobFailed(job_id, led.epoch, reason)
        fruitless = 0 if led.got_somewhere else self._fruitless.get(job_id, 0) + 1
        self._fruitless[job_id] = fruitless
        if fruitless >= _FRUITLESS_MAX:
            del self._fruitless[job_id]
            tried = f"{_FRUITLESS_MAX} drivers in a row died before anything came of them"
            return JobFailed(job_id, led.epoch, f"{tried}; of the last one: {reason}")
        return JobStopped(job_id, led.epoch, reason)


class _Led:
    def __init__(self, driver: Driver, epoch: int) -> None:
        self.driver = driver
        self.epoch = epoch
        self.stopping = False
        self.got_somewhere = False
        self.following: asyncio.Task[None] | None = None
        self.ending: asyncio.Task[None] | None = None
