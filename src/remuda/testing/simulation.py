"""The simulated world: one thread, one clock, one seed.

A run has two halves. In the first, faults strike at random. Then they stop, everybody wakes and
reconnects, and within a bounded time every living process must be a member of one closed ring.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable

from remuda.log.memory import MemoryLog
from remuda.log.port import Origin
from remuda.log.record import Record
from remuda.ownership.contract import Membership, StopUnit
from remuda.peer.core import Timing
from remuda.peer.job_contract import JobOffer
from remuda.peer.names import new_entry_id
from remuda.replica.commands import AnyCommand, Gc
from remuda.replica.entry import entry_of, record_of
from remuda.replica.fold import Played, play
from remuda.replica.state import PeerId, Replica, encode_replica
from remuda.testing.checkers import CHECKERS
from remuda.testing.drivers import Drivers, Store
from remuda.testing.faults import Faults
from remuda.testing.process import SimProcess
from remuda.testing.units import RunningUnits
from remuda.testing.zookeeper import SimSession, SimZooKeeper

# How much later than the time-out the server may notice: it looks once a tick.
_SERVER_TICK_S = 0.2


class CheckFailed(AssertionError):
    """A checker has found what must never be, or missed what must come to be."""


class Simulation:
    def __init__(
        self,
        seed: int,
        *,
        processes_max: int = 6,
        faults_s: float = 20.0,
        settle_s: float = 60.0,
        record_story: bool = False,
    ) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.now = 0.0
        self.timing = Timing(
            session_timeout_s=2.0,
            join_timeout_s=5.0,
            backoff_first_s=0.1,
            backoff_most_s=2.0,
            gc_entries=self.chance.choice((25, 100, 1_000_000)),
            drain_deadline_s=self.chance.choice((0.5, 3.0, 10.0)),
            ack_timeout_s=self.chance.choice((0.3, 3.0)),
        )
        self.memberships = _memberships(self.chance)
        self.unit_failures = self.chance.choice((0.0, 0.0, 0.02))
        self.units = RunningUnits()
        self.job_offer = _job_offer(self.chance)
        self.driver_failures = self.chance.choice((0.0, 0.02, 0.1))
        self.drivers = Drivers()
        self.store = Store()
        self.log = MemoryLog()
        self.zookeeper = SimZooKeeper()
        self.processes: list[SimProcess] = []
        self.history: list[Replica] = []
        self.story: list[str] | None = [] if record_story else None
        self._faults_s = faults_s
        self._settle_s = settle_s
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._order = itertools.count()
        self._pids = itertools.count(1)
        self._checkers = [checker(self) for checker in CHECKERS]
        self._slow = self.chance.choice((0.0, 0.02, 0.1))
        self.faults = Faults(self, processes_max)

    # ── running ──────────────────────────────────────────────────────────────────────────────

    def run(self) -> None:
        self.faults.begin()
        self._run_until(self._faults_s, lambda: False)
        self.tell("the faults stop")
        self.faults.end()
        self._run_until(self._faults_s + self._settle_s, self._is_settled)
        for checker in self._checkers:
            checker.at_end()

    def _run_until(self, end: float, enough: Callable[[], bool]) -> None:
        while self._queue and self._queue[0][0] <= end and not enough():
            self.now, _, call = heapq.heappop(self._queue)
            call()
            for checker in self._checkers:
                checker.on_event()
        if not enough():
            self.now = end

    def _is_settled(self) -> bool:
        replica = self.replica
        return (
            sorted(replica.members) == self.living()
            and not (replica.prepared or replica.accepted)
            and all(checker.is_settled() for checker in self._checkers)
        )

    # ── time ─────────────────────────────────────────────────────────────────────────────────

    def at(self, when: float, call: Callable[[], object]) -> None:
        heapq.heappush(self._queue, (max(when, self.now), next(self._order), call))

    def after(self, seconds: float, call: Callable[[], object]) -> None:
        self.at(self.now + seconds, call)

    def latency(self) -> float:
        """Mostly short; in some runs now and then long enough to overtake everybody."""
        if self.chance.random() < self._slow:
            return self.chance.uniform(0.05, 1.5)
        return self.chance.uniform(0.0005, 0.01)

    # ── processes and sessions ───────────────────────────────────────────────────────────────

    def start_process(self) -> SimProcess:
        process = SimProcess(self, next(self._pids))
        self.processes.append(process)
        return process

    def living(self) -> list[PeerId]:
        return sorted(p.me for p in self.processes if p.alive and not p.leaving)

    def open_session(self, peer: PeerId) -> SimSession:
        session = self.zookeeper.open(peer, self.now)
        self._expire_later(session)
        return session

    def close_session(self, session: SimSession) -> None:
        if session.alive:
            self.zookeeper.close(session)

    def _expire_later(self, session: SimSession) -> None:
        due = session.touched_at + self.timing.session_timeout_s
        self.at(due + self.chance.uniform(0, _SERVER_TICK_S), lambda: self._expire(session))

    def _expire(self, session: SimSession) -> None:
        if not session.alive:
            return
        if self.now < session.touched_at + self.timing.session_timeout_s:
            self._expire_later(session)
            return
        self.tell(f"the session of {session.peer} expires")
        for checker in self._checkers:
            checker.on_expiry(session.peer)
        self.zookeeper.close(session)
        # A process that is connected (it was frozen, say) is told when it next listens.
        for process in self.processes:
            if process.session is session and process.connected:
                process.disconnect()
                self.after(self.latency(), process.reconnect)

    # ── the log ──────────────────────────────────────────────────────────────────────────────

    @property
    def replica(self) -> Replica:
        """What the log amounts to at this moment, whatever anybody has read of it."""
        return self.history[-1] if self.history else Replica()

    def append(self, record: Record) -> int:
        position = self.log.append_now(record)
        if position < len(self.history):
            return position
        (placed,) = self.log.read_now(position, 1)
        played = play(self.replica, entry_of(placed))
        before = self.replica
        self.history.append(played.replica)
        self._tell_played(played)
        for checker in self._checkers:
            checker.on_entry(before, played)
        for process in self.processes:
            process.poll()
        return position

    def check_stopping(self, process: SimProcess, stop: StopUnit) -> None:
        for checker in self._checkers:
            checker.on_stopping(process, stop)

    def check_played(self, process: SimProcess, played: Played) -> None:
        for checker in self._checkers:
            checker.on_played(process, played)

    def ask(self, command: AnyCommand) -> Replica:
        """As an operator would; the replica after it."""
        record = record_of(
            command, entry_id=new_entry_id(self.chance), by="operator", at_ms=round(self.now * 1000)
        )
        return self.history[self.append(record)]

    def gc(self) -> None:
        self.collect(self.ask(Gc()))

    def collect(self, replica: Replica) -> None:
        """Origin, then trim, with a pause before each."""
        origin = Origin(replica.position, encode_replica(replica))
        self.after(self.latency(), lambda: self.log.set_origin_now(origin))
        self.after(2 + self.latency(), self.log.trim_now)

    # ── the story ────────────────────────────────────────────────────────────────────────────

    def tell(self, what: str) -> None:
        if self.story is not None:
            self.story.append(f"{self.now:9.3f}  {what}")

    def fail(self, checker: str, what: str) -> CheckFailed:
        self.tell(f"FAILED {checker}: {what}")
        return CheckFailed(f"seed {self.seed} at {self.now:.3f} s, {checker}: {what}")

    def _tell_played(self, played: Played) -> None:
        if self.story is not None:
            entry = played.entry
            outcome = (
                f"rejected: {played.rejected}"
                if played.rejected is not None
                else "; ".join(map(str, played.facts))
            )
            self.tell(f"{entry.position:5}  {entry.command} by {entry.by}\n{'':18}→ {outcome}")


def _memberships(chance: random.Random) -> tuple[Membership, ...]:
    """What every process serves: nothing, an exclusive pool, an overlapping one, or both."""

    def membership(pool: str, handoff_s: float | None) -> Membership:
        return Membership(
            pool,
            balance=chance.choice(("count", "load")),
            handoff_s=handoff_s,
            settle_s=chance.choice((0.1, 1.0)),
            rebalance_s=2.0,
            drain_s=chance.choice((0.0, 1.0)),
        )

    exclusive = membership("exclusive", None)
    overlapping = membership("overlapping", chance.choice((0.0, 0.5)))
    return chance.choice(((), (exclusive,), (overlapping,), (exclusive, overlapping)))


def _job_offer(chance: random.Random) -> JobOffer | None:
    """What every process gives to jobs."""
    slots = chance.choice((0, 0, 1, 2, 3))
    return JobOffer(slots, ("fast",) if chance.random() < 0.5 else ()) if slots else None
