"""How many commands a second a partition makes durable, and how long each waits for that.

A trivial machine (it counts, by key) on RocksDB, every round synced; callers that each wait for
the answer before they ask again, in the same process. One caller shows what a sync costs, many
what group commit makes of it. What a bare synced write takes here stands beside it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from bench.stage import Sheet, Wrong
from remuda.partition.machine import Applied, Effect, Outcome, Stamp, State, View
from remuda.partition.outbox import Envelope
from remuda.partition.rocks import RocksStore
from remuda.partition.runtime import Partition

LIMIT_S = 60.0

_CALLERS = (1, 32, 256)
_SECONDS = 4.0
_KEYS = 5_000
_BODY = bytes(200)
_BARE_WRITES = 500


class _Counter:
    name = "counter"
    prefix = b"c"

    def apply(self, state: State, command: bytes, stamp: Stamp) -> Outcome:
        key = b"c" + command[:8]
        before = state.get(key)
        count = (0 if before is None else int.from_bytes(before)) + 1
        state.put(key, count.to_bytes(8))
        return Applied(count.to_bytes(8))

    def fire(self, state: State, key: bytes, payload: bytes, stamp: Stamp) -> Applied:
        return Applied()

    def opened(self, view: View) -> Iterable[Effect]:
        return ()


def run(sheet: Sheet) -> None:
    with tempfile.TemporaryDirectory(prefix="remuda-bench-") as data:
        _bare(sheet, Path(data) / "bare")
        for callers in _CALLERS:
            asyncio.run(_measure(sheet, Path(data) / str(callers), callers))


async def _measure(sheet: Sheet, path: Path, callers: int) -> None:
    partition = Partition(
        0,
        RocksStore.open(path, 1),
        [_Counter()],
        deliver=_nowhere,
        on_effects=lambda _machine, _effects: None,
    )
    partition.start()
    waits_s: list[float] = []
    started = time.perf_counter()

    async def call(caller: int) -> None:
        number = caller
        while (asked := time.perf_counter()) - started < _SECONDS:
            number += callers
            await partition.submit("counter", b"%08d" % (number % _KEYS) + _BODY)
            waits_s.append(time.perf_counter() - asked)

    await asyncio.gather(*map(call, range(callers)))
    took_s = time.perf_counter() - started
    if partition.head.position != len(waits_s):
        raise Wrong(f"{len(waits_s)} answers, and the store is at {partition.head.position}")
    await partition.close()
    in_flight = f"{callers} in flight"
    waits_ms = [wait_s * 1000 for wait_s in waits_s]
    cuts = statistics.quantiles(waits_ms, n=100)
    sheet.figure(f"{in_flight}: synced commands", len(waits_s) / took_s, "/s")
    sheet.figure(f"{in_flight}: answered, p50", cuts[49], "ms")
    sheet.figure(f"{in_flight}: answered, p99", cuts[98], "ms")


def _bare(sheet: Sheet, path: Path) -> None:
    """A file, a write and an fsync: what the disk gives to one that waits for each."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    waits_ms: list[float] = []
    try:
        for _ in range(_BARE_WRITES):
            asked = time.perf_counter()
            os.write(descriptor, _BODY)
            os.fdatasync(descriptor)
            waits_ms.append((time.perf_counter() - asked) * 1000)
    finally:
        os.close(descriptor)
    sheet.figure("a bare synced write, p50", statistics.median(waits_ms), "ms")


async def _nowhere(to: int, envelope: Envelope) -> int:
    raise Wrong(f"nothing is sent here, and this was to {to}: {envelope}")
