"""How long a new process takes to become a member when the log is long, and after a gc of it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

from bench.stage import (
    Bar,
    Sheet,
    Wrong,
    closed_over,
    connected,
    fill,
    local_cluster,
    turnover,
    until,
)
from remuda.log.zookeeper import ZooKeeperLog
from remuda.peer.local import LocalCluster
from remuda.peer.observer import current, plays
from remuda.replica.state import Replica

LIMIT_S = 180.0

_ENTRIES = 10_000
_MEMBERS = 3
_ROUNDS = 3
_SESSION_TIMEOUT_S = 6.0
_BAR_LONG = Bar("under", 5.0)
_BAR_COLLECTED = Bar("under", 2.0)
_GC_TIMEOUT_S = 60.0


def run(sheet: Sheet) -> None:
    with local_cluster(_SESSION_TIMEOUT_S) as cluster:
        asyncio.run(_fill(sheet, cluster))
        asyncio.run(_measure(sheet, cluster))


async def _fill(sheet: Sheet, cluster: LocalCluster) -> None:
    """Before there are peers: to be a member is then to have played all of it."""
    async with connected(cluster) as connection:
        started = time.monotonic()
        await fill(await ZooKeeperLog.open(connection), turnover(_ENTRIES))
        sheet.say(f"{_ENTRIES:,} entries were appended in {time.monotonic() - started:.1f} s")


async def _measure(sheet: Sheet, cluster: LocalCluster) -> None:
    async with connected(cluster) as connection:
        log = await ZooKeeperLog.open(connection)
        view = _View(log)
        for _ in range(_MEMBERS):
            cluster.start_peer()
        await until(view.look, closed_over(cluster), f"{_MEMBERS} peers are members")
        name = f"a new process is a member, {_ENTRIES:,} entries"
        sheet.spread(name, await _join(sheet, cluster, view), "s", _BAR_LONG)
        _collect(sheet, cluster)
        view = _View(log)
        name = "a new process is a member, after the gc"
        sheet.spread(name, await _join(sheet, cluster, view), "s", _BAR_COLLECTED)


class _View:
    """The replica as it is now, played on from the last look: each look from the start would
    take the machine from what is measured."""

    def __init__(self, log: ZooKeeperLog) -> None:
        self._log = log
        self._replica: Replica | None = None

    async def look(self) -> Replica:
        if self._replica is None:
            self._replica = await current(self._log)
        async for played in plays(self._log, self._replica, await self._log.end()):
            self._replica = played.replica
        return self._replica


async def _join(sheet: Sheet, cluster: LocalCluster, view: _View) -> list[float]:
    """One new peer after another; each leaves before the next, so all meet the same cluster."""
    took_s: list[float] = []
    for number in range(1, _ROUNDS + 1):
        await view.look()
        started = time.monotonic()
        peer = cluster.start_peer()
        await until(view.look, closed_over(cluster), "the new peer is a member")
        took_s.append(time.monotonic() - started)
        sheet.say(f"{number} of {_ROUNDS}: a member after {took_s[-1]:.2f} s")
        cluster.end_peers([peer])
        await until(view.look, closed_over(cluster), "the new peer has left")
    return took_s


def _collect(sheet: Sheet, cluster: LocalCluster) -> None:
    started = time.monotonic()
    command = [sys.executable, "-m", "remuda.cli.main", "gc", "--zookeeper", cluster.address]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_GC_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        raise Wrong(f"`remuda gc` ended with exit code {done.returncode}: {done.stderr.strip()}")
    sheet.say(done.stdout.strip())
    sheet.figure(f"`remuda gc` of {_ENTRIES:,} entries", time.monotonic() - started, "s")
