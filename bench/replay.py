"""How fast a log is read and played, beside a bare pipelined kazoo loop over the same znodes.

The loop asks for one znode a request, 512 of them before it awaits the first answer, and does
nothing with what comes. Both take turns in one run, so that what else the machine does falls on
both alike: the ratio is the figure.

The loop is bound by what kazoo itself does for each request, and Remuda reads 512 znodes by one,
so this ratio says little of what Remuda costs. The one to bare multi-reads of the same znodes
does: what is missing to 1 is decoding and playing.
"""

# kazoo carries no types.
# pyright: basic
from __future__ import annotations

import asyncio
import cProfile
import pstats
import statistics
import time
from io import StringIO

from kazoo.client import KazooClient

from bench.stage import Bar, Sheet, Wrong, connected, fill, local_cluster, turnover
from remuda.log.zookeeper import LOG, ZooKeeperLog
from remuda.peer.local import LocalCluster
from remuda.peer.observer import current
from remuda.zookeeper.connection import Connection
from remuda.zookeeper.locate import locate

LIMIT_S = 120.0

_ENTRIES = 10_000
_ROUNDS = 5
_WINDOW = 512
_SESSION_TIMEOUT_S = 6.0
_BAR = Bar("at least", 0.5)
_PROFILE_LINES = 12


def run(sheet: Sheet, *, profile: bool = False) -> None:
    with local_cluster(_SESSION_TIMEOUT_S) as cluster:
        kazoo = KazooClient(hosts=locate(cluster.config).servers, timeout=_SESSION_TIMEOUT_S)
        kazoo.start()
        try:
            asyncio.run(_measure(sheet, cluster, kazoo, profile=profile))
        finally:
            kazoo.stop()
            kazoo.close()


async def _measure(
    sheet: Sheet, cluster: LocalCluster, kazoo: KazooClient, *, profile: bool
) -> None:
    async with connected(cluster) as connection:
        chroot = connection.address.chroot
        await fill(await ZooKeeperLog.open(connection), turnover(_ENTRIES))
        sheet.say(f"{_ENTRIES:,} entries are in the log")
        # Once each that does not count: the server's code is compiled as it runs.
        await _by_remuda(connection)
        _by_kazoo(kazoo, chroot)
        remuda_s: list[float] = []
        kazoo_s: list[float] = []
        multi_read_s: list[float] = []
        for number in range(1, _ROUNDS + 1):
            remuda_s.append(await _by_remuda(connection))
            kazoo_s.append(_by_kazoo(kazoo, chroot))
            multi_read_s.append(await _by_multi_read(connection))
            sheet.say(
                f"{number} of {_ROUNDS}: Remuda {_ENTRIES / remuda_s[-1]:,.0f} entries/s, "
                f"bare kazoo {_ENTRIES / kazoo_s[-1]:,.0f} znodes/s, "
                f"bare multi-read {_ENTRIES / multi_read_s[-1]:,.0f} znodes/s"
            )
        remuda_rate = _ENTRIES / statistics.median(remuda_s)
        kazoo_rate = _ENTRIES / statistics.median(kazoo_s)
        multi_read_rate = _ENTRIES / statistics.median(multi_read_s)
        sheet.figure("Remuda reads and plays, median", remuda_rate, "entries/s")
        sheet.figure("bare kazoo reads, median", kazoo_rate, "znodes/s")
        sheet.figure("Remuda to bare kazoo", remuda_rate / kazoo_rate, "", _BAR)
        sheet.figure("bare multi-read, median", multi_read_rate, "znodes/s")
        sheet.figure("Remuda to bare multi-read", remuda_rate / multi_read_rate, "")
        if profile:
            await _tell_profile(sheet, connection)


async def _by_remuda(connection: Connection) -> float:
    """As a new reader does it: its window is small at first."""
    started = time.perf_counter()
    replica = await current(await ZooKeeperLog.find(connection))
    took_s = time.perf_counter() - started
    if replica.position != _ENTRIES - 1 or replica.peers:
        raise Wrong(f"{_ENTRIES} entries that end with nobody were played to {replica}")
    return took_s


def _by_kazoo(kazoo: KazooClient, chroot: str) -> float:
    started = time.perf_counter()
    for begin in range(0, _ENTRIES, _WINDOW):
        window = range(begin, min(begin + _WINDOW, _ENTRIES))
        asked = [kazoo.get_async(f"{chroot}{LOG}/e-{position:010}") for position in window]
        for answer in asked:
            answer.get()
    return time.perf_counter() - started


async def _by_multi_read(connection: Connection) -> float:
    started = time.perf_counter()
    for begin in range(0, _ENTRIES, _WINDOW):
        window = range(begin, min(begin + _WINDOW, _ENTRIES))
        await connection.get_many([f"{LOG}/e-{position:010}" for position in window])
    return time.perf_counter() - started


async def _tell_profile(sheet: Sheet, connection: Connection) -> None:
    """Where the time of the loop's thread goes; kazoo's own threads are not in it."""
    profiler = cProfile.Profile()
    with profiler:
        await _by_remuda(connection)
    text = StringIO()
    stats = pstats.Stats(profiler, stream=text)
    stats.strip_dirs().sort_stats("tottime").print_stats(_PROFILE_LINES)
    for line in text.getvalue().splitlines():
        if line.strip():
            sheet.say(line)
