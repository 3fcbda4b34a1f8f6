"""Where every unit of a pool is, and where it would go: what the strategies work on."""

from __future__ import annotations

from typing import Literal, TypeAlias

from remuda.replica.pool import PeerId, Pool, Unit, UnitId

Cause: TypeAlias = Literal["free", "removed", "peg", "drain", "balance"]


class Placement:
    """Starts as things are; `evict` takes out what cannot stay; a strategy places the rest.

    A unit that is being handed over counts as where it is going.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.active = pool.active
        self.units: dict[PeerId, set[UnitId]] = {peer: set() for peer in pool.members}
        self.homeless: dict[UnitId, None] = {}
        self.reasons: dict[UnitId, str] = {}
        self.causes: dict[UnitId, Cause] = {}
        self._now: dict[UnitId, PeerId | None] = {}
        for name, unit in sorted(pool.units.items()):
            place = unit.handoff.to if unit.handoff is not None else unit.owner
            self._now[name] = place
            if place is None:
                self.homeless[name] = None
                self._note(name, "free", "nobody owns it")
            else:
                self.units[place].add(name)

    # ── changing ─────────────────────────────────────────────────────────────────────────────

    def evict(self) -> None:
        """Out of where they may not stay: pegged elsewhere, or their owner drains."""
        for name, unit in sorted(self.pool.units.items()):
            place = self._now[name]
            if place is None:
                continue
            if unit.removed:
                self._evict(name, place, "removed", "it was removed")
            elif unit.peg is not None and not self.pool.is_peg_of(unit.peg, place):
                self._evict(name, place, "peg", f"it is pegged to {unit.peg}")
        for peer, drain in sorted(self.pool.drains.items()):
            movable = [
                name
                for name in sorted(self.units[peer])
                if drain.shutdown or self.unit(name).peg is None
            ]
            kept = len(self.units[peer]) - len(movable)
            for name in movable[max(0, drain.to - kept) :] if not drain.shutdown else movable:
                self._evict(name, peer, "drain", f"{peer} drains")

    def queue(self) -> list[UnitId]:
        """The homeless in the order in which they became so: whoever was promised one before
        others came along is promised the same one still, and need not give it back."""
        return sorted(self.homeless, key=lambda name: (self.unit(name).epoch, name))

    def place(self, name: UnitId, peer: PeerId) -> None:
        del self.homeless[name]
        self.units[peer].add(name)

    def move(self, name: UnitId, source: PeerId, to: PeerId, reason: str) -> None:
        self.units[source].remove(name)
        self.units[to].add(name)
        self._note(name, "balance", reason)

    # ── asking ───────────────────────────────────────────────────────────────────────────────

    def unit(self, name: UnitId) -> Unit:
        return self.pool.units[name]

    def count(self, peer: PeerId) -> int:
        return len(self.units[peer])

    def load(self, peer: PeerId) -> int:
        return sum(self.unit(name).load for name in self.units[peer])

    def choices(self, name: UnitId) -> list[PeerId]:
        """Who may be given a unit, sorted."""
        unit = self.unit(name)
        if unit.peg is None and not unit.failures and not unit.removed:
            # By far the most are like this, and pools are large.
            return self.active
        return [peer for peer in self.active if self.pool.may_own(peer, unit)]

    def movable(self, peer: PeerId) -> list[UnitId]:
        """What a peer could give away for the sake of balance: neither pegged nor on its way."""
        return [
            name
            for name in sorted(self.units[peer])
            if self.unit(name).peg is None and self.unit(name).handoff is None
        ]

    def changes(self) -> dict[UnitId, tuple[PeerId | None, PeerId | None]]:
        """What is not as it was: from whom, to whom. A unit on its way is left to arrive."""
        there = {name: peer for peer, names in self.units.items() for name in names}
        return {
            name: (self._now[name], there.get(name))
            for name, unit in self.pool.units.items()
            if there.get(name) != self._now[name] and unit.handoff is None
        }

    def waiting(self) -> dict[UnitId, str]:
        return {
            name: self._why_waiting(name)
            for name in sorted(self.homeless)
            if not self.unit(name).removed
        }

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _evict(self, name: UnitId, peer: PeerId, cause: Cause, reason: str) -> None:
        self.units[peer].remove(name)
        self.homeless[name] = None
        self._note(name, cause, reason)

    def _note(self, name: UnitId, cause: Cause, reason: str) -> None:
        """The first cause stands: a unit that has to leave a draining peer leaves because of it."""
        self.causes.setdefault(name, cause)
        self.reasons.setdefault(name, reason)

    def _why_waiting(self, name: UnitId) -> str:
        unit, pool = self.unit(name), self.pool
        if unit.peg is not None and not any(pool.is_peg_of(unit.peg, p) for p in self.active):
            return f"it is pegged to {unit.peg}, which is not among the active members"
        if unit.failures:
            peer, reason = max(unit.failures.items())
            return f"{peer} could not start it: {reason}"
        return "the pool has no active member"
