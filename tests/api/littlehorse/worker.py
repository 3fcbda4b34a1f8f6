# The client has no types to rely on.
# pyright: basic
"""Task workers as a process of their own, which writes down every attempt that it starts.

    python -m tests.api.littlehorse.worker ADDRESS JOURNAL HEARTBEAT TASK…

A task is given a text. `hang` makes it never end. The heartbeat, in seconds, is how soon a worker
learns of nodes that have come; the client's own is a minute.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import littlehorse.worker
from littlehorse.config import LHConfig
from littlehorse.worker import LHTaskWorker, WorkerContext, start

from remuda.zookeeper.tether import tethered


async def work(address: str, journal: Path, tasks: list[str]) -> None:
    host, _, port = address.rpartition(":")
    config = LHConfig()
    config.load({"LHC_API_HOST": host, "LHC_API_PORT": port})
    with journal.open("ab", buffering=0) as lines:

        async def do(text: str, context: WorkerContext) -> str:
            line = f"{context.idempotency_key} {context.attempt_number} {os.getpid()}\n"
            lines.write(line.encode())
            if text == "hang":
                await asyncio.Event().wait()
            return text

        await start(*(LHTaskWorker(do, task, config) for task in tasks))


def started(
    address: str, journal: Path, *tasks: str, heartbeat_s: int = 60
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.api.littlehorse.worker", address, str(journal)]
    command += [str(heartbeat_s), *tasks]
    with journal.with_suffix(".output").open("ab") as output:
        return subprocess.Popen(
            tethered(command), stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )


def attempts(journal: Path) -> list[tuple[str, int]]:
    """Every attempt that a worker has started: the task, and which attempt."""
    text = journal.read_text() if journal.exists() else ""
    words = (line.split() for line in text.splitlines())
    return [(guid, int(number)) for guid, number, _ in words]


if __name__ == "__main__":
    littlehorse.worker.HEARTBEAT_INTERVAL_SECONDS = int(sys.argv[3])
    asyncio.run(work(sys.argv[1], Path(sys.argv[2]), sys.argv[4:]))
