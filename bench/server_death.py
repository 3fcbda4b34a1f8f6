"""ZooKeeper is killed and started again on its data: what is still there, and how soon it goes on.

An append is under way from the moment of the kill, as a peer's would be. Most of the time until
its answer is Java's start.
"""

from __future__ import annotations

import asyncio
import functools
import time

from msgspec import Struct

from bench.stage import Sheet, Wrong, closed_over, connected, local_cluster, until
from remuda.log.port import Placed
from remuda.log.zookeeper import ZooKeeperLog
from remuda.peer.local import LocalCluster
from remuda.peer.observer import current
from remuda.replica.commands import Void
from remuda.replica.entry import record_of

LIMIT_S = 120.0

_PEERS = 3
_ROUNDS = 5
_SESSION_TIMEOUT_S = 6.0


def run(sheet: Sheet) -> None:
    with local_cluster(_SESSION_TIMEOUT_S) as cluster:
        asyncio.run(_measure(sheet, cluster))


async def _measure(sheet: Sheet, cluster: LocalCluster) -> None:
    for _ in range(_PEERS):
        cluster.start_peer()
    async with connected(cluster) as connection:
        log = await ZooKeeperLog.open(connection)
        look = functools.partial(current, log)
        before = await until(look, closed_over(cluster), f"{_PEERS} peers are members")
        deaths: list[_Death] = []
        for number in range(1, _ROUNDS + 1):
            death = await _kill(cluster, log, number)
            deaths.append(death)
            sheet.say(
                f"{number} of {_ROUNDS}: ZooKeeper serves after {death.serves_s:.2f} s, an append "
                f"is answered after {death.answered_s:.2f} s"
            )
        # Whoever had not found the server again would be declared gone by now.
        await asyncio.sleep(_SESSION_TIMEOUT_S + 1.0)
        members_lost = set(before.members) - set((await look()).members)
        cluster.start_peer()
        await until(look, closed_over(cluster), "a new peer is a member")
        entries_lost = sum(death.entries_lost for death in deaths)
        sheet.spread("ZooKeeper serves again", [death.serves_s for death in deaths], "s")
        sheet.spread("an append is answered again", [death.answered_s for death in deaths], "s")
        sheet.figure("entries lost or changed", entries_lost, "")
        sheet.figure("members lost", len(members_lost), "")
        if entries_lost or members_lost:
            raise Wrong(f"{entries_lost} entries and {len(members_lost)} members were lost")


class _Death(Struct, frozen=True):
    """How long after the kill things went on, and what was not there any more."""

    serves_s: float
    answered_s: float
    entries_lost: int


async def _kill(cluster: LocalCluster, log: ZooKeeperLog, number: int) -> _Death:
    server = cluster.server
    assert server is not None
    before = await _entries(log)
    killed_at = time.monotonic()

    async def append() -> tuple[int, float]:
        record = record_of(Void(), entry_id=f"after-death-{number}", by="bench", at_ms=0)
        return await log.append(record), time.monotonic() - killed_at

    async def serve() -> float:
        await asyncio.to_thread(server.await_ready)
        return time.monotonic() - killed_at

    server.kill()
    # In this thread, which outlives the server: it is tethered to the thread that spawns it.
    server.spawn()
    (position, answered_s), serves_s = await asyncio.gather(append(), serve())
    after = await _entries(log)
    ours = [placed.position for placed in after if placed.record.id == f"after-death-{number}"]
    if ours != [position]:
        raise Wrong(f"the append after kill {number} was answered {position}, and is at {ours}")
    same = sum(one == other for one, other in zip(before, after, strict=False))
    return _Death(serves_s, answered_s, len(before) - same)


async def _entries(log: ZooKeeperLog) -> list[Placed]:
    entries: list[Placed] = []
    while batch := await log.read(len(entries), 512):
        entries += batch
    return entries
