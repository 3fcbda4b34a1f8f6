"""Drivers as real processes with real JVMs: run, stopped, cut off, killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from remuda.pipeline.driver.descendants import living_in
from remuda.pipeline.driver.messages import (
    Failed,
    FromDriver,
    LastWord,
    Sealed,
    Staged,
    Started,
    Stopped,
    Told,
)
from remuda.pipeline.driver.supervisor import Driver, DriverFailed, Launch
from tests.pipeline.driver import engines
from tests.pipeline.driver.jobs import DEADLINE_S, ROOT, job_for, launch_in
from tests.waiting import eventually, wait_until

pytestmark = pytest.mark.integration


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    return launch_in(tmp_path / "drivers")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


@asynccontextmanager
async def started(launch: Launch) -> AsyncGenerator[Driver]:
    driver = Driver(launch)
    try:
        yield driver
    finally:
        await driver.end()


async def heard(driver: Driver, answer: Callable[[FromDriver], None] = lambda _: None) -> LastWord:
    """Its last word; the answer to whatever it says before comes from the test."""
    said: FromDriver | None = None
    async with asyncio.timeout(DEADLINE_S):
        async for said in driver.events():
            answer(said)
    assert isinstance(said, LastWord)
    assert living_in(driver.pid) == []
    return said


def noted(work: Path, kind: str) -> list[int]:
    """The Python workers that have left a note."""
    return [int(file.name.partition("-")[2]) for file in work.glob(f"{kind}-*")]


# ── a job ────────────────────────────────────────────────────────────────────────────────────


def test_a_job_is_staged_and_then_sealed_and_leaves_nothing_but_a_log(
    launch: Launch, work: Path
) -> None:
    async def run() -> None:
        async with started(launch) as driver:
            said: list[FromDriver] = []

            def answer(message: FromDriver) -> None:
                said.append(message)
                if isinstance(message, Staged):
                    assert not (work / "out").exists()
                    driver.seal()

            driver.run(job_for(engines.Doubling, work))
            assert await heard(driver, answer) == Sealed({"rows": 1000})
            assert [type(message) for message in said] == [Started, Told, Staged, Sealed]
            assert said[2] == Staged({"cores": 2})
            assert engines.numbers_in(work / "out") == list(range(0, 2000, 2))
            assert (work / "fence").read_text() == "1"
            assert [file.name for file in driver.log_path.parent.iterdir()] == ["driver.log"]
            assert "job work, epoch 1, on local" in driver.log_path.read_text()

    asyncio.run(run())


def test_an_error_in_a_python_worker_points_to_the_users_line(launch: Launch, work: Path) -> None:
    async def run() -> None:
        async with started(launch) as driver:
            driver.run(job_for(engines.Raising, work))
            first = engines.check.__code__.co_firstlineno
            assert await heard(driver) == Failed(
                "ValueError: the row 700 is bad",
                where=f"{engines.__file__}:{first + 2} in check",
                retry=False,
            )
            assert "and this is more about it" in driver.log_path.read_text()

    asyncio.run(run())


def test_a_job_that_was_taken_over_is_not_begun(launch: Launch, work: Path) -> None:
    work.mkdir()
    (work / "fence").write_text("5")

    async def run() -> None:
        async with started(launch) as driver:
            driver.run(job_for(engines.Doubling, work, epoch=4))
            last = await heard(driver)
            assert isinstance(last, Failed)
            assert "was taken over under epoch 5" in last.reason
            assert last.retry

    asyncio.run(run())


def test_a_stream_that_is_stopped_ends_its_epoch_first(launch: Launch, work: Path) -> None:
    async def run() -> None:
        async with started(launch) as driver:

            def answer(message: FromDriver) -> None:
                if isinstance(message, Started):
                    driver.stop("it was killed")

            driver.run(job_for(engines.Streaming, work, mode="continuous"))
            assert await heard(driver, answer) == Stopped(
                "it was killed", {"stopped after an epoch": True}
            )

    asyncio.run(run())


def test_a_job_that_is_stopped_before_it_has_begun_never_begins(launch: Launch, work: Path) -> None:
    async def run() -> None:
        async with started(launch) as driver:
            driver.run(job_for(engines.Doubling, work))
            driver.stop("it was killed")
            assert await heard(driver) == Stopped("it was killed")

    asyncio.run(run())
    assert not work.exists()


# ── a driver on its own ──────────────────────────────────────────────────────────────────────


def test_a_driver_whose_peer_no_longer_holds_the_job_ends(tmp_path: Path, work: Path) -> None:
    launch = launch_in(tmp_path / "drivers", lease_s=2.0)

    async def run() -> None:
        async with started(launch) as driver:
            held = True

            def answer(message: FromDriver) -> None:
                nonlocal held
                held = not isinstance(message, Started)

            driver.run(job_for(engines.Waiting, work), lambda: held)
            last = await heard(driver, answer)
            assert last == Failed(
                "the driver's lease ran out: its peer was not heard of", retry=True
            )

    asyncio.run(run())


def test_a_driver_whose_jvm_does_not_start_says_so(tmp_path: Path) -> None:
    launch = Launch(home=tmp_path / "drivers", java_options=("-javaagent:nowhere.jar",))

    async def run() -> None:
        async with started(launch) as driver:
            with pytest.raises(DriverFailed, match="Spark's JVM ended, with exit code 1"):
                await driver.ready()
            assert "nowhere.jar" in driver.log_path.read_text()

    asyncio.run(run())


# ── kills ────────────────────────────────────────────────────────────────────────────────────


def test_killed_workers_are_replaced_and_a_killed_jvm_is_the_end(
    launch: Launch, work: Path
) -> None:
    async def run() -> None:
        async with started(launch) as driver:
            driver.run(job_for(engines.Busy, work))

            async def there(kind: str, count: int) -> list[int] | None:
                assert driver.alive, driver.log_path.read_text()
                pids = noted(work, kind)
                return pids if len(pids) == count else None

            [idle] = await eventually(lambda: there("idle", 1), "a worker is idle", DEADLINE_S)
            os.kill(idle, signal.SIGKILL)
            (work / "go on").touch()
            busy = await eventually(lambda: there("busy", 2), "two workers are busy", DEADLINE_S)
            os.kill(busy[0], signal.SIGKILL)
            await eventually(lambda: there("busy", 3), "another takes the task over", DEADLINE_S)

            ready = await driver.ready()
            os.kill(ready.jvm_pid, signal.SIGKILL)
            assert await heard(driver) == Failed(
                "Spark's JVM ended, killed by signal 9", retry=True
            )

    asyncio.run(run())


def test_everything_ends_when_the_peer_is_killed(tmp_path: Path, work: Path) -> None:
    peer = subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.driver.lone_peer", tmp_path / "drivers", work],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert peer.stdout is not None
        session = int(peer.stdout.readline())
        wait_until(lambda: len(noted(work, "busy")) == 2, "two workers are busy", DEADLINE_S)
        assert set(noted(work, "busy")) < set(living_in(session))
        peer.kill()
        wait_until(lambda: not living_in(session), "everything has ended")
    finally:
        peer.kill()
        peer.communicate()


def test_a_killed_driver_is_noticed_and_takes_everything_along(launch: Launch, work: Path) -> None:
    async def run() -> None:
        async with started(launch) as driver:

            async def has_a_jvm() -> bool:
                return len(living_in(driver.pid)) > 1

            await eventually(has_a_jvm, "the driver has started its JVM", DEADLINE_S)
            os.kill(driver.pid, signal.SIGKILL)
            assert await heard(driver) == Failed("the driver was killed by signal 9", retry=True)

    asyncio.run(run())
