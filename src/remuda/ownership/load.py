"""Balance by measured load.

`even` is what each active member would carry if load were a liquid. A member gives a unit away
while it carries more than even by more than that unit's load, so it never ends up below even; and
the one who carries least takes it. That is also the hysteresis: a member that is above even by
less than its smallest unit keeps everything.
"""

from __future__ import annotations

from remuda.ownership.placement import Placement
from remuda.replica.pool import PeerId, UnitId


def even_load(loads: list[int], active: int) -> int:
    """Rounded down: a whole number, like everything in a replica."""
    return sum(loads) // active if active else 0


def plan_by_load(placement: Placement, budget: int | None) -> None:
    if not placement.active:
        return
    for name in placement.queue():
        choices = placement.choices(name)
        if choices:
            placement.place(name, min(choices, key=lambda p: _burden(placement, p)))
    _even_out(placement, budget)


def _even_out(placement: Placement, budget: int | None) -> None:
    loads = {peer: placement.load(peer) for peer in placement.active}
    moved = 0
    while budget is None or moved < budget:
        gift = _next_gift(placement, loads)
        if gift is None:
            return
        name, source, to = gift
        even = even_load(list(loads.values()), len(loads))
        placement.move(name, source, to, f"{source} carries {loads[source]}, even is {even}")
        loads[source] -= placement.unit(name).load
        loads[to] += placement.unit(name).load
        moved += 1


def _next_gift(
    placement: Placement, loads: dict[PeerId, int]
) -> tuple[UnitId, PeerId, PeerId] | None:
    """The largest unit that the most burdened can give without falling below even.

    Everything is compared times the number of members, as `even` may not be a whole number.
    """
    members, total = len(loads), sum(loads.values())
    for source in sorted(loads, key=lambda p: (-loads[p], p)):
        surplus = loads[source] * members - total
        if surplus <= 0:
            return None
        fitting = [
            name
            for name in placement.movable(source)
            if 0 < placement.unit(name).load * members < surplus
        ]
        for name in sorted(fitting, key=lambda n: (-placement.unit(n).load, n)):
            takers = [p for p in placement.choices(name) if loads[p] * members < total]
            if takers:
                return name, source, min(takers, key=lambda p: (loads[p], p))
    return None


def _burden(placement: Placement, peer: PeerId) -> tuple[int, int, str]:
    return placement.load(peer), placement.count(peer), peer
