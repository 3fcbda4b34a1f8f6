"""Balance by number of units: members differ by one at most, and as few units move as can."""

from __future__ import annotations

from remuda.ownership.placement import Placement
from remuda.replica.pool import PeerId


def fair_share(units: int, active: int) -> int:
    """The most that a member has when a pool is balanced: with 0 or 1 units, that number."""
    return -(-units // active) if active else 0


def plan_by_count(placement: Placement) -> None:
    if not placement.active:
        return
    _settle_pegged(placement)
    quotas = _quotas(placement)
    # Homeless units first go where there is room; then those with too many give.
    for name in placement.queue():
        choices = placement.choices(name)
        if choices:
            placement.place(name, min(choices, key=lambda p: _fullness(placement, quotas, p)))
    # Once is enough, unless failures kept a unit from the only room that was left: then what was
    # placed makes other room. Every move makes two members more alike, so this ends.
    while _even_out(placement, _quotas(placement)):
        pass


def _even_out(placement: Placement, quotas: dict[PeerId, int]) -> bool:
    """Whether anything moved."""
    moved = False
    for source in placement.active:
        # What came last goes first: after a restart that is what the member had before.
        newest_first = sorted(
            placement.movable(source), key=lambda n: (-placement.unit(n).epoch, n)
        )
        for name in newest_first:
            count = placement.count(source)
            if count <= quotas[source]:
                break
            room = [
                p
                for p in placement.choices(name)
                if placement.count(p) < quotas[p] and placement.count(p) + 1 < count
            ]
            if room:
                to = min(room, key=lambda p: _fullness(placement, quotas, p))
                share = fair_share(len(placement.pool.units), len(placement.active))
                placement.move(name, source, to, f"{source} has {count}, a fair share is {share}")
                moved = True
    return moved


def _settle_pegged(placement: Placement) -> None:
    for name in placement.queue():
        if placement.unit(name).peg is not None and (choices := placement.choices(name)):
            placement.place(name, choices[0])


def _fullness(placement: Placement, quotas: dict[PeerId, int], peer: PeerId) -> tuple[int, str]:
    return placement.count(peer) - quotas[peer], peer


def _quotas(placement: Placement) -> dict[PeerId, int]:
    """How many units each active member should have: as even as pegs allow.

    Where not all can have the same, some have one more: first those who have too many anyway, by
    name. Nobody joins or leaves that group while a plan is carried out piece by piece, so nobody
    who has given its part is asked for more.
    """
    fixed = {p: placement.count(p) - len(placement.movable(p)) for p in placement.active}
    free = sum(len(placement.movable(p)) for p in placement.active) + sum(
        bool(placement.choices(name)) for name in placement.homeless
    )
    level = _level(list(fixed.values()), free)
    order = sorted(placement.active, key=lambda p: (placement.count(p) <= level, p))
    quotas = {p: max(fixed[p], level) for p in placement.active}
    left = free - sum(quotas[p] - fixed[p] for p in placement.active)
    for peer in order:
        if left <= 0:
            break
        if quotas[peer] == level:
            quotas[peer] += 1
            left -= 1
    return quotas


def _level(fixed: list[int], free: int) -> int:
    """How high water stands that is poured over steps of these heights, in whole units."""
    level, heights = 0, sorted(fixed)
    low, high = 0, (heights[-1] if heights else 0) + free
    while low <= high:
        middle = (low + high) // 2
        if sum(max(0, middle - height) for height in heights) <= free:
            level, low = middle, middle + 1
        else:
            high = middle - 1
    return level
