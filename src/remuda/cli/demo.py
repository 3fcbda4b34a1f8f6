"""`remuda demo`: five peers that share thirty units of work, two kills, and everything healing."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable

from remuda.cli.live import Lines, Screen
from remuda.cli.output import console
from remuda.cli.up import tell_log
from remuda.cli.view import in_ring_order
from remuda.config import Config
from remuda.errors import RemudaError
from remuda.peer.local import LocalCluster
from remuda.replica.state import Replica
from remuda.service.api import Service, Unit
from remuda.service.control import control

_PEERS = 5
_SESSION_TIMEOUT_S = 2.0
_PATIENCE_S = 60.0
_SERVICE = "demo"
_UNITS = 30


class Demo(Service):
    """What the demo's processes serve."""

    async def start(self, unit: Unit) -> None:
        unit.spawn(self._work(unit))

    async def _work(self, unit: Unit) -> None:
        while True:
            unit.meter.mark()
            await asyncio.sleep(0.1)


def demo() -> None:
    """Watch a cluster lose a peer, then two neighbours at once, and heal."""
    with tempfile.TemporaryDirectory(prefix="remuda-demo-") as data:
        console.print(
            f"{_PEERS} peers, as processes of their own, on an embedded ZooKeeper in {data}.\n"
            f"Each watches the pulse of the next: a ring. A peer that is silent for "
            f"{_SESSION_TIMEOUT_S:g} s is gone.\n"
            f"They share {_UNITS} units of work; each unit has exactly one owner.\n",
            soft_wrap=True,
        )
        config = Config(data=data, session_timeout_s=_SESSION_TIMEOUT_S, settle_time_s=0.5)
        with LocalCluster(config) as cluster:
            asyncio.run(_play(cluster))
    console.print("\nThat was all of it. Next: `remuda up`, and `remuda status` beside it.")


async def _play(cluster: LocalCluster) -> None:
    stage = _Stage(Screen(console, "") if console.is_terminal else Lines(console))
    with stage.lines.shown():
        telling = asyncio.create_task(tell_log(cluster.config, stage))
        try:
            async with control(cluster.config) as services:
                await services.add_units(_SERVICE, [f"unit-{n:02}" for n in range(_UNITS)])
            stage.say(f"{_PEERS} peers are started")
            await _start(cluster, stage, _PEERS)
            stage.say("one peer is killed: kill -9")
            await _kill(cluster, stage, 1)
            await _start(cluster, stage, 1)
            stage.say("two neighbours in the ring are killed at once: kill -9")
            await _kill(cluster, stage, 2)
            await _start(cluster, stage, 2)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)


class _Stage(Lines):
    """Shows what the log says, and remembers the replica for the plot to go on."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.replica = Replica()

    def tell(self, text: str, **details: object) -> None:
        self.lines.tell(text)

    def show(self, replica: Replica) -> None:
        self.replica = replica
        self.lines.show(replica)

    def say(self, text: str) -> None:
        self.lines.tell(f"[bold yellow]{text}[/]")

    async def until(self, true: Callable[[Replica], bool], what: str) -> float:
        """How long it took until the replica was so."""
        started = time.monotonic()
        while not true(self.replica):
            if time.monotonic() - started > _PATIENCE_S:
                raise RemudaError(f"the demo waited {_PATIENCE_S:g} s in vain until {what}")
            await asyncio.sleep(0.02)
        return time.monotonic() - started


async def _start(cluster: LocalCluster, stage: _Stage, count: int) -> None:
    for _ in range(count):
        cluster.start_peer("serve", _SERVICE, "remuda.cli.demo:Demo")
    pids = {peer.pid for peer in cluster.peers}

    def all_in(replica: Replica) -> bool:
        return {replica.peers[member].pid for member in replica.members} == pids

    took_s = await stage.until(all_in, "every peer was a member")
    stage.say(f"the ring is closed over {len(pids)} peers after {took_s:.1f} s")
    took_s = await stage.until(lambda r: _is_shared(r, len(pids)), "the units were shared")
    stage.say(f"and they share the units evenly {took_s:.1f} s later")
    await asyncio.sleep(1.5)


def _is_shared(replica: Replica, peers: int) -> bool:
    """Everybody has as many units as everybody else, give or take one."""
    pool = replica.pools[_SERVICE]
    counts = [len(pool.owned_by(peer)) for peer in pool.members]
    return len(counts) == peers and sum(counts) == _UNITS and max(counts) - min(counts) <= 1


async def _kill(cluster: LocalCluster, stage: _Stage, count: int) -> None:
    victims = in_ring_order(stage.replica)[1 : 1 + count]
    pids = [stage.replica.peers[victim].pid for victim in victims]
    dead = [peer for peer in cluster.peers if peer.pid in pids]
    for peer in dead:
        peer.kill()
    for peer in dead:
        peer.wait()
        cluster.peers.remove(peer)

    def without_them(replica: Replica) -> bool:
        return not any(victim in replica.peers for victim in victims)

    took_s = await stage.until(without_them, "the dead were out of the ring")
    stage.say(f"the ring has closed over {' and '.join(victims)} after {took_s:.1f} s")
    took_s = await stage.until(
        lambda r: all(unit.owner for unit in r.pools[_SERVICE].units.values()),
        "every unit had an owner again",
    )
    stage.say(f"and every unit has an owner again {took_s:.1f} s later")
    await asyncio.sleep(1.5)
