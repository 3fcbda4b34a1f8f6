"""What one member does about one pool: a state machine without I/O.

It is shown the pool as the replica has it, and is told when units have started and stopped. It
answers with units to start and to stop, and with commands for the log. Like the rest of a peer it
is asked anew after every event, so nothing depends on having seen every entry.

State: for each unit that runs here or is about to, its epoch and phase; which units are being
given up; which proposals are under way.

Invariants:
- A unit runs here only under an epoch that the replica gave this member, by a claim or an offer.
- In an exclusive pool a release is proposed only after the unit has stopped here, and a unit is
  never started again under an epoch whose release was proposed. So whoever claims it next starts
  it after we have stopped.
- In an overlapping pool a unit that is handed over stops here only after the other has said that
  it runs there.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import TypeVar

from msgspec import Struct

from remuda.ownership.contract import Membership, StartUnit, StopUnit, UnitEffect
from remuda.ownership.pace import Pace
from remuda.ownership.plan import Move, Plan, plan
from remuda.replica.commands import (
    AcceptHandoff,
    AnyCommand,
    Claim,
    CompleteHandoff,
    JoinPool,
    OfferHandoff,
    Release,
    ReportLoad,
)
from remuda.replica.pool import Drain, PeerId, Pool, Unit, UnitId

_NEVER = float("inf")
_T = TypeVar("_T")
_BATCH_BYTES_MAX = 900_000


class Phase(enum.Enum):
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


class _Local(Struct):
    epoch: int
    phase: Phase


class Keeper:
    def __init__(self, me: PeerId, membership: Membership) -> None:
        self.me = me
        self.membership = membership
        self.units: dict[UnitId, _Local] = {}
        self._pool: Pool | None = None
        self._mine: dict[UnitId, Unit] = {}
        self._plan = Plan((), {})
        self._gifts: dict[UnitId, Move] = {}
        self._active: list[PeerId] = []
        self._settled_at = _NEVER
        self._rebalanced = -1
        self._rebalance_at = _NEVER
        self._drain: Drain | None = None
        self._pace: Pace | None = None
        self._paced = 0
        # Units on their way out, with the epoch under which we had them.
        self._giving: dict[UnitId, int] = {}
        self._failed: dict[UnitId, tuple[int, str]] = {}
        self._accepted_at: dict[UnitId, float] = {}
        self._loads: Mapping[UnitId, int] = {}
        # What was proposed for which unit and has not come back yet.
        self._asked: set[tuple[str, UnitId]] = set()

    # ── what happened ────────────────────────────────────────────────────────────────────────

    def started(self, unit: UnitId, epoch: int) -> None:
        local = self.units.get(unit)
        if local is not None and local.epoch == epoch and local.phase is Phase.STARTING:
            local.phase = Phase.RUNNING

    def failed(self, unit: UnitId, epoch: int, reason: str) -> None:
        """It could not be started, or broke for good: it does not run here any more."""
        if unit in self.units and self.units[unit].epoch == epoch:
            del self.units[unit]
            self._failed[unit] = (epoch, reason)

    def stopped(self, unit: UnitId, epoch: int) -> None:
        if unit in self.units and self.units[unit].epoch == epoch:
            del self.units[unit]

    def measured(self, loads: Mapping[UnitId, int]) -> None:
        self._loads = loads

    def answered(self, command: AnyCommand) -> None:
        """A proposal of ours came back from the log, or is known never to have reached it."""
        self._asked.difference_update(_keys(command))

    def forget_asked(self) -> None:
        """A gc has overtaken us: what was under way is in the replica, or will be judged there."""
        self._asked.clear()

    # ── what follows ─────────────────────────────────────────────────────────────────────────

    def settle(
        self,
        pool: Pool | None,
        now: float,
        *,
        may_run: bool,
        connected: bool,
        leaving: bool = False,
        time_is_up: bool = False,
    ) -> tuple[list[UnitEffect], list[AnyCommand]]:
        """Everything that follows from the pool, the units here, and the time.

        Without a connection nothing new is started or proposed; what runs may go on as long as
        the session surely lives, and in an overlapping pool until it is surely lost. A peer that
        is leaving joins no pool, and when its time is up, everything stops.
        """
        self._look(pool or Pool(), now)
        self._choose_gifts(now)
        may_go_on = may_run or (self.membership.overlap and not time_is_up)
        wanted = self._wanted(now) if may_go_on else {}
        effects: list[UnitEffect] = [*self._stop_unwanted(wanted)]
        if not connected:
            return effects, []
        if may_run:
            effects += self._start_wanted(wanted)
        if time_is_up or (leaving and self.me not in self._members()):
            return effects, []
        return effects, [*self._wants()]

    def stop_all(self, reason: str) -> list[UnitEffect]:
        """Whatever runs here must not: the session is lost."""
        return [*self._stop_unwanted({}, reason)]

    @property
    def is_idle(self) -> bool:
        """Nothing runs here, and nothing is ours."""
        return not self.units and not self._mine

    def deadline(self, now: float) -> float:
        times = [self._settled_at]
        if self.membership.balance == "load":
            times.append(self._rebalance_at)
        times += [at + (self.membership.handoff_s or 0) for at in self._accepted_at.values()]
        if self._pace is not None:
            times.append(self._pace.next_at(self._paced, now))
        return min((at for at in times if at > now), default=_NEVER)

    def _members(self) -> tuple[PeerId, ...]:
        return self._pool.members if self._pool is not None else ()

    # ── looking ──────────────────────────────────────────────────────────────────────────────

    def _look(self, pool: Pool, now: float) -> None:
        if pool is self._pool:
            return
        self._pool = pool
        self._plan = plan(pool, budget=max(1, len(pool.units) // 5))
        self._gifts = self._plan.gifts_of(self.me)
        self._mine = {
            name: unit
            for name, unit in pool.units.items()
            if unit.owner == self.me or (unit.handoff is not None and unit.handoff.to == self.me)
        }
        epochs = {name: self._epoch(unit) for name, unit in self._mine.items()}
        self._giving = {u: e for u, e in self._giving.items() if epochs.get(u) == e}
        self._failed = {u: f for u, f in self._failed.items() if epochs.get(u) == f[0]}
        self._note_members(pool, now)
        self._note_drain(pool, now)
        self._note_accepted(now)

    def _note_members(self, pool: Pool, now: float) -> None:
        """Owned units move when the members have been the same for a while, or on demand."""
        if pool.active != self._active:
            self._active = pool.active
            self._settled_at = self._rebalance_at = now + self.membership.settle_s
        if pool.rebalanced > self._rebalanced:
            self._rebalanced = pool.rebalanced
            self._settled_at = self._rebalance_at = now

    def _note_drain(self, pool: Pool, now: float) -> None:
        drain = pool.drains.get(self.me)
        if drain is None:
            self._pace = None
        elif drain != self._drain:
            leaving = sum(m.cause == "drain" for m in self._gifts.values())
            over_s = self.membership.drain_s if drain.over_ms is None else drain.over_ms / 1000
            # Nobody is there to take anything: no reason to take one's time.
            self._pace = Pace(now, leaving, over_s if pool.active else 0.0)
            self._paced = 0
        self._drain = drain

    def _note_accepted(self, now: float) -> None:
        self._accepted_at = {
            name: self._accepted_at.get(name, now)
            for name, unit in self._mine.items()
            if unit.owner == self.me and unit.handoff is not None and unit.handoff.accepted
        }

    def _epoch(self, unit: Unit) -> int:
        """Under which we have a unit, or are to have it."""
        if unit.owner == self.me or unit.handoff is None:
            return unit.epoch
        return unit.handoff.epoch

    # ── giving ───────────────────────────────────────────────────────────────────────────────

    def _choose_gifts(self, now: float) -> None:
        """Which of the units that the plan takes from us go now. Once chosen, they go."""
        gifts = self._gifts
        rebalances = self._rebalances(now)
        for name, move in gifts.items():
            if name in self._giving or not self._may_go(move, now, rebalances=rebalances):
                continue
            self._giving[name] = self._mine[name].epoch
            self._paced += move.cause == "drain"
        if self.membership.overlap:
            # Not offered, or the offer came to nothing, and the plan is another one by now.
            self._giving = {
                u: epoch
                for u, epoch in self._giving.items()
                if u in gifts or self._mine[u].handoff is not None
            }

    def _rebalances(self, now: float) -> bool:
        """Numbers are evened out as soon as the members have settled, loads once an interval."""
        if now < self._settled_at:
            return False
        if self.membership.balance == "load":
            if now < self._rebalance_at:
                return False
            self._rebalance_at = now + self.membership.rebalance_s
        return True

    def _may_go(self, move: Move, now: float, *, rebalances: bool) -> bool:
        if move.cause == "drain":
            return self._pace is None or self._pace.allows(self._paced, now)
        return rebalances or move.cause != "balance"

    # ── running ──────────────────────────────────────────────────────────────────────────────

    def _wanted(self, now: float) -> dict[UnitId, int]:
        return {
            name: self._epoch(unit)
            for name, unit in self._mine.items()
            if name not in self._failed and not self._must_stop(name, unit, now)
        }

    def _must_stop(self, name: UnitId, unit: Unit, now: float) -> bool:
        if unit.owner != self.me:
            return False
        if name in self._accepted_at:
            return now >= self._accepted_at[name] + (self.membership.handoff_s or 0)
        if name not in self._giving:
            return False
        return not self.membership.overlap or self._has_nowhere_to_go(name)

    def _has_nowhere_to_go(self, name: UnitId) -> bool:
        move = self._gifts.get(name)
        return move is not None and move.to is None

    def _stop_unwanted(
        self, wanted: Mapping[UnitId, int], reason: str = "it is not this peer's to run"
    ) -> Iterator[UnitEffect]:
        for name, local in self.units.items():
            if local.phase is not Phase.STOPPING and wanted.get(name) != local.epoch:
                local.phase = Phase.STOPPING
                yield StopUnit(self.membership.pool, name, local.epoch, reason)

    def _start_wanted(self, wanted: Mapping[UnitId, int]) -> Iterator[UnitEffect]:
        for name, epoch in wanted.items():
            if name not in self.units:
                self.units[name] = _Local(epoch, Phase.STARTING)
                yield StartUnit(self.membership.pool, name, epoch)

    # ── asking the log ───────────────────────────────────────────────────────────────────────

    def _wants(self) -> Iterator[AnyCommand]:
        name, me, pool = self.membership.pool, self.me, self._pool
        assert pool is not None
        if me not in pool.members:
            for _ in self._ask("join", {name: 0}):
                yield JoinPool(name, me, self.membership.balance, self.membership.overlap)
            return
        stopped = {u: unit for u, unit in self._mine.items() if u not in self.units}
        for claims in self._ask("claim", dict.fromkeys(self._claims(pool), 0)):
            yield Claim(name, me, tuple(claims))
        for given in self._ask("release", self._to_release(stopped)):
            yield Release(name, me, given)
        for unit, (epoch, reason) in self._failed.items():
            for given in self._ask("release", {unit: epoch}):
                yield Release(name, me, given, reason)
        for offers in self._ask("offer", self._to_offer()):
            yield OfferHandoff(name, me, offers)
        for accepts in self._ask("accept", self._to_accept()):
            yield AcceptHandoff(name, me, accepts)
        for completes in self._ask("complete", self._to_complete(stopped)):
            yield CompleteHandoff(name, me, completes)
        for loads in _batches(self._changed_loads()):
            yield ReportLoad(name, me, loads)

    def _claims(self, pool: Pool) -> tuple[UnitId, ...]:
        return () if self.me in pool.drains else self._plan.claims_of(self.me)

    def _to_release(self, stopped: Mapping[UnitId, Unit]) -> dict[UnitId, int]:
        return {
            u: epoch
            for u, epoch in self._giving.items()
            if u in stopped
            and stopped[u].handoff is None
            and (not self.membership.overlap or self._has_nowhere_to_go(u))
        }

    def _to_offer(self) -> dict[UnitId, PeerId]:
        if not self.membership.overlap:
            return {}
        return {
            u: move.to
            for u, move in self._gifts.items()
            if u in self._giving and move.to is not None
        }

    def _to_complete(self, stopped: Mapping[UnitId, Unit]) -> dict[UnitId, int]:
        return {u: unit.epoch for u, unit in stopped.items() if u in self._accepted_at}

    def _to_accept(self) -> dict[UnitId, int]:
        return {
            u: unit.handoff.epoch
            for u, unit in self._mine.items()
            if unit.handoff is not None
            and unit.handoff.to == self.me
            and not unit.handoff.accepted
            and (local := self.units.get(u)) is not None
            and (local.epoch, local.phase) == (unit.handoff.epoch, Phase.RUNNING)
        }

    def _changed_loads(self) -> dict[UnitId, int]:
        loads, self._loads = self._loads, {}
        return {
            u: load
            for u, load in sorted(loads.items())
            if u in self._mine and self._mine[u].owner == self.me and self._mine[u].load != load
        }

    def _ask(self, what: str, units: Mapping[UnitId, _T]) -> Iterator[dict[UnitId, _T]]:
        """Those of the units for which this has not been proposed already."""
        new = {u: value for u, value in units.items() if (what, u) not in self._asked}
        self._asked.update((what, u) for u in new)
        return _batches(new)


def _batches(units: Mapping[UnitId, _T]) -> Iterator[dict[UnitId, _T]]:
    """As many units at a time as surely fit into one entry of the log."""
    batch: dict[UnitId, _T] = {}
    size = 0
    for unit, value in units.items():
        # A letter takes six bytes of JSON at the most; beside the name stands an id or a number.
        size += 6 * len(unit) + 64
        if batch and size > _BATCH_BYTES_MAX:
            yield batch
            batch, size = {}, 6 * len(unit) + 64
        batch[unit] = value
    if batch:
        yield batch


_WHAT: dict[type[AnyCommand], str] = {
    Claim: "claim",
    Release: "release",
    OfferHandoff: "offer",
    AcceptHandoff: "accept",
    CompleteHandoff: "complete",
}


def _keys(command: AnyCommand) -> Iterator[tuple[str, UnitId]]:
    """What a proposal is remembered by while it is under way."""
    match command:
        case JoinPool(pool=pool):
            yield "join", pool
        case Claim() | Release() | OfferHandoff() | AcceptHandoff() | CompleteHandoff():
            for unit in command.units:
                yield _WHAT[type(command)], unit
        case _:
            return
