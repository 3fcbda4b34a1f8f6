"""A process with a driver and nothing else, for a test to kill."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from remuda.pipeline.driver.supervisor import Driver
from tests.pipeline.driver import engines
from tests.pipeline.driver.jobs import job_for, launch_in


async def main(home: Path, work: Path) -> None:
    driver = Driver(launch_in(home))
    print(driver.pid, flush=True)
    driver.run(job_for(engines.Busy, work))
    await driver.gone()


if __name__ == "__main__":
    home, work = map(Path, sys.argv[1:])
    work.mkdir()
    (work / "go on").touch()
    asyncio.run(main(home, work))
