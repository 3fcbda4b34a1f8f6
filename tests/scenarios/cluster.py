"""A cluster as a scenario drives it: real cores, a log in memory, nothing left to chance.

It carries out effects as `peer/life.py` does for a real peer, but only when it is told to.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import assert_never

import msgspec
from msgspec.structs import replace

from remuda.errors import Collected
from remuda.log.memory import MemoryLog
from remuda.log.port import Origin
from remuda.log.record import Record
from remuda.ownership.contract import StartUnit, StopUnit
from remuda.peer.core import PeerCore, Timing
from remuda.peer.effects import (
    Effect,
    Finish,
    Propose,
    StartWork,
    StopWork,
    Unwatch,
    Watch,
    WriteOrigin,
)
from remuda.peer.job_contract import SealJob, StartJob, StopJob
from remuda.replica.commands import AnyCommand, Gc
from remuda.replica.entry import entry_of, record_of
from remuda.replica.fold import Played, play
from remuda.replica.invariants import check
from remuda.replica.state import PeerId, PeerInfo, Replica, decode_replica, encode_replica
from remuda.testing.zookeeper import SimZooKeeper
from tests.scenarios.peer import NoChance, ScenarioPeer

TIMING = Timing(
    session_timeout_s=10.0,
    join_timeout_s=5.0,
    backoff_first_s=1.0,
    backoff_most_s=8.0,
    gc_entries=1_000_000,
)
_BEAT_S = TIMING.session_timeout_s / 4
_ROUNDS_MAX = 100


class Cluster:
    def __init__(self) -> None:
        self.now: float = 0.0
        self.timing = TIMING
        self.peers: dict[PeerId, ScenarioPeer] = {}
        self.log = MemoryLog()
        self.plays: list[Played] = []
        self.story: list[str] = []
        self._zookeeper = SimZooKeeper()
        self._numbers = itertools.count(1)
        self._timed = False

    @property
    def replica(self) -> Replica:
        """What the log amounts to, whatever anybody has heard of it."""
        return self.plays[-1].replica if self.plays else Replica()

    def peer(self, name: PeerId) -> ScenarioPeer:
        peer = self.peers.get(name)
        if peer is None or not peer.alive:
            raise ValueError(f"there is no peer {name} that lives")
        return peer

    # ── lives ────────────────────────────────────────────────────────────────────────────────

    def collect_at(self, entries: int) -> None:
        if self.peers:
            raise ValueError("the first peers have started already")
        self.timing = replace(self.timing, gc_entries=entries)

    def join(self, name: PeerId) -> None:
        if name in self.peers:
            raise ValueError(f"there was a {name} before, and an id is never used twice")
        info = PeerInfo("host", next(self._numbers))
        core = PeerCore(name, info, self.timing, NoChance(), self.now)
        peer = ScenarioPeer(core, self._zookeeper.open(name, self.now), self.now + _BEAT_S)
        self.peers[name] = peer
        if self.log.origin_now() is not None:
            self._take_origin(peer)
        self._do(peer, core.heartbeat_answered(self.now, self.now))

    def leave(self, name: PeerId) -> None:
        peer = self.peer(name)
        self._do(peer, peer.core.leave(self.now))

    def kill(self, name: PeerId) -> None:
        peer = self.peer(name)
        peer.killed = True
        self._stop_pulse(peer)

    def silence(self, name: PeerId) -> None:
        self._stop_pulse(self.peer(name))

    def freeze(self, name: PeerId) -> None:
        self.peer(name).frozen = True

    def wake(self, name: PeerId) -> None:
        peer = self.peer(name)
        peer.frozen = False
        self._do(peer, peer.core.tick(self.now))
        self._beat(peer)

    def suspend(self, name: PeerId) -> None:
        peer = self.peer(name)
        peer.suspended = True
        self._do(peer, peer.core.suspended(self.now))

    def resume(self, name: PeerId) -> None:
        peer = self.peer(name)
        peer.suspended = False
        if peer.session.alive:
            self._do(peer, peer.core.resumed(self.now))
        self._beat(peer)

    def lose(self, name: PeerId) -> None:
        peer = self.peer(name)
        self._stop_pulse(peer)
        self._do(peer, peer.core.lost(self.now))

    # ── words on their way ───────────────────────────────────────────────────────────────────

    def deliver(self, *names: PeerId) -> None:
        """One round between these peers; between all of them, until there is nothing to say."""
        if names:
            self._round([self.peer(name) for name in names])
            return
        for _ in range(_ROUNDS_MAX):
            if not self._round(list(self.peers.values())):
                return
        raise AssertionError(f"the peers still talk after {_ROUNDS_MAX} rounds")

    def _round(self, peers: list[ScenarioPeer]) -> bool:
        spoke = [self._speak(peer) for peer in peers]
        heard = [self._hear(peer) for peer in peers]
        return any(spoke) or any(heard)

    def _speak(self, peer: ScenarioPeer) -> bool:
        if not peer.reachable or not peer.proposals:
            return False
        records, peer.proposals = peer.proposals, []
        for record in records:
            self._append(record)
        return True

    def _hear(self, peer: ScenarioPeer) -> bool:
        heard = False
        while peer.reachable and peer.stopped_pulses:
            gone = peer.stopped_pulses.pop(0)
            self._tell(f"{peer.me} sees that {gone} has no pulse")
            self._do(peer, peer.core.pulse_gone(gone, self.now))
            heard = True
        while peer.reachable and peer.next_position < self.log.end_now():
            self._play_next(peer)
            heard = True
        return heard

    def _play_next(self, peer: ScenarioPeer) -> None:
        try:
            (placed,) = self.log.read_now(peer.next_position, 1)
        except Collected:
            self._take_origin(peer)
            return
        peer.next_position += 1
        (played,), effects = peer.core.play([entry_of(placed)], self.now)
        assert played == self.plays[placed.position], f"{peer.me} has a replica of its own"
        self._do(peer, effects)

    def _take_origin(self, peer: ScenarioPeer) -> None:
        origin = self.log.origin_now()
        assert origin is not None
        peer.next_position = origin.position + 1
        self._tell(f"{peer.me} takes the origin, which is that of entry {origin.position}")
        self._do(peer, peer.core.take_origin(decode_replica(origin.state), self.now))

    # ── the log ──────────────────────────────────────────────────────────────────────────────

    def collect(self) -> None:
        """As an operator would; whoever listens has heard of it when the entries go."""
        self._append(self._record(Gc(), "operator"))
        for peer in self.peers.values():
            self._hear(peer)
        self._write_origin("the operator", self.replica)

    def _append(self, record: Record) -> None:
        position = self.log.append_now(record)
        (placed,) = self.log.read_now(position, 1)
        played = play(self.replica, entry_of(placed))
        check(played.replica)
        self.plays.append(played)
        self.story.append(entry_line(played))

    def _write_origin(self, who: str, replica: Replica) -> None:
        self.log.set_origin_now(Origin(replica.position, encode_replica(replica)))
        count = self.log.trim_now()
        self._tell(f"{who} writes the origin of entry {replica.position} and trims {count} entries")

    def _record(self, command: AnyCommand, by: str) -> Record:
        number = next(self._numbers)
        return record_of(command, entry_id=f"e{number}", by=by, at_ms=round(self.now * 1000))

    # ── time ─────────────────────────────────────────────────────────────────────────────────

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        self._timed = True
        while True:
            due = min(self._due(), key=lambda due: due[0], default=None)
            if due is None or due[0] > end:
                break
            self.now, act = due
            act()
        self._timed = False
        self.now = end

    def _due(self) -> Iterator[tuple[float, Callable[[], None]]]:
        """Everything that time will bring: of what is due at once, the first here comes first."""
        for peer in self.peers.values():
            if peer.running:
                yield peer.core.deadline(self.now), lambda peer=peer: self._tick(peer)
            if peer.reachable:
                yield peer.beat_at, lambda peer=peer: self._beat(peer)
            if peer.session.alive:
                expiry = peer.session.touched_at + self.timing.session_timeout_s
                yield expiry, lambda peer=peer: self._expire(peer)

    def _tick(self, peer: ScenarioPeer) -> None:
        self._do(peer, peer.core.tick(self.now))

    def _beat(self, peer: ScenarioPeer) -> None:
        """A heartbeat, answered at once: a pulse that is gone is a session that is lost."""
        if not peer.reachable:
            return
        if not peer.session.alive:
            self._do(peer, peer.core.lost(self.now))
            return
        peer.session.touched_at = self.now
        peer.beat_at = self.now + _BEAT_S
        self._do(peer, peer.core.heartbeat_answered(self.now, self.now))

    def _expire(self, peer: ScenarioPeer) -> None:
        self._tell(f"the session of {peer.me} expires")
        self._stop_pulse(peer)

    def _stop_pulse(self, peer: ScenarioPeer) -> None:
        if peer.session.alive:
            self._zookeeper.close(peer.session)

    # ── effects ──────────────────────────────────────────────────────────────────────────────

    def _do(self, peer: ScenarioPeer, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Propose(command):
                    self._tell(f"{peer.me} proposes {text_of(command)}")
                    peer.proposals.append(self._record(command, peer.me))
                case Watch(other):
                    self._tell(f"{peer.me} watches {other}")
                    self._watch(peer, other)
                case Unwatch(other):
                    self._tell(f"{peer.me} need not watch {other} any more")
                    self._zookeeper.unwatch(peer.me, other)
                    peer.stopped_pulses = [gone for gone in peer.stopped_pulses if gone != other]
                case StartWork():
                    self._tell(f"{peer.me} may work")
                case StopWork(reason):
                    self._tell(f"{peer.me} stops work: {reason}")
                case WriteOrigin(replica):
                    self._write_origin(peer.me, replica)
                case Finish(ending):
                    self._tell(f"{peer.me} has ended its life: {ending.value}")
                    peer.proposals.clear()
                    self._stop_pulse(peer)
                case StartUnit() | StopUnit() | StartJob() | SealJob() | StopJob():
                    raise AssertionError(f"{peer.me} serves nothing, and is to do {effect}")
                case _:
                    assert_never(effect)

    def _watch(self, peer: ScenarioPeer, other: PeerId) -> None:
        self._zookeeper.watch(peer.me, other, lambda: peer.stopped_pulses.append(other))

    def _tell(self, what: str) -> None:
        at = f"at {self.now:g} s, " if self._timed else ""
        self.story.append(f"    {at}{what}")


def text_of(command: AnyCommand) -> str:
    fields = msgspec.to_builtins(command)
    subject = fields.get("peer") or fields.get("joiner")
    return f"{fields['type']} {subject}" if subject else fields["type"]


def entry_line(played: Played) -> str:
    entry = played.entry
    outcome = "; ".join(map(str, played.facts))
    if played.rejected is not None:
        outcome = f"rejected: {played.rejected}"
    return f"[{entry.position}] {text_of(entry.command)}, by {entry.by}: {outcome}"
