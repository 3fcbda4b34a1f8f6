"""Order and completeness under fire: nodes and workers are killed, and one is frozen and woken."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from remuda.queue.model import NewMessage, QueueSettings, RetryDef
from tests.queue.working import (
    SESSION_S,
    Yard,
    check_histories,
    duplicates,
    first_deliveries,
    yard,
)
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.soak]

PARTS = 8
KEYS = 200
EVERY_S = 2.0


class Sending(threading.Thread):
    """Sends numbered messages by key, one batch after another, whatever happens to nodes."""

    def __init__(self, here: Yard, count: int, batch: int) -> None:
        super().__init__(daemon=True)
        self.sent = 0
        self.error: BaseException | None = None
        self._here = here
        self._count = count
        self._batch = batch

    def run(self) -> None:
        try:
            asyncio.run(self._send())
        except BaseException as error:
            self.error = error

    async def _send(self) -> None:
        async with self._here.queues() as queues:
            while self.sent < self._count:
                numbers = range(self.sent, min(self.sent + self._batch, self._count))
                await queues.send_many(
                    "fire", [NewMessage(b"%d" % n, f"k{n % KEYS}") for n in numbers]
                )
                self.sent = numbers.stop


class Fire:
    """Nodes and workers, of which one at a time is killed or frozen, and replaced."""

    def __init__(self, here: Yard, chance: random.Random, nodes: int, workers: int) -> None:
        self.here = here
        self.happened: Counter[str] = Counter()
        self._chance = chance
        self._nodes = [here.start_node() for _ in range(nodes)]
        self._workers = [self._new_worker() for _ in range(workers)]

    def kill(self, what: str) -> None:
        crowd = self._nodes if what == "node" else self._workers
        victim = self._chance.choice(crowd)
        self.happened[f"{what} killed"] += 1
        victim.kill()
        victim.wait()
        self._replace(victim)

    def freeze(self, what: str) -> None:
        """Past its session, then wake it. The next owner of a frozen node's partitions may have
        ended it by then."""
        victim = self._chance.choice(self._nodes if what == "node" else self._workers)
        self.happened[f"{what} frozen"] += 1
        victim.send_signal(signal.SIGSTOP)
        time.sleep(1.5 * SESSION_S)
        victim.send_signal(signal.SIGCONT)
        if victim.poll() is not None:
            self._replace(victim)

    def _replace(self, victim: subprocess.Popen[bytes]) -> None:
        if victim in self._nodes:
            self._nodes.remove(victim)
            if victim in self.here.cluster.peers:
                self.here.cluster.peers.remove(victim)
            self._nodes.append(self.here.start_node())
        else:
            self._workers.remove(victim)
            self.here.workers.remove(victim)
            self._workers.append(self._new_worker())

    def _new_worker(self) -> subprocess.Popen[bytes]:
        return self.here.start_worker("fire", "g", "--concurrency", "16", "--wait-for-queue")


async def create(here: Yard) -> None:
    async with here.queues() as queues:
        await queues.create("fire", PARTS, QueueSettings(retry=RetryDef(0, "key", 10, 100)))
        await queues.create_group("fire", "g")


async def totals(here: Yard) -> Counter[str]:
    async with here.queues() as queues:
        stats = await queues.stats("fire")
    found: Counter[str] = Counter()
    for part in stats.values():
        group = part.groups["g"]
        found.update(sent=part.sent, done=group.done, lag=group.lag, dead=group.dead)
    return found


def check(here: Yard, fire: Fire, count: int, began: float) -> None:
    """All was handled, in the order of keys, done once each, and none is left."""
    wait_until(lambda: asyncio.run(totals(here))["done"] == count, "all is committed", 120)
    lines = here.wait_for({str(n) for n in range(count)})
    took_s = time.monotonic() - began
    print(
        f"{count:,} messages in {took_s:.0f} s, {duplicates(lines):,} handled again; "
        + ", ".join(f"{what}: {times}" for what, times in sorted(fire.happened.items()))
    )
    assert asyncio.run(totals(here)) == Counter(sent=count, done=count, lag=0, dead=0)
    for texts in first_deliveries(lines).values():
        assert texts == sorted(texts, key=int), "first deliveries of a key are out of order"


def test_a_worker_and_a_node_are_killed_and_a_worker_is_frozen_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    count = 6_000
    with yard(tmp_path, nodes=0) as here:
        fire = Fire(here, random.Random(seed), nodes=2, workers=2)
        asyncio.run(create(here))
        began = time.monotonic()
        sending = Sending(here, count, 20)
        sending.start()
        wait_until(lambda: len(here.lines()) > 100, "workers are at work")
        fire.kill("worker")
        fire.kill("node")
        fire.freeze("worker")
        sending.join(120)
        assert sending.error is None
        assert sending.sent == count
        check(here, fire, count, began)
    assert check_histories(here.cluster.data) > 0


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_200_000_messages_while_somebody_is_killed_every_2_seconds(tmp_path: Path) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    count = 200_000
    with yard(tmp_path, nodes=0) as here:
        fire = Fire(here, chance, nodes=3, workers=3)
        asyncio.run(create(here))
        began = time.monotonic()
        sending = Sending(here, count, 500)
        sending.start()
        frozen = ["worker", "node"]
        while asyncio.run(totals(here))["done"] < count and time.monotonic() - began < 600:
            time.sleep(EVERY_S)
            if frozen and sending.sent > count // (2 + len(frozen)):
                fire.freeze(frozen.pop())
            else:
                fire.kill(chance.choice(["node", "worker"]))
        sending.join(60)
        assert sending.error is None
        assert sending.sent == count
        check(here, fire, count, began)
    print(f"{check_histories(here.cluster.data):,} commits, none by a stale owner")
