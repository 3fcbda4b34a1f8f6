"""Members carry out their parts of a plan in their own time: no more moves than the plan had."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from remuda.ownership.plan import plan
from remuda.replica.pool import Pool, Unit, with_units


def unbalanced(chance: random.Random) -> Pool:
    """Some have served for a while, and one or two have just come."""
    old = [f"p{n}" for n in range(chance.randint(2, 6))]
    new = [f"{chance.choice('aqz')}{n}" for n in range(chance.randint(1, 2))]
    owners = [peer for peer in old for _ in range(chance.randint(0, 12))]
    units = {f"u{n:03}": Unit(owner=owner, epoch=n) for n, owner in enumerate(owners)}
    return Pool(members=(*old, *new), units=units)


@pytest.mark.parametrize("seed", range(150))
def test_a_plan_that_is_carried_out_piece_by_piece_moves_nothing_more(seed: int) -> None:
    chance = random.Random(seed)
    pool = unbalanced(chance)
    fewest = sum(move.source is not None for move in plan(pool).moves)
    giving: dict[str, set[str]] = {peer: set() for peer in pool.members}
    moved, epoch = 0, 1000
    for _ in range(20_000):
        planned = plan(pool)
        if not planned.moves and not any(giving.values()):
            break
        epoch += 1
        peer = chance.choice(pool.members)
        # Once chosen they go, each when it has stopped.
        giving[peer] |= set(planned.gifts_of(peer))
        if giving[peer] and chance.random() < 0.7:
            stopped = chance.sample(sorted(giving[peer]), chance.randint(1, len(giving[peer])))
            free = {u: replace(pool.units[u], owner=None, epoch=epoch) for u in stopped}
            pool = with_units(pool, free)
            giving[peer] -= set(stopped)
            moved += len(stopped)
        else:
            claims = planned.claims_of(peer)
            mine = {u: replace(pool.units[u], owner=peer, epoch=epoch) for u in claims}
            pool = with_units(pool, mine)
    assert plan(pool).moves == ()
    assert moved == fewest
