"""Trees of depth 3 and fan-out 10, with handlers that fail by chance: every root completes."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest

from remuda.queue.client import Tracked
from remuda.queue.model import QueueSettings, RetryDef
from tests.queue.working import Yard, duplicates, yard

pytestmark = [pytest.mark.integration, pytest.mark.soak]

FAN_OUT = 10
TREE = ["--depth", "3", "--fan-out", str(FAN_OUT), "--failing", "5", "--concurrency", "32"]


def leaves_of(roots: int) -> set[str]:
    every = range(FAN_OUT)
    return {f"3/{root}.{n}.{m}" for root in range(roots) for n in every for m in every}


async def grow(here: Yard, roots: int, within_s: float) -> list[Tracked]:
    async with here.queues() as queues:
        sending = [
            queues.send_tracked("trees", f"1/{root}".encode(), key=str(root), within_s=within_s)
            for root in range(roots)
        ]
        return await asyncio.gather(*sending)


async def create(here: Yard) -> None:
    async with here.queues() as queues:
        await queues.create("trees", 8, QueueSettings(retry=RetryDef(0, "key", 10, 100)))


def check(here: Yard, trees: list[Tracked], began: float) -> None:
    lines = here.lines()
    print(
        f"{len(trees)} trees of {1 + FAN_OUT + FAN_OUT**2} messages in "
        f"{time.monotonic() - began:.1f} s, {sum(line.failed for line in lines)} handlings failed, "
        f"{duplicates(lines)} were handled again"
    )
    assert [tree.outcome for tree in trees] == ["done"] * len(trees)
    assert {line.text for line in lines if not line.failed} >= leaves_of(len(trees))
    assert any(line.failed for line in lines)


def test_every_root_completes_though_handlers_fail(tmp_path: Path) -> None:
    roots = 8
    with yard(tmp_path) as here:
        asyncio.run(create(here))
        began = time.monotonic()
        for _ in range(2):
            here.start_worker("trees", "g", *TREE)
        check(here, asyncio.run(grow(here, roots, 60)), began)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_every_root_completes_though_workers_are_killed(tmp_path: Path) -> None:
    roots = 200
    chance = random.Random()
    with yard(tmp_path, nodes=3) as here:
        asyncio.run(create(here))
        began = time.monotonic()
        for _ in range(3):
            here.start_worker("trees", "g", *TREE)

        async def scenario() -> list[Tracked]:
            growing = asyncio.create_task(grow(here, roots, 60))
            for _ in range(8):
                await asyncio.wait([growing], timeout=2)
                if growing.done():
                    break
                victim = here.workers.pop(chance.randrange(len(here.workers)))
                victim.kill()
                here.start_worker("trees", "g", *TREE)
            return await growing

        check(here, asyncio.run(scenario()), began)
