"""A process in a service."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from typing import Self

from msgspec.structs import replace

from remuda.config import Config, load
from remuda.errors import BadConfig, Refused
from remuda.ownership.contract import Membership
from remuda.peer.effects import Ending
from remuda.peer.hooks import Hooks
from remuda.peer.runtime import Peer, Role
from remuda.replica.facts import PoolJoined
from remuda.replica.fold import Played
from remuda.replica.pool import Balance
from remuda.replica.state import PeerId, Replica
from remuda.service.api import Service, Unit
from remuda.service.control import control
from remuda.service.runner import ServiceRunner, called
from remuda.zookeeper.connection import Link

log = logging.getLogger("remuda.service")


class Member:
    """`async with Member("ingest", Ingest()) as member:` serves until the block ends.

    `balance` is by "count" of units, or by the "load" that their meters show. With `handoff` given,
    a unit that moves is started by its next owner first, and stopped here so many seconds later;
    without, it is stopped here before it may start there. `name` is what units can be pegged to
    across restarts.
    """

    def __init__(
        self,
        service: str,
        served: Service,
        *,
        balance: Balance = "count",
        handoff: float | None = None,
        name: str = "",
        config: Config | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self.service = service
        self.id: PeerId | None = None
        config = config or load(environment=os.environ)
        if balance not in ("count", "load"):
            raise BadConfig(f"balance cannot be `{balance}`: it is `count` or `load`")
        if handoff is not None and handoff < 0:
            raise BadConfig(f"handoff cannot be {handoff:g} s: it is how long both owners serve")
        self._served = served
        self._config = config
        self._runner = ServiceRunner(served, config.start_attempts, _log_error)
        membership = Membership(
            service,
            balance=balance,
            handoff_s=handoff,
            settle_s=config.settle_time_s,
            rebalance_s=config.rebalance_interval_s,
            drain_s=config.drain_time_s,
        )
        self._peer = Peer(
            config,
            _Teller(self, hooks or Hooks()),
            name=name,
            roles=[Role(membership, self._runner)],
        )
        self._running: asyncio.Task[None] | None = None
        self._joined = asyncio.Event()
        self._callbacks: set[asyncio.Task[None]] = set()

    @property
    def units(self) -> list[Unit]:
        """What this process serves now."""
        return self._runner.units

    async def start(self) -> None:
        """Join; returns when this process is a member, and raises if it cannot be."""
        self._running = asyncio.create_task(self._run())
        joined = asyncio.create_task(self._joined.wait())
        await asyncio.wait([self._running, joined], return_when=asyncio.FIRST_COMPLETED)
        joined.cancel()
        if self._running.done():
            await self._running

    def leave(self) -> None:
        """Drain, then leave; `left` returns when that is done."""
        self._peer.leave()

    async def drain(self, *, to: int = 0, over: float | None = None, off: bool = False) -> None:
        """Give up units evenly over some seconds until `to` are left, and take none; or, `off`,
        take units again. This process stays a member."""
        if self.id is None:
            raise Refused(f"this process is not a member of {self.service} now")
        async with control(self._config) as services:
            await services.drain(self.id, to=to, over_s=over, off=off)

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

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _run(self) -> None:
        try:
            await self._peer.run()
        finally:
            await self._runner.ended()
            await asyncio.gather(*self._callbacks, return_exceptions=True)

    def note_joined(self, me: PeerId) -> None:
        self.id = me
        self._joined.set()
        self._call("on_join")

    def note_ended(self) -> None:
        if self.id is not None:
            self.id = None
            self._call("on_leave")

    def _call(self, which: str) -> None:
        task = asyncio.get_running_loop().create_task(self._called(which))
        self._callbacks.add(task)
        task.add_done_callback(self._callbacks.discard)

    async def _called(self, which: str) -> None:
        try:
            await called(getattr(self._served, which), self)
        except Exception:
            log.exception("%s of %s raised", which, self.service)


async def join(
    service: str,
    served: Service,
    *,
    balance: Balance = "count",
    handoff: float | None = None,
    name: str = "",
    config: Config | None = None,
    settle_time: float | None = None,
    drain_time: float | None = None,
) -> None:
    """Serve until this process is told to stop: SIGTERM and Ctrl-C drain it and leave.

    For more control, use `Member`.
    """
    config = config or load(environment=os.environ)
    if settle_time is not None:
        config = replace(config, settle_time_s=settle_time)
    if drain_time is not None:
        config = replace(config, drain_time_s=drain_time)
    member = Member(service, served, balance=balance, handoff=handoff, name=name, config=config)
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, member.leave)
    await member.start()
    await member.left()


def serve(service: str, served: Service, **options: object) -> None:
    """`join`, for a program that does nothing else."""
    asyncio.run(join(service, served, **options))  # type: ignore[arg-type]


class _Teller(Hooks):
    """Listens for what concerns the member, and passes everything on."""

    def __init__(self, member: Member, others: Hooks) -> None:
        self._member = member
        self._others = others
        self._me: PeerId = ""

    def life_began(self, me: PeerId) -> None:
        self._me = me
        self._others.life_began(me)

    def entry_played(self, played: Played) -> None:
        self._others.entry_played(played)
        if PoolJoined(self._member.service, self._me) in played.facts:
            self._member.note_joined(self._me)

    def origin_taken(self, replica: Replica) -> None:
        self._others.origin_taken(replica)
        pool = replica.pools.get(self._member.service)
        if pool is not None and self._me in pool.members and self._member.id is None:
            self._member.note_joined(self._me)

    def link_changed(self, link: Link) -> None:
        self._others.link_changed(link)

    def work_may_start(self) -> None:
        self._others.work_may_start()

    def work_must_stop(self, reason: str) -> None:
        self._others.work_must_stop(reason)

    def life_ended(self, me: PeerId, ending: Ending) -> None:
        self._member.note_ended()
        self._others.life_ended(me, ending)


def _log_error(unit: Unit, what: str, error: BaseException) -> None:
    log.error("%s of %r raised %s: %s", what, unit, type(error).__name__, error, exc_info=error)
