"""A job run by one driver, here and now, without a cluster."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from typing import Any, assert_never

import msgspec

from remuda.config import Config
from remuda.pipeline.driver.messages import (
    DEFAULT_ENGINE,
    Beat,
    Failed,
    Ready,
    RunJob,
    Sealed,
    Staged,
    Started,
    Stopped,
    Told,
)
from remuda.pipeline.driver.supervisor import Driver, sweep
from remuda.pipeline.killed import JobKilled
from remuda.pipeline.run import Progress, next_epoch
from remuda.pipeline.settings import jobs_dir, launch_of
from remuda.pipeline.submission import Submission, new_run_id


async def run_alone(
    config: Config,
    submission: Submission,
    *,
    cores: int,
    tell: Callable[[Progress], None],
    stopping: asyncio.Event,
    engine: str = DEFAULT_ENGINE,
) -> dict[str, Any]:
    """To its end, or until `stopping` is set; answers the outcome. Raises JobKilled if it fails.

    A stream keeps its checkpoint in the jobs directory, and goes on from there the next time. A
    batch leaves nothing but its output.
    """
    launch = launch_of(config)
    sweep(launch.home)
    run_id = new_run_id(submission)
    work = jobs_dir(config) / run_id
    driver = Driver(launch)
    driver.run(
        RunJob(
            job_id=run_id,
            spec=msgspec.to_builtins(submission.job),
            work=str(work),
            fence_epoch=next_epoch(work),
            master=config.spark_master,
            cores=cores,
            python_path=list(submission.python_path),
            engine=engine,
        )
    )
    stop = asyncio.create_task(_stop_when(stopping, driver))
    try:
        return await _followed(driver, tell)
    finally:
        stop.cancel()
        await driver.end()
        if submission.job.mode == "batch":
            await asyncio.to_thread(shutil.rmtree, work, ignore_errors=True)


async def _followed(driver: Driver, tell: Callable[[Progress], None]) -> dict[str, Any]:
    staged: dict[str, Any] = {}
    async for said in driver.events():
        match said:
            case Told(progress=progress):
                tell(progress)
            case Staged(outcome=outcome):
                staged = outcome
                driver.seal()
            case Sealed(outcome=outcome):
                return {**staged, **outcome}
            case Stopped(reason=reason, outcome=outcome):
                return {**outcome, "stopped": reason}
            case Failed(reason=reason, where=where):
                at = f" at {where}" if where and where not in reason else ""
                raise JobKilled(f"{reason}{at} (all that Spark said: {driver.log_path})")
            case Started() | Ready() | Beat():
                pass
            case _:
                assert_never(said)
    raise AssertionError("a driver always has a last word")


async def _stop_when(stopping: asyncio.Event, driver: Driver) -> None:
    await stopping.wait()
    driver.stop("it was interrupted")
