"""Pools for tests, and plans carried out on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from remuda.ownership.plan import plan
from remuda.replica.pool import Balance, Pool, Unit


def pool_of(
    peers: Iterable[str], owners: Mapping[str, str | None], balance: Balance = "count"
) -> Pool:
    return Pool(
        balance=balance,
        members=tuple(peers),
        units={name: Unit(owner=owner, epoch=0) for name, owner in owners.items()},
    )


def carried_out(pool: Pool, budget: int | None = None) -> Pool:
    """The pool after every move of its plan."""
    units = dict(pool.units)
    for move in plan(pool, budget=budget).moves:
        units[move.unit] = replace(units[move.unit], owner=move.to)
    return replace(pool, units=units)


def counts(pool: Pool) -> dict[str, int]:
    return {peer: len(pool.owned_by(peer)) for peer in pool.active}
