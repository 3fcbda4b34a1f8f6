"""How long after a kill -9 the ring is closed without the dead, as `remuda status` would show it.

The part that cannot be hurried is ZooKeeper's: a session that ends without a word counts as alive
until its time-out, and the server looks every tick (0.2 s).
"""

from __future__ import annotations

import asyncio
import functools
import time

from bench.stage import Bar, Sheet, closed_over, connected, local_cluster, process_of, until
from remuda.log.zookeeper import ZooKeeperLog
from remuda.peer.local import LocalCluster
from remuda.peer.observer import current

LIMIT_S = 300.0

_PEERS = 5
_ROUNDS = 20
_SESSION_TIMEOUT_S = 2.0
_BAR = Bar("under", _SESSION_TIMEOUT_S + 1.0)


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
        closed_s: list[float] = []
        for number in range(1, _ROUNDS + 1):
            count = 2 if number % 4 == 0 else 1
            took_s = await _kill(cluster, log, number, count)
            closed_s.append(took_s)
            started = time.monotonic()
            for _ in range(count):
                cluster.start_peer()
            await until(look, closed_over(cluster), "the new peers are members")
            dead = "two neighbours" if count == 2 else "one peer"
            sheet.say(
                f"{number:2} of {_ROUNDS}: closed over {dead} after {took_s:.2f} s, "
                f"replaced after another {time.monotonic() - started:.2f} s"
            )
        sheet.spread("ring closed after kill -9", closed_s, "s", _BAR)


async def _kill(cluster: LocalCluster, log: ZooKeeperLog, number: int, count: int) -> float:
    """Kill some neighbours in the ring, another place each time; how long until it is closed."""
    replica = await current(log)
    victims = [replica.members[number % len(replica.members)]]
    while len(victims) < count:
        victims.append(replica.pairs[victims[-1]])
    dead = [process_of(cluster, replica, victim) for victim in victims]
    killed_at = time.monotonic()
    for peer in dead:
        peer.kill()
    for peer in dead:
        peer.wait()
        cluster.peers.remove(peer)
    what = f"the ring is closed without {' and '.join(victims)}"
    await until(functools.partial(current, log), closed_over(cluster), what)
    return time.monotonic() - killed_at
