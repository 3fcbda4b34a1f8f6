"""Properties of planning: balanced, sticky, minimal, deterministic, and at rest once done."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remuda.ownership.plan import plan
from remuda.replica.pool import Balance, Drain, Handoff, Pool, Unit, with_units
from tests.ownership.pools import carried_out, counts, pool_of

PEERS = [f"p{n}" for n in range(7)]


@st.composite
def pools(
    draw: st.DrawFn,
    balance: Balance = "count",
    *,
    pegs: bool = True,
    failures: bool = False,
    handoffs: bool = False,
    drains: bool = True,
) -> Pool:
    members = draw(st.lists(st.sampled_from(PEERS), unique=True, max_size=6))
    draining = (
        draw(st.dictionaries(st.sampled_from(members), st.builds(Drain, st.integers(0, 3))))
        if members and drains
        else {}
    )
    units: dict[str, Unit] = {}
    for number in range(draw(st.integers(0, 25))):
        owner = draw(st.sampled_from([None, *members]))
        peg = draw(st.sampled_from([None, None, None, *PEERS])) if pegs else None
        failed = draw(st.sets(st.sampled_from(PEERS), max_size=3)) if failures else set[str]()
        unit = Unit(
            owner=owner,
            epoch=0,
            peg=peg,
            load=draw(st.integers(0, 50)) if balance == "load" else 0,
            failures=dict.fromkeys(sorted(failed), "broken"),
        )
        others = [peer for peer in members if peer != owner]
        if handoffs and owner and others and draw(st.booleans()):
            unit = replace(unit, handoff=Handoff(draw(st.sampled_from(others)), 1))
        units[f"u{number:02}"] = unit
    return Pool(balance=balance, members=tuple(members), drains=draining, units=units)


@given(pools(pegs=False))
def test_counts_differ_by_one_at_most(pool: Pool) -> None:
    after = counts(carried_out(pool))
    assert max(after.values(), default=0) - min(after.values(), default=0) <= 1


@given(pools())
def test_every_unit_that_may_be_owned_is_owned(pool: Pool) -> None:
    after = carried_out(pool)
    for unit in after.units.values():
        may = [peer for peer in after.active if after.may_own(peer, unit)]
        kept = unit.owner in after.drains
        assert (unit.owner in may) if may and not kept else (unit.owner is None or kept)


@given(st.one_of(pools(failures=True, handoffs=True), pools("load", failures=True, handoffs=True)))
def test_a_plan_carried_out_is_at_rest(pool: Pool) -> None:
    after = carried_out(pool)
    assert plan(after).moves == ()


@given(st.one_of(pools(handoffs=True), pools("load", handoffs=True)))
def test_a_plan_does_not_depend_on_the_order_of_anything(pool: Pool) -> None:
    turned = replace(
        pool,
        members=tuple(reversed(pool.members)),
        units=dict(reversed(list(pool.units.items()))),
        drains=dict(reversed(list(pool.drains.items()))),
    )
    assert plan(pool) == plan(turned)


@given(pools(pegs=False, drains=False))
def test_no_unit_moves_without_need(pool: Pool) -> None:
    """Nobody gives who has not more than the share, and nobody both gives and takes."""
    moves = plan(pool).moves
    gave = Counter(move.source for move in moves if move.source is not None)
    took = Counter(move.to for move in moves)
    assert not set(gave) & set(took)
    if pool.active:
        least = len(pool.units) // len(pool.active)
        for peer, given_away in gave.items():
            assert len(pool.owned_by(peer)) - given_away >= least


@given(st.integers(0, 40), st.integers(1, 6))
def test_a_joiner_takes_its_share_and_nothing_else_moves(units: int, peers: int) -> None:
    before = carried_out(pool_of(PEERS[:peers], {f"u{n:02}": None for n in range(units)}))
    after = replace(before, members=(*before.members, "new"))
    moves = plan(after).moves
    assert all(move.to == "new" for move in moves)
    assert len(moves) == units // (peers + 1)


@given(st.integers(0, 40), st.integers(2, 6))
def test_only_the_units_of_one_who_left_move(units: int, peers: int) -> None:
    before = carried_out(pool_of(PEERS[:peers], {f"u{n:02}": None for n in range(units)}))
    lost = before.owned_by("p0")
    after = pool_of(
        PEERS[1:peers],
        {n: None if n in lost else u.owner for n, u in before.units.items()},
    )
    assert sorted(move.unit for move in plan(after).moves) == lost


@given(pools("load", pegs=False, drains=False))
def test_by_load_nobody_ends_up_more_than_one_unit_above_even(pool: Pool) -> None:
    if not any(unit.load for unit in pool.units.values()):
        return
    after = carried_out(pool)
    loads = {p: sum(after.units[u].load for u in after.owned_by(p)) for p in after.active}
    for peer in after.active:
        smallest = min((after.units[u].load or 10**9 for u in after.owned_by(peer)), default=0)
        assert loads[peer] * len(loads) - sum(loads.values()) <= smallest * len(loads)


@given(pools("load", pegs=False, drains=False), st.integers(0, 5))
def test_moves_for_the_sake_of_load_keep_to_their_budget(pool: Pool, budget: int) -> None:
    if any(unit.load for unit in pool.units.values()):
        moves = plan(pool, budget=budget).moves
        assert sum(move.source is not None for move in moves) <= budget


@given(pools("load", pegs=False, drains=False), st.integers(1, 3))
def test_a_budget_only_spreads_the_same_end_over_several_plans(pool: Pool, budget: int) -> None:
    for _ in range(len(pool.units) + 1):
        pool = carried_out(pool, budget)
    assert plan(pool).moves == ()


@given(st.one_of(pools(), pools("load")))
def test_every_move_has_a_reason_and_every_unit_without_an_owner_too(pool: Pool) -> None:
    planned = plan(pool)
    assert all(move.reason for move in planned.moves)
    after = carried_out(pool)
    for name, unit in after.units.items():
        assert (unit.owner is None) == (name in planned.waiting)
        assert planned.waiting.get(name, "-")


def test_a_unit_that_a_peer_could_not_start_goes_to_another_and_then_waits() -> None:
    pool = Pool(members=("a", "b"), units={"u": Unit(failures={"a": "no disk"})})
    assert plan(pool).claims_of("b") == ("u",)
    pool = Pool(members=("a", "b"), units={"u": Unit(failures={"a": "no disk", "b": "no net"})})
    assert plan(pool).moves == ()
    assert plan(pool).waiting == {"u": "b could not start it: no net"}


def test_a_peg_to_a_peer_that_is_not_there_makes_the_unit_wait() -> None:
    pool = Pool(members=("a",), units={"u": Unit(owner="a", epoch=1, peg="ghost")})
    (move,) = plan(pool).moves
    assert (move.source, move.to) == ("a", None)
    assert plan(pool).waiting == {
        "u": "it is pegged to ghost, which is not among the active members"
    }


def test_a_peg_may_name_a_peer_by_the_name_it_gave_itself() -> None:
    pool = Pool(members=("a", "b"), names={"b": "gpu-1"}, units={"u": Unit(peg="gpu-1")})
    assert plan(pool).claims_of("b") == ("u",)


def test_a_rolling_restart_moves_each_unit_away_and_back_and_no_more() -> None:
    """Even when there is time to balance between any two restarts."""
    pool = carried_out(pool_of(PEERS[:4], {f"u{n:02}": None for n in range(40)}))
    moves: Counter[str] = Counter()
    position = 1
    for number, peer in enumerate(pool.members):
        for members in (
            tuple(p for p in pool.members if p != peer),
            (*(p for p in pool.members if p != peer), f"new-{number}"),
        ):
            units = {
                name: unit if unit.owner in members else replace(unit, owner=None, epoch=position)
                for name, unit in pool.units.items()
            }
            pool = replace(pool, members=members, units=units)
            for move in plan(pool).moves:
                moves[move.unit] += 1
                position += 1
                pool = with_units(
                    pool,
                    {move.unit: replace(pool.units[move.unit], owner=move.to, epoch=position)},
                )
    assert set(counts(pool).values()) == {10}
    assert set(moves.values()) == {2}
