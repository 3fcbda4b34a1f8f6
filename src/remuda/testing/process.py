"""One simulated process: the real core of a peer, on a network that can fail it.

It does what `peer/life.py` does for a real one, and like it keeps two promises that the core
relies on: what it sends arrives in the order in which it was sent, and a proposal whose fate is
unknown is looked up by its id before it is written again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, assert_never

from remuda.errors import Collected
from remuda.log.record import Record
from remuda.ownership.contract import StartUnit, StopUnit, UnitFailed, UnitStarted, UnitStopped
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
from remuda.peer.job_contract import JobChange, SealJob, StartJob, StopJob
from remuda.peer.names import new_entry_id, new_peer_id
from remuda.replica.entry import entry_of, record_of
from remuda.replica.state import PeerId, PeerInfo, decode_replica
from remuda.testing.job_process import SimJobWorker
from remuda.testing.zookeeper import SimSession

if TYPE_CHECKING:
    from remuda.testing.simulation import Simulation

_READ_LIMIT = 64


class _Wire:
    """One connection to the server."""

    lost = False


class SimProcess:
    def __init__(self, world: Simulation, pid: int) -> None:
        self.world = world
        self.pid = pid
        self.alive = True
        self.frozen = False
        self.connected = True
        self.leaving = False
        self.overslept = False
        self._wire = _Wire()
        self._missed: list[Callable[[], None]] = []
        self._jobs = SimJobWorker(self, self._tell_job)
        self.core: PeerCore
        self.session: SimSession
        self._begin_life()

    @property
    def me(self) -> PeerId:
        return self.core.me

    # ── faults ───────────────────────────────────────────────────────────────────────────────

    def crash(self) -> None:
        self.alive = False
        self.world.units.end_all(self)
        self.world.drivers.end_all(self)

    def freeze(self) -> None:
        self.frozen = True

    def wake(self) -> None:
        """Everything that waited arrives at once; a real process, too, looks at its clock first."""
        if not self.frozen or not self.alive:
            return
        self.frozen = False
        self.overslept = True
        self._do(self.core.tick(self.world.now))
        self.overslept = False
        missed, self._missed = self._missed, []
        for call in missed:
            self._here(call)

    def disconnect(self) -> None:
        if self.connected:
            self.connected = False
            self._wire = _Wire()
            self._here(lambda: self._do(self.core.suspended(self.world.now)))

    def reconnect(self) -> None:
        """To the same session if it lives; the server says so if it does not."""
        if self.connected or not self.alive:
            return
        self.connected = True
        if not self.session.alive:
            self._here(self._lose)
            return
        self.session.touched_at = self.world.now
        for watched in sorted(self.core.watching):
            self._send(lambda watched=watched: self._arm(watched))
        for record in list(self._unanswered.values()):
            self._send(lambda record=record: self._write(record))
        self._here(lambda: self._do(self.core.resumed(self.world.now)))
        self.poll()

    def leave(self) -> None:
        self.leaving = True
        self._here(lambda: self._do(self.core.leave(self.world.now)))

    def measure(self, pool: str, loads: Mapping[str, int]) -> None:
        self._here(lambda: self._do(self.core.measured(pool, loads, self.world.now)))

    # ── a life ───────────────────────────────────────────────────────────────────────────────

    def _begin_life(self) -> None:
        world = self.world
        me = new_peer_id(world.chance)
        self._unanswered: dict[str, Record] = {}
        self._polling = False
        self._alarm_at = world.now
        self._sent_until = self._received_until = world.now
        self.session = world.open_session(me)
        self.core = PeerCore(
            me,
            PeerInfo(f"host-{self.pid}", self.pid),
            world.timing,
            world.chance,
            world.now,
            world.memberships,
            world.job_offer,
        )
        world.tell(f"process {self.pid} begins a life as {me}")
        self._next_position = 0
        self._take_origin()
        self._do(self.core.heartbeat_answered(world.now, world.now))
        self.poll()
        self._beat()

    def _live_on(self) -> None:
        """A new life, unless we were asked to leave since the last one ended."""
        if self.leaving:
            self.crash()
        else:
            self._begin_life()

    def _take_origin(self) -> None:
        origin = self.world.log.origin_now()
        if origin is not None:
            self._next_position = origin.position + 1
            self._do(self.core.take_origin(decode_replica(origin.state), self.world.now))

    def _lose(self) -> None:
        self._do(self.core.lost(self.world.now))

    def _beat(self) -> None:
        """A heartbeat now, and the next one later, as long as this life lasts."""
        life, sent_at = self.core, self.world.now

        def answered() -> None:
            self._do(life.heartbeat_answered(sent_at, self.world.now))

        def arrived() -> None:
            if self.session.alive and life is self.core:
                self.session.touched_at = self.world.now
                self._receive(answered)

        def next_beat() -> None:
            if life is self.core and not life.finished:
                self._beat()

        self._send(arrived)
        self.world.after(self.world.timing.session_timeout_s / 4, lambda: self._here(next_beat))

    # ── the log ──────────────────────────────────────────────────────────────────────────────

    def poll(self) -> None:
        """Something may be new in the log: read it, some time from now."""
        if not self._polling and self.connected:
            self._polling = True
            life = self.core
            self.world.after(self.world.latency(), lambda: self._here(lambda: self._read(life)))

    def _read(self, life: PeerCore) -> None:
        if life is not self.core or life.finished:
            return
        self._polling = False
        if not self.connected:
            return
        try:
            batch = self.world.log.read_now(self._next_position, _READ_LIMIT)
        except Collected:
            self.world.tell(f"{self.me} was overtaken by a gc and takes the origin")
            self._take_origin()
            self.poll()
            return
        for placed in batch:
            self._next_position = placed.position + 1
            self._unanswered.pop(placed.record.id, None)
        all_played, effects = life.play(map(entry_of, batch), self.world.now)
        for played in all_played:
            self.world.check_played(self, played)
        self._do(effects)
        if batch:
            self.poll()

    def _write(self, record: Record) -> None:
        """At the server. The in-memory log finds a record by its id, as the real one does."""
        if self.session.alive and record.by == self.me and record.id in self._unanswered:
            self.world.append(record)

    # ── effects ──────────────────────────────────────────────────────────────────────────────

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Propose(command):
                    record = record_of(
                        command,
                        entry_id=new_entry_id(self.world.chance),
                        by=self.me,
                        at_ms=round(self.world.now * 1000),
                    )
                    self._unanswered[record.id] = record
                    self._send(lambda record=record: self._write(record))
                case Watch(peer):
                    self._send(lambda peer=peer: self._arm(peer))
                case Unwatch(peer):
                    me = self.me
                    self._send(lambda peer=peer, me=me: self.world.zookeeper.unwatch(me, peer))
                case StartWork() | StopWork():
                    self.world.tell(f"{self.me}: {effect}")
                case StartUnit():
                    self._start_unit(effect)
                case StopUnit():
                    self._stop_unit(effect)
                case StartJob():
                    self._jobs.start(self.core, effect)
                case SealJob():
                    self._jobs.seal(self.core, effect)
                case StopJob():
                    # Its driver ran while we slept, and the first thing that we do is to end it.
                    self._jobs.stop(self.core, effect, at_once=self.overslept)
                case WriteOrigin(replica):
                    self.world.collect(replica)
                case Finish(ending):
                    self._finish(ending)
                case _:
                    assert_never(effect)
        self._set_alarm()

    def _start_unit(self, start: StartUnit) -> None:
        """Takes a while, and now and then fails."""
        life, world = self.core, self.world
        run = world.units.start(self, start)

        def done() -> None:
            if world.units.is_running(run):
                if world.chance.random() < world.unit_failures:
                    world.units.end(run)
                    changed = UnitFailed(start.pool, start.unit, start.epoch, "bad luck")
                else:
                    run.started = True
                    changed = UnitStarted(start.pool, start.unit, start.epoch)
                self._do(life.units_changed([changed], world.now))

        world.after(world.latency(), lambda: self._here(done))

    def _stop_unit(self, stop: StopUnit) -> None:
        life, world = self.core, self.world
        run = world.units.find(self, stop)
        if run is None:
            return
        world.check_stopping(self, stop)
        if self.overslept:
            # Nothing of it ran while we slept, and nothing does before it is stopped.
            world.units.end(run)

        def done() -> None:
            world.units.end(run)
            changed = UnitStopped(stop.pool, stop.unit, stop.epoch)
            self._do(life.units_changed([changed], world.now))

        world.after(world.chance.uniform(0.001, 0.2), lambda: self._here(done))

    def _tell_job(self, life: PeerCore, change: JobChange) -> None:
        self.here_after(
            self.world.latency(), lambda: self._do(life.jobs_changed([change], self.world.now))
        )

    def here_after(self, seconds: float, call: Callable[[], None]) -> None:
        self.world.after(seconds, lambda: self._here(call))

    def _arm(self, watched: PeerId) -> None:
        life = self.core
        if not self.session.alive:
            return

        def gone() -> None:
            if life is self.core:
                self._do(life.pulse_gone(watched, self.world.now))

        self.world.zookeeper.watch(self.me, watched, lambda: self._receive(gone))

    def _finish(self, ending: Ending) -> None:
        self.world.tell(f"{self.me} has {ending.value}")
        session = self.session
        self.world.after(self.world.latency(), lambda: self.world.close_session(session))
        if ending is Ending.LEFT or self.leaving:
            self.crash()
        else:
            self.world.after(self.world.latency(), lambda: self._here(self._live_on))

    def _set_alarm(self) -> None:
        life = self.core
        at = life.deadline(self.world.now)
        if life.finished or at in (self._alarm_at, float("inf")):
            return
        self._alarm_at = at

        def ring() -> None:
            if life is self.core and not life.finished:
                self._do(life.tick(self.world.now))

        self.world.at(at, lambda: self._here(ring))

    # ── the network ──────────────────────────────────────────────────────────────────────────

    def _here(self, call: Callable[[], None]) -> None:
        """Run in this process: later if it is frozen, never if it is dead."""
        if self.frozen:
            self._missed.append(call)
        elif self.alive:
            call()

    def _send(self, call: Callable[[], None]) -> None:
        """To the server, in order; lost if the connection breaks on the way, more or less."""
        if not self.connected:
            return
        self._sent_until = max(self._sent_until, self.world.now + self.world.latency())
        wire = self._wire

        def arrive() -> None:
            # What a frozen or dead process has sent is on the wire already. A wire that breaks
            # loses everything from some point on.
            if wire is not self._wire and self.world.chance.random() < 0.5:
                wire.lost = True
            if not wire.lost:
                call()

        self.world.at(self._sent_until, arrive)

    def _receive(self, call: Callable[[], None]) -> None:
        """From the server, in order."""
        self._received_until = max(self._received_until, self.world.now + self.world.latency())
        self.world.at(self._received_until, lambda: self._here(call) if self.connected else None)
