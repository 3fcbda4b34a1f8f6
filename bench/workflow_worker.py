# The client has no types to rely on.
# pyright: basic
"""The workers of the workflow benchmark: LittleHorse's own, in a process of their own.

python -m bench.workflow_worker HOST PORT TASK…
"""

from __future__ import annotations

import asyncio
import sys

from littlehorse.config import LHConfig
from littlehorse.worker import LHTaskWorker, start

POLLS = 4
"""A worker has one poll under way at a time, so there are several of each."""


async def step(number: int) -> int:
    return number


async def work(host: str, port: str, tasks: list[str]) -> None:
    config = LHConfig()
    config.load({"LHC_API_HOST": host, "LHC_API_PORT": port, "LHW_NUM_WORKER_THREADS": "64"})
    await start(*(LHTaskWorker(step, task, config) for task in tasks for _ in range(POLLS)))


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], sys.argv[3:]))
