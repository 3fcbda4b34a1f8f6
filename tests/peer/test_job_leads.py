"""Jobs on a real log: peers in this process, on a real ZooKeeper, with workers that do as told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from remuda.config import Config
from remuda.log.zookeeper import ZooKeeperLog
from remuda.peer.job_contract import (
    JobFailed,
    JobOffer,
    JobSealed,
    JobStaged,
    JobStarted,
    JobStopped,
    SealJob,
    StartJob,
    StopJob,
)
from remuda.peer.job_worker import TellJob
from remuda.peer.observer import ask, current
from remuda.peer.runtime import JobRole, Peer
from remuda.replica.commands import KillJob, ResumeJob, SubmitJob
from remuda.replica.jobs import JobState
from remuda.replica.schedule.demand import TaskDemand
from remuda.zookeeper.address import Address
from remuda.zookeeper.connection import Connection
from tests.waiting import eventually

pytestmark = pytest.mark.integration


class Notes:
    """What the workers of all peers were asked, in order: (what, job, peer, epoch)."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, str, int]] = []

    def of(self, what: str) -> list[tuple[str, str, str, int]]:
        return [line for line in self.lines if line[0] == what]


class NotingWorker:
    """A job whose spec is `stage` is done at once, one that is `fail` fails, others go on until
    they are stopped."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self.me = ""

    def start_job(self, me: str, start: StartJob, tell: TellJob) -> None:
        self.me = me
        self._notes.lines.append(("start", start.job_id, me, start.epoch))
        tell(JobStarted(start.job_id, start.epoch))
        if start.spec == "stage":
            tell(JobStaged(start.job_id, start.epoch, f'{{"slots":{start.slots_total}}}'))
        elif start.spec == "fail":
            tell(JobFailed(start.job_id, start.epoch, "it was told to"))

    def seal_job(self, me: str, seal: SealJob, tell: TellJob) -> None:
        self._notes.lines.append(("seal", seal.job_id, me, seal.epoch))
        tell(JobSealed(seal.job_id, seal.epoch))

    def stop_job(self, stop: StopJob, tell: TellJob) -> None:
        self._notes.lines.append(("stop", stop.job_id, self.me, stop.epoch))
        tell(JobStopped(stop.job_id, stop.epoch))


class Stable:
    """Peers with two slots each, and the log that they play."""

    def __init__(self, config: Config, log: ZooKeeperLog) -> None:
        self.config = config
        self.log = log
        self.notes = Notes()
        self.peers: list[Peer] = []
        self.workers: list[NotingWorker] = []
        self.lives: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self.workers.append(NotingWorker(self.notes))
        self.peers.append(Peer(self.config, job_role=JobRole(JobOffer(2), self.workers[-1])))
        self.lives.append(asyncio.create_task(self.peers[-1].run()))

    async def slots(self, count: int) -> None:
        async def there() -> bool:
            return len((await current(self.log)).slots) == count

        await eventually(there, f"{count} slots are offered")

    async def submit(self, job: str, spec: str) -> None:
        played = await ask(self.log, SubmitJob(job, spec, (TaskDemand("t"),)))
        assert played.rejected is None

    async def told(self, *lines: tuple[str, str, str | None]) -> None:
        """What the workers were asked, all in all and in this order."""

        async def there() -> bool:
            return tuple(line[:3] for line in self.notes.lines) == lines

        await eventually(there, f"the workers were asked {lines}")

    async def job(self, name: str, phase: str, after: int = -1) -> JobState:
        async def there() -> JobState | None:
            job = (await current(self.log)).jobs[name]
            return job if job.phase == phase and job.epoch > after else None

        return await eventually(there, f"{name} is {phase}")


@asynccontextmanager
async def stable(config: Config) -> AsyncGenerator[Stable]:
    assert config.zookeeper is not None
    connection = await Connection.open(Address.parse(config.zookeeper), 4.0)
    here = Stable(config, await ZooKeeperLog.open(connection))
    try:
        yield here
    finally:
        for peer in here.peers:
            peer.leave()
        await asyncio.gather(*here.lives)
        await connection.close()


def run(config: Config, story: Callable[[Stable], Awaitable[None]]) -> None:
    async def tell() -> None:
        async with stable(config) as here:
            await story(here)

    asyncio.run(tell())


def test_a_job_is_driven_sealed_and_completed_and_a_failing_one_is_killed(config: Config) -> None:
    async def story(here: Stable) -> None:
        here.start()
        here.start()
        await here.slots(4)
        await here.submit("J", "stage")
        job = await here.job("J", "completed")
        assert job.outcome == '{"slots":4}'
        (start,) = here.notes.of("start")
        assert start[3] == job.epoch
        assert here.notes.of("seal") == [("seal", *start[1:])]
        await here.submit("K", "fail")
        assert (await here.job("K", "killed")).reason == "it was told to"

    run(config, story)


def test_a_job_is_stopped_when_it_is_killed_and_goes_on_under_a_new_epoch(config: Config) -> None:
    async def story(here: Stable) -> None:
        here.start()
        await here.slots(2)
        await here.submit("J", "go on")
        job = await here.job("J", "running")
        await ask(here.log, KillJob("J", "so"))
        await ask(here.log, ResumeJob("J"))
        again = await here.job("J", "running", after=job.epoch)
        assert again.restarts == 1
        lead = job.lead
        await here.told(("start", "J", lead), ("stop", "J", lead), ("start", "J", lead))

    run(config, story)


def test_when_the_lead_leaves_another_one_drives_the_job(config: Config) -> None:
    async def story(here: Stable) -> None:
        here.start()
        here.start()
        await here.slots(4)
        await here.submit("J", "go on")
        job = await here.job("J", "running")
        await here.told(("start", "J", job.lead))
        leading = [worker.me for worker in here.workers].index(job.lead or "")
        here.peers[leading].leave()
        again = await here.job("J", "running", after=job.epoch)
        assert again.lead not in (job.lead, None)

        await here.told(
            ("start", "J", job.lead), ("stop", "J", job.lead), ("start", "J", again.lead)
        )

    run(config, story)
