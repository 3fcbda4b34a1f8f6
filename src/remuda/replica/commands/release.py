"""`release`: an owner has stopped units and gives them up, or could not start them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from remuda.replica.command import Stamp
from remuda.replica.commands.on_units import OnUnits
from remuda.replica.facts import Fact, UnitsReleased
from remuda.replica.pool import Pool, Unit, UnitId, released
from remuda.replica.state import Replica


class Release(OnUnits, frozen=True, tag="release"):
    """By the owner, whose handoff then counts at once; or by whom a unit was offered to, who does
    not take it. With a `failure`, the peer is not given the unit again.

    `units` maps each to the epoch that is given up: a release that comes late must not take away
    what the peer has claimed anew since.
    """

    units: Mapping[UnitId, int]
    failure: str | None = None

    refusal: ClassVar[str] = "none of these units is the peer's to release"

    def names(self) -> Iterable[UnitId]:
        return self.units

    def after(self, pool: Pool, name: UnitId, unit: Unit, stamp: Stamp) -> Unit | None:
        given_up = self._given_up(unit, self.units[name], stamp)
        if given_up is None or self.failure is None:
            return given_up
        return replace(given_up, failures={**unit.failures, self.peer: self.failure})

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [UnitsReleased(self.pool, self.peer, self.changed(old, new), self.failure)]

    def _given_up(self, unit: Unit, epoch: int, stamp: Stamp) -> Unit | None:
        if (unit.owner, unit.epoch) == (self.peer, epoch):
            return released(unit, stamp.position)
        handoff = unit.handoff
        if handoff is not None and (handoff.to, handoff.epoch) == (self.peer, epoch):
            return replace(unit, handoff=None)
        return None
