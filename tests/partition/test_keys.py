"""Keys sort as what they are made of, and can be taken apart again."""

from __future__ import annotations

import struct
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.partition.keys import Part, after, key, number, parts, text, u64

NUMBERS = st.integers(0, 2**64 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ROWS = st.tuples(TEXTS, NUMBERS, st.binary(), TEXTS)


@given(st.lists(ROWS))
def test_keys_sort_as_their_parts_do(rows: list[tuple[str, int, bytes, str]]) -> None:
    by_parts = [key(b"q", *row) for row in sorted(rows)]
    assert by_parts == sorted(key(b"q", *row) for row in rows)


@given(st.lists(st.tuples(st.text("\x00\x01a", max_size=3), st.text("\x00\x01a", max_size=3))))
def test_zeros_and_short_texts_sort_as_they_should(rows: list[tuple[str, str]]) -> None:
    assert [key(b"", *row) for row in sorted(rows)] == sorted(key(b"", *row) for row in rows)


@given(ROWS)
def test_a_key_can_be_taken_apart(row: tuple[str, int, bytes, str]) -> None:
    assert parts(key(b"queue", *row), b"queue", str, int, bytes, str) == row


@given(NUMBERS)
def test_a_number_is_read_as_it_was_written(value: int) -> None:
    assert number(b"xy" + u64(value), 2) == value


@given(st.binary(min_size=1).filter(lambda data: data.strip(b"\xff")), st.binary(), st.binary())
def test_the_range_of_a_prefix_holds_its_keys_and_no_others(
    prefix: bytes, rest: bytes, other: bytes
) -> None:
    end = after(prefix)
    assert prefix <= prefix + rest < end
    assert (prefix <= other < end) == other.startswith(prefix)


def test_a_prefix_that_nothing_comes_after_is_refused() -> None:
    with pytest.raises(ValueError, match="no key comes after"):
        after(b"\xff\xff")


@pytest.mark.parametrize("bad", [-1, 2**64])
def test_a_number_that_does_not_fit_is_refused(bad: int) -> None:
    with pytest.raises(struct.error):
        key(b"q", bad)


def test_what_begins_with_a_part_is_one_range() -> None:
    inside = [key(b"q", "jobs", n) for n in (0, 7, 2**64 - 1)]
    outside = [key(b"q", "job", 5), key(b"q", "jobs\x00", 5), key(b"q", "jobss", 5)]
    start = b"q" + text("jobs")
    assert all(start <= one < after(start) for one in inside)
    assert not any(start <= one < after(start) for one in outside)
    assert cast("Part", "jobs") in parts(inside[0], b"q", str, int)
