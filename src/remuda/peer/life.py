"""One life of a peer on ZooKeeper: a session, a pulse, and a core that is told what happens.

    /pulses/<id>     ephemeral: there as long as the peer's session is

Everything runs in one event loop, so the core is never entered twice at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Coroutine, Mapping
from typing import Any, assert_never

from remuda.clock import Clock
from remuda.errors import AppendUncertain, Disconnected, SessionLost
from remuda.log.port import Origin
from remuda.log.record import Record
from remuda.log.subscription import follow
from remuda.log.zookeeper import ZooKeeperLog
from remuda.ownership.contract import StartUnit, StopUnit, UnitChange
from remuda.peer.core import PeerCore
from remuda.peer.effects import (
    Effect,
    Ending,
    Finish,
    Propose,
    StartWork,
    StopWork,
    Unwatch,
    Watch,
    WriteOrigin,
)
from remuda.peer.hooks import Hooks
from remuda.peer.job_contract import JobChange, SealJob, StartJob, StopJob
from remuda.peer.job_worker import JobWorker
from remuda.peer.names import new_entry_id
from remuda.peer.worker import UnitWorker
from remuda.replica.entry import entry_of, record_of
from remuda.replica.invariants import check
from remuda.replica.state import PeerId, Replica, decode_replica, encode_replica
from remuda.zookeeper.connection import Connection, Link

PULSES = "/pulses"

_BEATS_PER_TIMEOUT = 4
_GATHER_S = 0.005


class Life:
    def __init__(
        self,
        connection: Connection,
        log: ZooKeeperLog,
        core: PeerCore,
        hooks: Hooks,
        clock: Clock,
        chance: random.Random,
        *,
        workers: Mapping[str, UnitWorker] | None = None,
        job_worker: JobWorker | None = None,
        load_interval_s: float = 60.0,
        check_invariants: bool = False,
    ) -> None:
        self.core = core
        self._workers = workers or {}
        self._job_worker = job_worker
        self._load_interval_s = load_interval_s
        self.connection = connection
        self._log = log
        self._hooks = hooks
        self._clock = clock
        self._chance = chance
        self._check_invariants = check_invariants
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[Ending] = self._loop.create_future()
        self._proposals: asyncio.Queue[Record] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watches: dict[PeerId, asyncio.Task[None]] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = float("inf")
        self._changes: list[UnitChange] = []

    async def run(self, pulse_sent_at: float) -> Ending:
        """Until the life is over; the connection is the caller's to close."""
        origin = await self._log.origin()
        if origin is not None:
            # Before anything is proposed: what is proposed on an empty replica is often in vain.
            self._take_origin(decode_replica(origin.state))
        self._do(self.core.heartbeat_answered(pulse_sent_at, self._clock.now()))
        self._spawn(self._follow(0 if origin is None else origin.position + 1))
        self._spawn(self._beat())
        self._spawn(self._append_proposals())
        if self._workers:
            self._spawn(self._measure())
        try:
            return await self._over
        finally:
            if self._alarm is not None:
                self._alarm.cancel()
            tasks = [*self._tasks, *self._watches.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def leave(self) -> None:
        self._do(self.core.leave(self._clock.now()))

    def give_up(self) -> None:
        """Leaving takes too long: go without a word, and let the session's end tell."""
        self._hooks.work_must_stop("this peer leaves")
        self._do([*self.core.jobs.stop_all("this peer leaves")])
        self._finish(Ending.LEFT)

    def on_link(self, link: Link) -> None:
        now = self._clock.now()
        match link:
            case Link.CONNECTED:
                self._do(self.core.resumed(now))
            case Link.SUSPENDED:
                self._do(self.core.suspended(now))
            case Link.LOST:
                self._do(self.core.lost(now))
            case _:
                assert_never(link)
        self._hooks.link_changed(link)

    # ── what workers tell ────────────────────────────────────────────────────────────────────

    def _tell(self, change: UnitChange) -> None:
        """Gathered for a moment: a thousand units that stop at once make one entry."""
        if not self._changes:
            self._loop.call_later(_GATHER_S, self._tell_gathered)
        self._changes.append(change)

    def _tell_gathered(self) -> None:
        changes, self._changes = self._changes, []
        self._do(self.core.units_changed(changes, self._clock.now()))

    def _tell_job(self, change: JobChange) -> None:
        """In its turn: a worker may tell while it is being asked."""
        self._loop.call_soon(self._note_job, change)

    def _note_job(self, change: JobChange) -> None:
        self._do(self.core.jobs_changed([change], self._clock.now()))

    # ── what happens ─────────────────────────────────────────────────────────────────────────

    async def _follow(self, start: int) -> None:
        async for news in follow(self._log, start):
            if isinstance(news, Origin):
                self._take_origin(decode_replica(news.state))
                continue
            all_played, effects = self.core.play(map(entry_of, news), self._clock.now())
            for played in all_played:
                self._checked(played.replica)
            self._do(effects)
            for played in all_played:
                self._hooks.entry_played(played)

    def _take_origin(self, replica: Replica) -> None:
        self._checked(replica)
        self._do(self.core.take_origin(replica, self._clock.now()))
        self._hooks.origin_taken(replica)

    def _checked(self, replica: Replica) -> None:
        if self._check_invariants:
            check(replica)

    async def _beat(self) -> None:
        """A heartbeat of our own, because the lease counts from when an answered one was sent."""
        while True:
            sent_at = self._clock.now()
            try:
                there = await self.connection.ping(f"{PULSES}/{self.core.me}")
            except Disconnected:
                await self.connection.settled()
                continue
            if not there:
                raise SessionLost("our pulse is gone from ZooKeeper")
            self._do(self.core.heartbeat_answered(sent_at, self._clock.now()))
            await asyncio.sleep(self.connection.session_timeout_s / _BEATS_PER_TIMEOUT)

    async def _append_proposals(self) -> None:
        while True:
            record = await self._proposals.get()
            # A gc has overtaken us, so the origin will tell what became of it.
            with contextlib.suppress(AppendUncertain):
                await self._log.append(record)

    async def _measure(self) -> None:
        """Report what the units here do, once an interval."""
        while True:
            await asyncio.sleep(self._load_interval_s)
            for pool, worker in self._workers.items():
                self._do(self.core.measured(pool, worker.loads(pool), self._clock.now()))

    def _tick(self) -> None:
        # A timer may fire a hair too early: then it is set again.
        self._alarm_at = float("inf")
        self._do(self.core.tick(self._clock.now()))

    # ── what it is asked to do ───────────────────────────────────────────────────────────────

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Propose(command):
                    self._proposals.put_nowait(
                        record_of(
                            command,
                            entry_id=new_entry_id(self._chance),
                            by=self.core.me,
                            at_ms=self._clock.wall_ms(),
                        )
                    )
                case Watch(peer):
                    self._watch(peer)
                case Unwatch(peer):
                    self._watches.pop(peer).cancel()
                case StartWork():
                    self._hooks.work_may_start()
                case StopWork(reason):
                    self._hooks.work_must_stop(reason)
                case StartUnit():
                    self._worker_of(effect.pool).start_unit(self.core.me, effect, self._tell)
                case StopUnit():
                    self._worker_of(effect.pool).stop_unit(effect, self._tell)
                case StartJob() | SealJob() | StopJob():
                    self._tend_job(effect)
                case WriteOrigin(replica):
                    self._spawn(self._write_origin(replica))
                case Finish(ending):
                    self._finish(ending)
                case _:
                    assert_never(effect)
        self._set_alarm()

    def _tend_job(self, effect: StartJob | SealJob | StopJob) -> None:
        # A peer without slots never leads a job.
        assert self._job_worker is not None
        match effect:
            case StartJob():
                self._job_worker.start_job(self.core.me, effect, self._tell_job)
            case SealJob():
                self._job_worker.seal_job(self.core.me, effect, self._tell_job)
            case StopJob():
                self._job_worker.stop_job(effect, self._tell_job)

    def _watch(self, peer: PeerId) -> None:
        """Sent at once, so that it is in place before anything that is proposed after it."""
        changed = asyncio.Event()
        sent = self.connection.watch(f"{PULSES}/{peer}", changed.set)
        self._watches[peer] = self._task(self._await_gone(peer, sent, changed))

    async def _await_gone(
        self, peer: PeerId, sent: asyncio.Future[bool], changed: asyncio.Event
    ) -> None:
        while True:
            try:
                there = await sent
            except Disconnected:
                await self.connection.settled()
            else:
                if not there:
                    break
                await changed.wait()
            changed = asyncio.Event()
            sent = self.connection.watch(f"{PULSES}/{peer}", changed.set)
        del self._watches[peer]
        self._do(self.core.pulse_gone(peer, self._clock.now()))

    async def _write_origin(self, replica: Replica) -> None:
        await self._log.set_origin(Origin(replica.position, encode_replica(replica)))
        await self._log.trim()

    def _finish(self, ending: Ending) -> None:
        if not self._over.done():
            self._over.set_result(ending)

    def _set_alarm(self) -> None:
        now = self._clock.now()
        deadline = self.core.deadline(now)
        if deadline == self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._alarm_at = deadline
        if deadline < float("inf") and not self.core.finished:
            self._alarm = self._loop.call_later(deadline - now, self._tick)

    def _worker_of(self, pool: str) -> UnitWorker:
        return self._workers[pool]

    # ── tasks ────────────────────────────────────────────────────────────────────────────────

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: asyncio.Task[None]) -> None:
        """A lost session ends the life; anything else that fails is a reason to stop the peer."""
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        if not isinstance(error, SessionLost) and not self._over.done():
            self._over.set_exception(error)
        self._do(self.core.lost(self._clock.now()))
