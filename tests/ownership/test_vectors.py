"""The worked cases of ownership."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.ownership.count import fair_share
from remuda.ownership.load import even_load
from remuda.ownership.plan import plan
from remuda.replica.pool import Drain, Pool, Unit
from tests.ownership.pools import carried_out, counts, pool_of
from tests.vectors import vectors

CASES: dict[str, list[dict[str, Any]]] = vectors("ownership")


def of(kind: str, key: str) -> list[dict[str, Any]]:
    return [case for case in CASES[kind] if key in case]


@pytest.mark.parametrize("case", of("count", "fair_share"), ids=str)
def test_a_fair_share_counts_active_members_only(case: dict[str, Any]) -> None:
    peers = [f"p{n}" for n in range(case["active"] + case.get("draining", 0))]
    pool = pool_of(peers, {f"u{n}": None for n in range(case["units"])})
    for peer in peers[case["active"] :]:
        pool = Pool(members=pool.members, units=pool.units, drains={peer: Drain()})
    assert fair_share(len(pool.units), len(pool.active)) == case["fair_share"]
    assert max(counts(carried_out(pool)).values(), default=0) == case["fair_share"]


@pytest.mark.parametrize("case", of("count", "active_after"), ids=str)
def test_a_changed_membership_moves_as_few_units_as_can_be(case: dict[str, Any]) -> None:
    peers = [f"p{n}" for n in range(max(case["active_before"], case["active_after"]))]
    before = carried_out(
        pool_of(peers[: case["active_before"]], {f"u{n}": None for n in range(case["units"])})
    )
    units = {
        name: unit if unit.owner in peers[: case["active_after"]] else Unit()
        for name, unit in before.units.items()
    }
    after = Pool(members=tuple(peers[: case["active_after"]]), units=units)
    moves = plan(after).moves
    assert len(moves) == case["moved"]
    assert set(counts(carried_out(after)).values()) == {case["each_after"]}


@pytest.mark.parametrize("case", of("count", "own_before"), ids=str)
def test_an_owner_gives_what_is_over_its_share_and_keeps_the_rest(case: dict[str, Any]) -> None:
    peers = [f"p{n}" for n in range(case["active"])]
    owners = {f"u{n}": "p0" if n < case["own_before"] else "p1" for n in range(case["units"])}
    after = counts(carried_out(pool_of(peers, owners)))
    if "own_after" in case:
        assert after["p0"] == case["own_after"]
    else:
        assert after["p0"] >= case["own_after_at_least"]


@pytest.mark.parametrize("case", CASES["load"], ids=str)
def test_even_is_the_load_that_each_active_member_would_carry(case: dict[str, Any]) -> None:
    assert even_load(list(case["loads"].values()), case["active"]) == case["even"]


def test_a_pegged_unit_goes_to_its_peer_and_only_there() -> None:
    (case,) = of("pegs", "free")
    units = {f"u{n}": Unit() for n in range(case["free"])}
    units["pegged_to_me"] = Unit(peg="me")
    units["pegged_elsewhere"] = Unit(peg="other")
    mine = carried_out(Pool(members=("me", "other"), units=units)).owned_by("me")
    assert case["mine_includes"] in mine
    assert case["mine_excludes"] not in mine


def test_a_drain_keeps_a_pegged_unit_and_a_shutdown_does_not() -> None:
    (case,) = of("pegs", "drain_to")
    units = {f"u{n}": Unit(owner="me", epoch=1) for n in range(case["own"] - 1)}
    units["mine"] = Unit(owner="me", epoch=1, peg="me")
    for shutdown, left in ((False, case["left"]), (True, case["left_on_shutdown"])):
        pool = Pool(
            members=("me", "other"),
            units=units,
            drains={"me": Drain(case["drain_to"], shutdown)},
        )
        assert len(carried_out(pool).owned_by("me")) == left


@pytest.mark.parametrize("case", CASES["handoff"], ids=str)
def test_draining_with_handoff_offers_exactly_the_surplus(case: dict[str, Any]) -> None:
    units = {f"u{n}": Unit(owner="me", epoch=1) for n in range(case["own"])}
    pool = Pool(
        overlap=True, members=("me", "other"), units=units, drains={"me": Drain(case["target"])}
    )
    assert len(plan(pool).gifts_of("me")) == case["offers"]
