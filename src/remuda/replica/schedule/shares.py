"""Whole numbers split, evenly or by weight, between a floor and a cap for each part.

Exact: no floats. What the caps do not let anybody take is left over, so the sum may be less than
the total; it never is when the caps leave room. The floors must fit into the total.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def evenly(total: int, floors: Sequence[int], caps: Sequence[int]) -> list[int]:
    """The floors first, and then one at a time to whoever has least, the first on a tie."""
    low, high = 0, total
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_levels(middle, floors, caps)) <= total:
            low = middle
        else:
            high = middle - 1
    parts = _levels(low, floors, caps)
    left = total - sum(parts)
    for number, cap in enumerate(caps):
        if left and parts[number] == low and cap > low:
            parts[number] += 1
            left -= 1
    return parts


def by_weight(
    total: int, weights: Sequence[int], floors: Sequence[int], caps: Sequence[int]
) -> list[int]:
    """Each part's quota is in proportion to its weight; one whose quota is beyond its cap or
    below its floor has that instead, and the others share the rest by their weights. Quotas are
    rounded down, and what is left goes to the largest remainders, to the first on a tie.

    Without weight a part has its floor, and shares evenly what those with weight cannot take.
    """
    quotas = _quotas(total, weights, floors, caps)
    parts = [int(quota) for quota in quotas]
    left = int(sum(quotas)) - sum(parts)
    by_remainder = sorted(range(len(parts)), key=lambda n: (parts[n] - quotas[n], n))
    for number in by_remainder[:left]:
        parts[number] += 1
    if sum(parts) < total:
        closed = [cap if not weight else part for cap, weight, part in _zip(caps, weights, parts)]
        return evenly(total, parts, closed)
    return parts


def _levels(level: int, floors: Sequence[int], caps: Sequence[int]) -> list[int]:
    return [max(floor, min(level, cap)) for floor, cap in zip(floors, caps, strict=True)]


def _zip(*columns: Sequence[int]) -> list[tuple[int, ...]]:
    return list(zip(*columns, strict=True))


def _quotas(
    total: int, weights: Sequence[int], floors: Sequence[int], caps: Sequence[int]
) -> list[Fraction]:
    """In proportion, within bounds. Bounds are enforced in rounds: those on the side that is
    violated by more in all are fixed, as fixing them can only bring the others nearer to it."""
    quotas = [Fraction(floor) for floor in floors]
    unbound: list[int] = [number for number, weight in enumerate(weights) if weight]
    while unbound:
        rest = total - sum(quotas) + sum(quotas[n] for n in unbound)
        scale = Fraction(rest, sum(weights[n] for n in unbound))
        for number in unbound:
            quotas[number] = scale * weights[number]
        under = {n: floors[n] - quotas[n] for n in unbound if quotas[n] < floors[n]}
        over = {n: quotas[n] - caps[n] for n in unbound if quotas[n] > caps[n]}
        if not under and not over:
            break
        missing, excess = sum(under.values()), sum(over.values())
        fixed = {
            **({n: floors[n] for n in under} if missing >= excess else {}),
            **({n: caps[n] for n in over} if excess >= missing else {}),
        }
        quotas = [Fraction(fixed.get(n, quota)) for n, quota in enumerate(quotas)]
        unbound = [n for n in unbound if n not in fixed]
    return quotas
