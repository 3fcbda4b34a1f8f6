"""A process that writes to one partition as fast as it can, and tells what was acknowledged.

    python -m tests.partition.writing STORE EPOCH

Prints a line for each command that was answered. Each command writes two keys, so that half of
one could be told from the whole.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from remuda.partition.inbox import Limits
from remuda.partition.outbox import Envelope
from remuda.partition.rocks import RocksStore
from remuda.partition.runtime import Partition
from tests.partition.scripted import Put, Scripted, program

CALLERS = 64


async def main(path: Path, epoch: int) -> None:
    async def nowhere(to: int, envelope: Envelope) -> int:
        raise ConnectionError(f"{to}: {envelope}")

    partition = Partition(
        0,
        RocksStore.open(path, epoch),
        [Scripted()],
        deliver=nowhere,
        on_effects=lambda _machine, _effects: None,
        limits=Limits(history_keep=1_000_000),
    )
    partition.start()

    async def call(caller: int) -> None:
        n = 0
        while True:
            name = b"%d-%d-%d" % (epoch, caller, n)
            await partition.submit("scripted", program(Put(b"one" + name), Put(b"two" + name)))
            os.write(sys.stdout.fileno(), name + b"\n")
            n += 1

    await asyncio.gather(*(call(caller) for caller in range(CALLERS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
