"""Ids: new ones every time, the same from the same seed, and fit for a znode's name."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from remuda.peer.names import new_entry_id, new_peer_id

seeds = st.integers(0, 2**32)


@given(seeds)
def test_a_peer_has_a_colour_and_ten_digits(seed: int) -> None:
    assert re.fullmatch(r"[a-z]{3,6}-[0-9a-f]{10}", new_peer_id(random.Random(seed)))


@given(seeds)
def test_an_entry_has_twenty_four_digits(seed: int) -> None:
    assert re.fullmatch(r"[0-9a-f]{24}", new_entry_id(random.Random(seed)))


@given(seeds)
def test_one_seed_gives_the_same_ids_twice(seed: int) -> None:
    first, second = random.Random(seed), random.Random(seed)
    for new_id in (new_peer_id, new_entry_id, new_peer_id):
        assert new_id(first) == new_id(second)


@given(seeds, st.integers(2, 200))
def test_no_id_comes_twice(seed: int, count: int) -> None:
    chance = random.Random(seed)
    for new_id in (new_peer_id, new_entry_id):
        assert len({new_id(chance) for _ in range(count)}) == count


def test_peers_can_be_told_apart_by_their_colours() -> None:
    chance = random.Random(1)
    colours = {new_peer_id(chance).split("-")[0] for _ in range(1000)}
    assert len(colours) > 20
