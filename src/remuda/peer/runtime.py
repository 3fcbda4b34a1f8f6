"""A peer as a user runs it: lives one after another, until it is told to leave."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from remuda.clock import Clock, SystemClock
from remuda.config import Config
from remuda.errors import Disconnected, SessionLost, Unreachable
from remuda.log.zookeeper import ZooKeeperLog
from remuda.ownership.contract import Membership
from remuda.peer.backoff import Backoff
from remuda.peer.core import PeerCore, Timing
from remuda.peer.effects import Ending
from remuda.peer.hooks import Hooks
from remuda.peer.job_contract import JobOffer
from remuda.peer.job_worker import JobWorker
from remuda.peer.life import PULSES, Life
from remuda.peer.names import new_peer_id
from remuda.peer.worker import UnitWorker
from remuda.replica.state import PeerInfo, Replica
from remuda.zookeeper.connection import Connection, Link
from remuda.zookeeper.locate import credentials_of, locate

_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.1, 2.0


class Role(NamedTuple):
    """A pool that a peer serves, and who runs its units here."""

    membership: Membership
    worker: UnitWorker


class JobRole(NamedTuple):
    """What a peer gives to jobs, and who drives those that it leads."""

    offer: JobOffer
    worker: JobWorker


class Peer:
    """One peer in this process: `await peer.run()`, and `peer.leave()` to end it cleanly."""

    def __init__(
        self,
        config: Config,
        hooks: Hooks | None = None,
        *,
        name: str = "",
        address: str = "",
        roles: Iterable[Role] = (),
        job_role: JobRole | None = None,
        create_chroot: bool = False,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self._config = config
        self._hooks = hooks or Hooks()
        self._create_chroot = create_chroot
        self._clock = clock or SystemClock()
        self._chance = chance or random.Random()
        self._info = PeerInfo(socket.gethostname(), os.getpid(), name, address)
        self._roles = tuple(roles)
        self._job_role = job_role
        self._leaving = asyncio.Event()
        self._life: Life | None = None
        self._has_lived = False

    async def run(self) -> None:
        """Be a peer. Returns after `leave`; raises if the cluster cannot be reached at the start,
        or if there is something in its log that this build must not guess about."""
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, self._chance)
        while not self._leaving.is_set():
            try:
                await self._live()
                backoff.reset()
            except (Unreachable, Disconnected, SessionLost):
                if not self._has_lived:
                    raise
            if not self._leaving.is_set():
                await asyncio.sleep(backoff.next_s())

    def leave(self) -> None:
        """Leave the cluster, cleanly if that is possible within `leave_timeout_s`."""
        if self._leaving.is_set():
            return
        self._leaving.set()
        if self._life is not None:
            self._leave_in_time(self._life)

    @property
    def replica(self) -> Replica:
        """What this peer has played so far."""
        return Replica() if self._life is None else self._life.core.replica

    @property
    def connection(self) -> Connection | None:
        """To ZooKeeper, while there is one."""
        return None if self._life is None else self._life.connection

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _live(self) -> None:
        connection = await self._connect()
        try:
            life, pulse_sent_at = await self._begin(connection)
            self._life = life
            self._has_lived = True
            if self._leaving.is_set():
                self._leave_in_time(life)
            if connection.link is not Link.CONNECTED:
                life.on_link(connection.link)
            ending = Ending.LOST
            try:
                ending = await life.run(pulse_sent_at)
            finally:
                self._hooks.life_ended(life.core.me, ending)
        finally:
            self._life = None
            await connection.close()

    async def _connect(self) -> Connection:
        address = locate(self._config)
        return await Connection.open(
            address,
            self._config.session_timeout_s,
            credentials_of(self._config),
            on_link=self._on_link,
            connect_timeout_s=self._config.connect_timeout_s,
            create_chroot=self._create_chroot or address.chroot_is_ours,
        )

    async def _begin(self, connection: Connection) -> tuple[Life, float]:
        """Make the pulse first: nobody may hear of a peer that cannot be watched."""
        log = await ZooKeeperLog.open(connection)
        await connection.ensure(PULSES)
        me = new_peer_id(self._chance)
        sent_at = self._clock.now()
        pulse = msgspec.json.encode(self._info)
        await connection.create(f"{PULSES}/{me}", pulse, ephemeral=True)
        timing = Timing(
            session_timeout_s=connection.session_timeout_s,
            join_timeout_s=self._config.join_timeout_s,
            backoff_first_s=_BACKOFF_FIRST_S,
            backoff_most_s=_BACKOFF_MOST_S,
            gc_entries=self._config.gc_entries,
            drain_deadline_s=self._config.drain_deadline_s,
            ack_timeout_s=self._config.ack_timeout_s,
        )
        core = PeerCore(
            me,
            self._info,
            timing,
            self._chance,
            self._clock.now(),
            [role.membership for role in self._roles],
            self._job_role.offer if self._job_role is not None else None,
        )
        life = Life(
            connection,
            log,
            core,
            self._hooks,
            self._clock,
            self._chance,
            workers={role.membership.pool: role.worker for role in self._roles},
            job_worker=self._job_role.worker if self._job_role is not None else None,
            load_interval_s=self._config.load_interval_s,
            check_invariants=self._config.check_invariants,
        )
        self._hooks.life_began(me)
        return life, sent_at

    def _on_link(self, link: Link) -> None:
        if self._life is not None:
            self._life.on_link(link)

    def _leave_in_time(self, life: Life) -> None:
        life.leave()
        patience_s = self._config.leave_timeout_s
        if self._roles or self._job_role is not None:
            patience_s += self._config.drain_deadline_s
        asyncio.get_running_loop().call_later(patience_s, life.give_up)
