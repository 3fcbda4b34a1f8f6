"""A process that handles messages: a peer that is in the groups of its handlers."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from contextlib import suppress
from typing import Self

from remuda.config import Config, load
from remuda.errors import BadConfig, RemudaError
from remuda.ownership.contract import Membership
from remuda.partition.hosting import POOL as PARTITIONS
from remuda.peer.effects import Ending
from remuda.peer.hooks import Hooks
from remuda.peer.runtime import Peer, Role
from remuda.queue.client import Queues
from remuda.queue.crew import Crew
from remuda.queue.group import addresses_of, enlist, missing_units, pool_of
from remuda.queue.handler import Handler
from remuda.replica.facts import PoolJoined
from remuda.replica.fold import Played
from remuda.replica.pool import Pool
from remuda.replica.state import PeerId, Replica
from remuda.zookeeper.connection import Link

log = logging.getLogger("remuda.queue")

_LOOK_S = 2.0


class Worker:
    """`async with Worker(handle) as worker:` handles messages until the block ends.

    The partitions of each handler's queue are spread over all workers of its group. `name` is what
    partitions can be pegged to across restarts.
    """

    def __init__(
        self,
        *handlers: Handler,
        name: str = "",
        config: Config | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        config = config or load(environment=os.environ)
        self.id: PeerId | None = None
        self._config = config
        self._crews: dict[str, Crew] = {}
        for handler in handlers:
            pool = pool_of(handler.queue, handler.group)
            if pool in self._crews:
                raise BadConfig(
                    f"two handlers are in group {handler.group} of {handler.queue}: give one of "
                    "them another group, or leave it out"
                )
            self._crews[pool] = Crew(handler, config, self._find)
        if not self._crews:
            raise BadConfig("a worker has no handler: give it at least one")
        roles = [Role(_membership(pool, config), crew) for pool, crew in self._crews.items()]
        self._peer = Peer(config, _Teller(self, hooks or Hooks()), name=name, roles=roles)
        self._queues = Queues(config=config)
        self._running: asyncio.Task[None] | None = None
        self._waiting = set(self._crews)
        self._joined = asyncio.Event()
        self._partitions: Pool | None = None

    @property
    def parts(self) -> dict[tuple[str, str], list[int]]:
        """The partitions that this process has now, by queue and group."""
        return {
            (crew.handler.queue, crew.handler.group): sorted(lane.part for lane in crew.lanes)
            for crew in self._crews.values()
        }

    async def start(self) -> None:
        """Join; returns when this process is in every group, and raises if it cannot be."""
        try:
            for crew in self._crews.values():
                await self._enlist(crew)
        except BaseException:
            await self._queues.close()
            raise
        self._running = asyncio.create_task(self._run())
        joined = asyncio.create_task(self._joined.wait())
        await asyncio.wait([self._running, joined], return_when=asyncio.FIRST_COMPLETED)
        joined.cancel()
        if self._running.done():
            await self._running

    def leave(self) -> None:
        """Give all partitions up, then leave; `left` returns when that is done."""
        self._peer.leave()

    def finish(self) -> None:
        """Begin nothing more, and leave."""
        for crew in self._crews.values():
            crew.finish()
        self.leave()

    async def left(self) -> None:
        """Returns when this process has left; raises what made it stop, if something did."""
        if self._running is not None:
            await asyncio.shield(self._running)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.leave()
        await self.left()

    # ── what the peer tells ──────────────────────────────────────────────────────────────────

    def note_joined(self, me: PeerId, pool: str) -> None:
        self.id = me
        self._waiting.discard(pool)
        if not self._waiting:
            self._joined.set()

    def note_replica(self, replica: Replica) -> None:
        partitions = replica.pools.get(PARTITIONS)
        if partitions is not self._partitions:
            self._partitions = partitions
            for crew in self._crews.values():
                crew.look_around()

    def note_ended(self) -> None:
        self.id = None
        self._waiting = set(self._crews)

    def abandon(self) -> None:
        for crew in self._crews.values():
            crew.abandon()

    @property
    def pools(self) -> list[str]:
        return list(self._crews)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _run(self) -> None:
        keeping_up = asyncio.create_task(self._keep_up())
        try:
            await self._peer.run()
        finally:
            keeping_up.cancel()
            for crew in self._crews.values():
                await crew.ended()
            await self._queues.close()

    async def _keep_up(self) -> None:
        """Queues grow, and groups change how they fail."""
        while True:
            await asyncio.sleep(_LOOK_S)
            for crew in self._crews.values():
                handler = crew.handler
                with suppress(RemudaError):
                    definition = await self._queues.get(handler.queue)
                    if missing_units(self._peer.replica, definition, handler.group):
                        await self._enlist(crew)
                    elif handler.group in definition.groups:
                        crew.set_blocks(definition.retry_of(handler.group).blocks)

    async def _enlist(self, crew: Crew) -> None:
        handler = crew.handler
        definition = await enlist(
            self._config, self._queues, handler.queue, handler.group, handler.definition
        )
        crew.set_blocks(definition.retry_of(handler.group).blocks)

    def _find(self, queue: str, part: int) -> list[str]:
        return list(addresses_of(self._peer.replica, queue, part))


async def run_worker(*handlers: Handler, name: str = "", config: Config | None = None) -> None:
    """Handle messages until this process is told to stop: SIGTERM and Ctrl-C let what is at work
    come to an end, and leave. For more control, use `Worker`."""
    worker = Worker(*handlers, name=name, config=config)
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, worker.leave)
    await worker.start()
    await worker.left()


def work(*handlers: Handler, name: str = "", config: Config | None = None) -> None:
    """Handle messages until SIGTERM or Ctrl-C, in a program that does nothing else."""
    asyncio.run(run_worker(*handlers, name=name, config=config))


class _Teller(Hooks):
    """Listens for what concerns the worker, and passes everything on."""

    def __init__(self, worker: Worker, others: Hooks) -> None:
        self._worker = worker
        self._others = others
        self._me: PeerId = ""

    def life_began(self, me: PeerId) -> None:
        self._me = me
        self._others.life_began(me)

    def entry_played(self, played: Played) -> None:
        self._others.entry_played(played)
        self._worker.note_replica(played.replica)
        for fact in played.facts:
            if isinstance(fact, PoolJoined) and fact.peer == self._me:
                self._worker.note_joined(self._me, fact.pool)

    def origin_taken(self, replica: Replica) -> None:
        self._others.origin_taken(replica)
        self._worker.note_replica(replica)
        for pool in self._worker.pools:
            if self._me in replica.pools.get(pool, Pool()).members:
                self._worker.note_joined(self._me, pool)

    def link_changed(self, link: Link) -> None:
        self._others.link_changed(link)

    def work_may_start(self) -> None:
        self._others.work_may_start()

    def work_must_stop(self, reason: str) -> None:
        self._worker.abandon()
        self._others.work_must_stop(reason)

    def life_ended(self, me: PeerId, ending: Ending) -> None:
        self._worker.note_ended()
        self._others.life_ended(me, ending)


def _membership(pool: str, config: Config) -> Membership:
    return Membership(
        pool,
        settle_s=config.settle_time_s,
        rebalance_s=config.rebalance_interval_s,
        drain_s=config.drain_time_s,
    )
