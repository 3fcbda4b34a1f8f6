"""How long a peer waits before it tries again, whatever the times and the chance."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from remuda.peer.backoff import Backoff

seconds = st.floats(0.001, 1000.0)
seeds = st.integers(0, 2**32)


class Fixed:
    """Jitter that always comes out at the same place of its range."""

    def __init__(self, share: float) -> None:
        self._share = share

    def uniform(self, a: float, b: float, /) -> float:
        return a + (b - a) * self._share


def waits(backoff: Backoff, count: int) -> list[float]:
    return [backoff.next_s() for _ in range(count)]


@given(seconds, seconds, seeds, st.integers(1, 100))
def test_a_wait_is_between_half_and_all_of_a_length_that_doubles_up_to_the_most(
    first_s: float, most_s: float, seed: int, tries: int
) -> None:
    for n, wait_s in enumerate(waits(Backoff(first_s, most_s, random.Random(seed)), tries)):
        whole_s = min(most_s, first_s * 2**n)
        assert whole_s / 2 <= wait_s <= whole_s


@given(seconds, seconds, st.floats(0, 1))
def test_with_the_same_jitter_no_wait_is_shorter_than_the_one_before(
    first_s: float, most_s: float, share: float
) -> None:
    told = waits(Backoff(first_s, most_s, Fixed(share)), 50)
    assert told == sorted(told)


@given(seconds, seconds, st.integers(0, 50))
def test_after_a_reset_it_begins_anew(first_s: float, most_s: float, tries: int) -> None:
    backoff = Backoff(first_s, most_s, Fixed(1))
    waits(backoff, tries)
    backoff.reset()
    assert waits(backoff, 5) == waits(Backoff(first_s, most_s, Fixed(1)), 5)


@given(seeds)
def test_one_seed_waits_alike_twice(seed: int) -> None:
    first, second = (waits(Backoff(0.1, 2.0, random.Random(seed)), 10) for _ in range(2))
    assert first == second


def test_however_often_it_was_tried_there_is_a_next_time() -> None:
    assert waits(Backoff(1.0, 8.0, Fixed(1)), 5000)[-1] == 8.0
