"""What the commands share that a member proposes for several units of a pool at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, cast

from remuda.replica.command import Command, Rejected, Stamp, with_pool
from remuda.replica.pool import Pool, Unit, UnitId, with_units
from remuda.replica.state import PeerId, Replica


class OnUnits(Command, frozen=True):
    """Does what it can: of the units that it names, those for which it is still right. It is
    rejected if that is none of them."""

    pool: str
    peer: PeerId

    refusal: ClassVar[str] = "none of these units is as it would have to be"

    def after(self, pool: Pool, name: UnitId, unit: Unit, stamp: Stamp) -> Unit | None:
        """The unit after the command, or None if it is not for it."""
        raise NotImplementedError

    def names(self) -> Iterable[UnitId]:
        """The units that it names."""
        raise NotImplementedError

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        pool = replica.pools.get(self.pool)
        if pool is None:
            return Rejected(f"there is no pool {self.pool}")
        changed: dict[UnitId, Unit] = {}
        for name in self.names():
            unit = pool.units.get(name)
            after = None if unit is None else self.after(pool, name, unit, stamp)
            if after is not None:
                changed[name] = after
        if not changed:
            return Rejected(self.refusal)
        return with_pool(replica, self.pool, with_units(pool, changed))

    def changed(self, old: Replica, new: Replica) -> tuple[UnitId, ...]:
        """The units for which it was right."""
        before, after = old.pools[self.pool].units, new.pools[self.pool].units
        names = dict.fromkeys(self.names())
        return tuple(n for n in names if n in before and after.get(n) != before[n])

    def __hash__(self) -> int:
        """A proposal under way is kept in a set; a mapping has no hash of its own."""
        values = (getattr(self, name) for name in self.__struct_fields__)
        return hash(tuple(map(_hashable, values)))


def _hashable(value: object) -> object:
    if isinstance(value, Mapping):
        return tuple(cast("Mapping[object, object]", value).items())
    return value
