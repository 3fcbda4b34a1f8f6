"""A peer sleeps past its session and wakes: how soon it is back, and that its old self is mute."""

from __future__ import annotations

import asyncio
import functools
import signal
import time

from bench.stage import Sheet, Wrong, closed_over, connected, local_cluster, process_of, until
from remuda.log.zookeeper import ZooKeeperLog
from remuda.peer.local import LocalCluster
from remuda.peer.observer import current, plays
from remuda.replica.state import PeerId, Replica

LIMIT_S = 120.0

_PEERS = 3
_ROUNDS = 5
_SESSION_TIMEOUT_S = 2.0


def run(sheet: Sheet) -> None:
    with local_cluster(_SESSION_TIMEOUT_S) as cluster:
        asyncio.run(_measure(sheet, cluster))


async def _measure(sheet: Sheet, cluster: LocalCluster) -> None:
    for _ in range(_PEERS):
        cluster.start_peer()
    async with connected(cluster) as connection:
        log = await ZooKeeperLog.open(connection)
        look = functools.partial(current, log)
        await until(look, closed_over(cluster), f"{_PEERS} peers are members")
        back_s: list[float] = []
        gone_at: dict[PeerId, int] = {}
        for number in range(1, _ROUNDS + 1):
            sleeper, position, took_s = await _freeze(cluster, log, number)
            gone_at[sleeper] = position
            back_s.append(took_s)
            sheet.say(f"{number} of {_ROUNDS}: {sleeper} was back {took_s:.2f} s after it woke")
        sheet.spread("a member again, under a new id", back_s, "s")
        late = await _entries_of_the_gone(log, gone_at)
        sheet.figure("entries by an id after it was declared gone", len(late), "")
        if late:
            raise Wrong(f"peers that had been declared gone wrote entries {late}")


async def _freeze(
    cluster: LocalCluster, log: ZooKeeperLog, number: int
) -> tuple[PeerId, int, float]:
    """Who slept, where the log declared it gone, and how long from its waking to its return."""
    look = functools.partial(current, log)
    replica = await look()
    sleeper = replica.members[number % len(replica.members)]
    process = process_of(cluster, replica, sleeper)
    process.send_signal(signal.SIGSTOP)

    def out(replica: Replica) -> bool:
        return sleeper not in replica.peers

    gone = await until(look, out, f"{sleeper}, asleep, is out of the ring")
    woken_at = time.monotonic()
    process.send_signal(signal.SIGCONT)
    back = await until(look, closed_over(cluster), f"{sleeper}, awake, is back under a new id")
    took_s = time.monotonic() - woken_at
    if sleeper in back.peers:
        raise Wrong(f"{sleeper} came back under its old id")
    return sleeper, gone.position, took_s


async def _entries_of_the_gone(log: ZooKeeperLog, gone_at: dict[PeerId, int]) -> list[int]:
    entries = [played.entry async for played in plays(log, Replica(), await log.end())]
    return [entry.position for entry in entries if entry.position > gone_at.get(entry.by, 1 << 62)]
