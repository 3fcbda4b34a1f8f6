"""Warm drivers, kept for the next job."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from remuda.pipeline.driver.descendants import living_in
from remuda.pipeline.driver.messages import Failed, Started
from remuda.pipeline.driver.spares import Spares
from remuda.pipeline.driver.supervisor import sweep
from tests.pipeline.driver import engines
from tests.pipeline.driver.jobs import DEADLINE_S, job_for, launch_in
from tests.waiting import eventually

pytestmark = pytest.mark.integration


def test_a_spare_starts_a_job_at_once_and_a_poisoned_one_spoils_no_other(tmp_path: Path) -> None:
    async def run() -> None:
        spares = Spares(launch_in(tmp_path / "drivers"))
        [first] = spares.kept
        ready = await first.ready()
        taken_at = time.monotonic()
        assert spares.take() is first
        [second] = spares.kept
        first.run(job_for(engines.Exiting, tmp_path / "work"))
        said = [message async for message in first.events()]
        assert isinstance(said[0], Started)
        print(f"ready after {ready.seconds:.1f} s, a session after {said[0].seconds:.2f} s")
        assert said[-1] == Failed("Spark's JVM ended, with exit code 3", retry=True)
        print(f"and ended after {time.monotonic() - taken_at:.1f} s")

        async def jvm_of_second() -> list[int]:
            assert second.alive
            return [pid for pid in living_in(second.pid) if pid != second.pid]

        os.kill((await eventually(jvm_of_second, "it has a JVM", DEADLINE_S))[0], signal.SIGKILL)
        await second.gone()

        async def replaced() -> bool:
            return len(spares.kept) == 1 and spares.kept[0].alive

        await eventually(replaced, "the dead spare is replaced")
        [third] = spares.kept
        assert third is not second
        await spares.close()
        assert [living_in(driver.pid) for driver in (first, second, third)] == [[], [], []]

    asyncio.run(run())


def test_what_a_driver_left_whose_peer_was_killed_is_swept(tmp_path: Path) -> None:
    left, alive = tmp_path / "driver-1", tmp_path / "driver-2"
    for folder, session in ((left, 2**22 + 1), (alive, os.getsid(0))):
        (folder / "scratch").mkdir(parents=True)
        (folder / "driver.log").touch()
        (folder / "session").write_text(str(session))
    sweep(tmp_path)
    assert [file.name for file in left.iterdir()] == ["driver.log"]
    assert (alive / "scratch").exists()
