"""Messages through a queue: sent, taken, committed, each step durable before it is answered.

One node, one process that sends and one that takes, 200 bytes a message, and nothing done with it.
First as many as go, in batches; then a thousand a second, one by one, to see how long each takes
from the call that sends it to the worker that has it.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from bench.stage import Bar, Sheet, Wrong
from remuda.config import Config
from remuda.peer.local import LocalCluster
from remuda.queue.client import Queues
from remuda.queue.model import NewMessage
from remuda.queue.takeable import Takeable
from remuda.queue.taking import Taking

LIMIT_S = 120.0

_PARTS = 4
_MANY = 56_000
_BATCH = 100
_SENDERS = 8
_RATE = 1_000
_PACED = 5_000
_GROUP = "bench"
_FILLING = b"x" * 181
_MOST_WAIT_S = 60.0

_Send: TypeAlias = Callable[[Config, str, int], Coroutine[Any, Any, None]]


def run(sheet: Sheet) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="remuda-bench-") as data,
        LocalCluster(Config(data=data)) as cluster,
    ):
        cluster.start_peer()
        began_s, ended_s, _ = _measure(cluster.config, "many", _MANY, _send_many)
        through = _MANY / (ended_s - began_s)
        what = "through send, take and commit, in batches"
        sheet.figure(what, through, "messages/s", Bar("at least", 10_000))
        _, _, waits_ms = _measure(cluster.config, "paced", _PACED, _send_paced)
        cuts = statistics.quantiles(waits_ms, n=100)
        paced = f"at {_RATE:,}/s, from send to worker"
        sheet.figure(f"{paced}, p50", cuts[49], "ms")
        sheet.figure(f"{paced}, p99", cuts[98], "ms", Bar("under", 20))


def _measure(
    config: Config, queue: str, count: int, send: _Send
) -> tuple[float, float, list[float]]:
    """When the sending began, when the last was committed, and how long each was on its way."""
    asyncio.run(_lay_out(config, queue))
    here, there = multiprocessing.Pipe()
    spawning = multiprocessing.get_context("spawn")
    taking = spawning.Process(target=_take_all, args=(config, queue, count, there), daemon=True)
    taking.start()
    _heard(here)
    began_s = time.time()
    asyncio.run(send(config, queue, count))
    ended_s, waits_ms = _heard(here)
    taking.join()
    return began_s, ended_s, waits_ms


def _heard(here: Connection) -> tuple[float, list[float]]:
    if not here.poll(_MOST_WAIT_S):
        raise Wrong(f"the worker said nothing for {_MOST_WAIT_S:g} s")
    return here.recv()


# ── sending ──────────────────────────────────────────────────────────────────────────────────


async def _lay_out(config: Config, queue: str) -> None:
    async with Queues(config=config) as queues:
        await queues.create(queue, _PARTS)
        await queues.create_group(queue, _GROUP)


async def _send_many(config: Config, queue: str, count: int) -> None:
    async with Queues(config=config) as queues:

        async def send(sender: int) -> None:
            for _ in range(count // _SENDERS // _BATCH):
                keys = (f"{sender}-{n}" for n in range(_BATCH))
                await queues.send_many(queue, [NewMessage(_body(), key) for key in keys])

        await asyncio.gather(*map(send, range(_SENDERS)))


async def _send_paced(config: Config, queue: str, count: int) -> None:
    async with Queues(config=config) as queues, asyncio.TaskGroup() as sending:
        began = time.perf_counter()
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number / _RATE - time.perf_counter()))
            sending.create_task(queues.send(queue, _body(), key=str(number % 50)))


def _body() -> bytes:
    return b"%019d" % time.time_ns() + _FILLING


# ── taking ───────────────────────────────────────────────────────────────────────────────────


def _take_all(config: Config, queue: str, count: int, tell: Connection) -> None:
    asyncio.run(_Worker(config, queue, count).work(tell))


class _Worker:
    def __init__(self, config: Config, queue: str, count: int) -> None:
        self._config = config
        self._queue = queue
        self._left = count
        self._waits_ms: list[float] = []
        self._done = asyncio.Event()

    async def work(self, tell: Connection) -> None:
        async with Queues(config=self._config) as queues:
            attached = [asyncio.Event() for _ in range(_PARTS)]
            parts = [
                asyncio.create_task(self._take(queues, part, attached[part]))
                for part in range(_PARTS)
            ]
            await asyncio.gather(*(one.wait() for one in attached))
            tell.send((0.0, []))
            await self._done.wait()
            tell.send((time.time(), self._waits_ms))
            for part in parts:
                part.cancel()

    async def _take(self, queues: Queues, part: int, attached: asyncio.Event) -> None:
        async with (
            queues.take(self._queue, part, _GROUP, 1, credit=2_000) as taking,
            asyncio.TaskGroup() as committing,
        ):
            attached.set()
            async for batch in taking:
                now_ns = time.time_ns()
                for one in batch.taken:
                    self._waits_ms.append((now_ns - int(one.message.body[:19])) / 1e6)
                committing.create_task(self._commit(taking, batch))

    async def _commit(self, taking: Taking, batch: Takeable) -> None:
        await taking.commit(batch.turn, [one.position for one in batch.taken])
        taking.want(len(batch.taken))
        self._left -= len(batch.taken)
        if self._left <= 0:
            self._done.set()
