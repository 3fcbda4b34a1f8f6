"""What a peer decides, without any I/O.

Whoever runs it tells it what happened, and carries out the effects that it answers, in order.
Everything that it wants is a function of its state and asked anew after every event, so there is
no event whose loss would leave it stuck: see `_wants`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from remuda.ownership.contract import Membership, UnitChange, UnitFailed, UnitStarted, UnitStopped
from remuda.ownership.keeper import Keeper
from remuda.peer.backoff import Backoff, Chance
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
from remuda.peer.job_contract import JobChange, JobOffer
from remuda.peer.job_keeper import JobKeeper
from remuda.replica.command import Command
from remuda.replica.commands import (
    AbortJoin,
    AnyCommand,
    Drain,
    Gc,
    LeaveCluster,
    PrepareJoin,
)
from remuda.replica.entry import Entry
from remuda.replica.fold import Played, play, reactions
from remuda.replica.pool import Pool, UnitId
from remuda.replica.ring import busy, is_known, key_of, watches
from remuda.replica.state import PeerId, PeerInfo, Replica

_NEVER = float("inf")


class Timing(Struct, frozen=True):
    """How long a peer waits for things. `session_timeout_s` is what the server granted."""

    session_timeout_s: float
    join_timeout_s: float
    backoff_first_s: float
    backoff_most_s: float
    gc_entries: int
    drain_deadline_s: float = 60.0
    ack_timeout_s: float = 10.0

    @property
    def lease_s(self) -> float:
        """How long after a heartbeat was sent the session is surely alive, with time to stop."""
        return self.session_timeout_s * 0.8


class PeerCore:
    def __init__(
        self,
        me: PeerId,
        info: PeerInfo,
        timing: Timing,
        chance: Chance,
        now: float,
        memberships: Iterable[Membership] = (),
        job_offer: JobOffer | None = None,
    ) -> None:
        self.me = me
        self.keepers = {m.pool: Keeper(me, m) for m in memberships}
        self.jobs = JobKeeper(me, job_offer, timing.ack_timeout_s)
        self.replica = Replica()
        self.working = False
        self.finished = False
        self._info = info
        self._timing = timing
        self._backoff = Backoff(timing.backoff_first_s, timing.backoff_most_s, chance)
        self._connected = True
        self._leaving = False
        self._turned_away = False
        self._in_flight: set[AnyCommand] = set()
        self.watching: set[PeerId] = set()
        self._gone: set[PeerId] = set()
        self._lease_until = now
        self._join_at = now
        self._abort_at = _NEVER
        self._leave_by = _NEVER

    # ── what happened ────────────────────────────────────────────────────────────────────────

    def play(self, entries: Iterable[Entry], now: float) -> tuple[list[Played], list[Effect]]:
        """The next entries of the log have come.

        What follows is settled once for all of them: what a peer wants depends on how things
        stand, not on how they came to.
        """
        all_played: list[Played] = []
        effects: list[Effect] = []
        for entry in entries:
            if self.finished:
                break
            old, played = self.replica, play(self.replica, entry)
            self.replica = played.replica
            all_played.append(played)
            if entry.by == self.me:
                self._note_answer(entry.command)
                if isinstance(entry.command, Gc):
                    effects.append(WriteOrigin(self.replica))
            effects += self._note_standing(old, played, now)
        return all_played, effects + self._settle(now)

    def take_origin(self, replica: Replica, now: float) -> list[Effect]:
        """The log begins with this replica, or goes on from it, as a gc has overtaken us.

        Our own entries among those that were skipped are in it; what is still on its way to the
        log will be judged there, so nothing is in flight that we would need to wait for.
        """
        old, self.replica = self.replica, replica
        self._in_flight.clear()
        for keeper in self.keepers.values():
            keeper.forget_asked()
        return self._note_standing(old, None, now) + self._settle(now)

    def pulse_gone(self, peer: PeerId, now: float) -> list[Effect]:
        """A watched pulse has stopped, or was not there to be watched."""
        self.watching.discard(peer)
        self._gone.add(peer)
        return self._settle(now)

    def heartbeat_answered(self, sent_at: float, now: float) -> list[Effect]:
        self._lease_until = max(self._lease_until, sent_at + self._timing.lease_s)
        return self._settle(now)

    def not_written(self, command: AnyCommand, now: float) -> list[Effect]:
        """A proposal is known not to have reached the log."""
        self._note_answer(command)
        return self._settle(now)

    def suspended(self, now: float) -> list[Effect]:
        self._connected = False
        return self._settle(now)

    def resumed(self, now: float) -> list[Effect]:
        self._connected = True
        return self._settle(now)

    def lost(self, now: float) -> list[Effect]:
        return self._finish(Ending.LOST, "the ZooKeeper session is lost")

    def leave(self, now: float) -> list[Effect]:
        """Asked to go: units are drained first, and once the log knows, this life finishes."""
        if not self._leaving:
            self._leaving = True
            self._leave_by = now + self._timing.drain_deadline_s
        return self._settle(now)

    def units_changed(self, changes: Iterable[UnitChange], now: float) -> list[Effect]:
        """Units have started, stopped, or failed for good: many at once, where they do."""
        for change in changes:
            keeper = self.keepers[change.pool]
            match change:
                case UnitStarted():
                    keeper.started(change.unit, change.epoch)
                case UnitStopped():
                    keeper.stopped(change.unit, change.epoch)
                case UnitFailed():
                    keeper.failed(change.unit, change.epoch, change.reason)
        return self._settle(now)

    def jobs_changed(self, changes: Iterable[JobChange], now: float) -> list[Effect]:
        """Drivers have started, staged, sealed, failed or stopped."""
        for change in changes:
            self.jobs.changed(change)
        return self._settle(now)

    def measured(self, pool: str, loads: Mapping[UnitId, int], now: float) -> list[Effect]:
        """The loads of units that run here."""
        self.keepers[pool].measured(loads)
        return self._settle(now)

    def tick(self, now: float) -> list[Effect]:
        """`deadline` has come."""
        return self._settle(now)

    # ── what it can be asked ─────────────────────────────────────────────────────────────────

    @property
    def is_member(self) -> bool:
        return self.me in self.replica.members

    def deadline(self, now: float) -> float:
        """When `tick` is due, if nothing happens before. What was due by now has been done."""
        waits = [self._lease_until, self._abort_at, self._join_at, self._leave_by]
        waits += [keeper.deadline(now) for keeper in self.keepers.values()]
        waits.append(self.jobs.deadline(now))
        return min((at for at in waits if at > now), default=_NEVER)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _note_standing(self, old: Replica, played: Played | None, now: float) -> list[Effect]:
        """What it means for us that we were, or were not, known before and are, or are not, now."""
        was, known = is_known(old, self.me), is_known(self.replica, self.me)
        if known:
            self._turned_away = False
        if known and not self.is_member:
            if key_of(self.replica.prepared, self.me) is None:
                self._abort_at = _NEVER
            elif not was:
                self._abort_at = now + self._timing.join_timeout_s
            return []
        self._abort_at = _NEVER
        if self.is_member:
            self._backoff.reset()
        elif was and self.me in old.members and not self._leaving:
            return self._finish(Ending.LOST, "the cluster has declared this peer gone")
        elif played is not None and self._gave_up(played.entry):
            self._turned_away = True
            self._join_at = now + self._backoff.next_s()
        elif was:
            # Stranded by a dying observer: no fault of ours, so ask again at once.
            self._join_at = now
        return []

    def _gave_up(self, entry: Entry) -> bool:
        """Turned away, or tired of waiting: the observers are busy either way and need time."""
        return entry.by == self.me and isinstance(entry.command, PrepareJoin | AbortJoin)

    def _settle(self, now: float) -> list[Effect]:
        """Everything that follows from the state as it stands."""
        if self.finished:
            return []
        effects = self._watch_whom_the_replica_says()
        effects += self._work_only_under_lease(now)
        effects += self._keep_units(now)
        effects += self._keep_jobs(now)
        if self._connected:
            for command in self._wants(now):
                if command not in self._in_flight:
                    effects.append(self._propose(command))
        if self._leaving and not is_known(self.replica, self.me) and not self._in_flight:
            effects += self._finish(Ending.LEFT, "this peer leaves")
        return effects

    def _wants(self, now: float) -> Iterator[AnyCommand]:
        """What the log ought to hear from us, as things stand."""
        replica, me = self.replica, self.me
        if self._leaving:
            if self._drains(now):
                if any(_keeps_units(pool, me) for pool in replica.pools.values()):
                    yield Drain(me, shutdown=True)
            elif is_known(replica, me) and not self._runs_anything():
                # From here on nothing may run, even if an entry that comes late would give us more.
                self._leave_by = now
                yield LeaveCluster(me)
            return
        for peer in sorted(self._gone):
            yield LeaveCluster(peer)
        if not is_known(replica, me):
            if now >= self._join_at:
                yield PrepareJoin(me, self._info)
            return
        if now >= self._abort_at:
            yield AbortJoin(me)
        for command in reactions(replica, me):
            if not self._concerns_gone(command):
                yield command
        if self._collects() and replica.position - replica.collected >= self._timing.gc_entries:
            yield Gc()

    def _concerns_gone(self, command: Command) -> bool:
        return getattr(command, "joiner", None) in self._gone

    def _collects(self) -> bool:
        """One member, the same for all, looks after the length of the log."""
        return self.is_member and min(self.replica.members) == self.me

    def _watch_whom_the_replica_says(self) -> list[Effect]:
        wanted = watches(self.replica, self.me)
        if self._turned_away:
            wanted |= busy(self.replica)
        self._gone = {peer for peer in self._gone if is_known(self.replica, peer)}
        stop = sorted(self.watching - wanted)
        start = sorted(wanted - self.watching - self._gone)
        self.watching = self.watching - set(stop) | set(start)
        return [*map(Unwatch, stop), *map(Watch, start)]

    def _work_only_under_lease(self, now: float) -> list[Effect]:
        leaves = self._leaving and not self._drains(now)
        if self.working and now >= self._lease_until:
            return self._stop_work("the ZooKeeper session may expire")
        if self.working and leaves:
            return self._stop_work("this peer leaves")
        if not self.working and self.is_member and now < self._lease_until and not leaves:
            self.working = True
            return [StartWork()]
        return []

    def _keep_units(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        if not self.is_member:
            return effects
        time_is_up = self._leaving and not self._drains(now)
        for name, keeper in self.keepers.items():
            units, commands = keeper.settle(
                self.replica.pools.get(name),
                now,
                may_run=self.working,
                connected=self._connected,
                leaving=self._leaving,
                time_is_up=time_is_up,
            )
            effects += units
            effects += map(self._propose, commands)
        return effects

    def _keep_jobs(self, now: float) -> list[Effect]:
        if not self.is_member:
            return []
        jobs, commands = self.jobs.settle(
            self.replica,
            now,
            may_run=self.working,
            connected=self._connected,
            leaving=self._leaving,
            time_is_up=self._leaving and not self._drains(now),
        )
        new = [command for command in commands if command not in self._in_flight]
        return [*jobs, *map(self._propose, new)]

    def _drains(self, now: float) -> bool:
        """Leaving, with units and jobs to give up first and time left for it."""
        keepers = (*self.keepers.values(), self.jobs)
        return now < self._leave_by and not all(keeper.is_idle for keeper in keepers)

    def _runs_anything(self) -> bool:
        return bool(self.jobs.drivers) or any(keeper.units for keeper in self.keepers.values())

    def _propose(self, command: AnyCommand) -> Propose:
        self._in_flight.add(command)
        return Propose(command)

    def _note_answer(self, command: AnyCommand) -> None:
        self._in_flight.discard(command)
        for keeper in self.keepers.values():
            keeper.answered(command)

    def _stop_work(self, reason: str) -> list[Effect]:
        if not self.working:
            return []
        self.working = False
        return [StopWork(reason)]

    def _finish(self, ending: Ending, reason: str) -> list[Effect]:
        if self.finished:
            return []
        effects = self._stop_work(reason)
        for keeper in self.keepers.values():
            effects += keeper.stop_all(reason)
        effects += self.jobs.stop_all(reason)
        self.finished = True
        return [*effects, Finish(ending)]


def _keeps_units(pool: Pool, peer: PeerId) -> bool:
    """Whether a member that leaves has yet to tell a pool so."""
    drain = pool.drains.get(peer)
    return peer in pool.members and (drain is None or not drain.shutdown)
