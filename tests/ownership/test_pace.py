"""How fast a draining member gives its units up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.ownership.pace import Pace
from tests.vectors import vectors

CASES: list[dict[str, Any]] = vectors("ownership")["drain"]


def times(pace: Pace, units: int) -> list[float]:
    """When each of so many units goes, by a timer that is set for each next one."""
    now, gone = pace.began_at, list[float]()
    while len(gone) < units:
        if not pace.allows(len(gone), now):
            now = pace.next_at(len(gone), now)
            assert pace.allows(len(gone), now)
        gone.append(now)
    return gone


@pytest.mark.parametrize("case", CASES, ids=str)
def test_units_go_evenly_and_the_first_at_once(case: dict[str, Any]) -> None:
    gone = times(Pace(100.0, case["units"], case["drain_time_s"]), case["units"])
    first, every = 100.0 + case["first_at_s"], case["every_s"]
    assert gone == pytest.approx([first + every * n for n in range(case["units"])])


@given(st.integers(0, 200), st.integers(0, 20), st.floats(0, 3600), st.floats(0, 1e6))
def test_all_are_gone_within_the_time_and_so_is_what_came_later(
    units: int, more: int, over_s: float, began_at: float
) -> None:
    gone = times(Pace(began_at, units, over_s), units + more)
    assert gone == sorted(gone)
    assert all(at <= began_at + over_s for at in gone)


def test_with_no_time_to_take_all_go_at_once() -> None:
    assert times(Pace(5.0, 3, 0.0), 3) == [5.0, 5.0, 5.0]


def test_who_had_nothing_to_give_keeps_nothing_that_comes_later() -> None:
    assert times(Pace(5.0, 0, 60.0), 2) == [5.0, 5.0]


def test_when_one_may_go_already_there_is_nothing_to_wait_for() -> None:
    assert Pace(5.0, 2, 60.0).next_at(0, 5.0) == float("inf")
    assert Pace(5.0, 2, 60.0).next_at(1, 5.0) == 35.0
