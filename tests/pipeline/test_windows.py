"""Which windows an event is in, and when it happened."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.pipeline.durations import seconds_of
from remuda.pipeline.windows import Extent, extents, indexes, instant


@given(st.integers(-1000, 1000), st.integers(1, 200), st.integers(1, 200))
def test_an_event_is_in_exactly_the_windows_that_cover_it(at: int, range_: int, slide: int) -> None:
    near = range((at - range_) // slide - 3, (at + range_) // slide + 3)
    covering = [i for i in near if (i + 1) * slide - range_ <= at < (i + 1) * slide]
    assert indexes(at, range_, slide) == covering
    assert extents(at, range_, slide) == [
        Extent((i + 1) * slide - range_, (i + 1) * slide) for i in covering
    ]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (7, 7),
        (0.1, Fraction(1, 10)),
        (1.0000004, 1),
        (Decimal("2.5"), Fraction(5, 2)),
        (Fraction(1, 3), Fraction(333_333, 10**6)),
        (datetime.fromisoformat("1970-01-02"), 86400),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), Fraction(-1, 10**6)),
        (date(1970, 1, 3), 2 * 86400),
        ("1970-01-01T00:01:00.5", Fraction(121, 2)),
        ("1970-01-01T00:00:00+01:00", -3600),
    ],
)
def test_times_are_seconds_since_1970_to_the_microsecond(value: Any, seconds: Fraction) -> None:
    assert instant(value) == seconds


@pytest.mark.parametrize("value", [True, None, [], b"1970"])
def test_what_is_no_time_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="expected a time or a number"):
        instant(value)


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [(0.1, Fraction(1, 10)), ("1.5 minutes", 90), ("250 ms", Fraction(1, 4)), ("1e-9", None)],
)
def test_durations_are_exact_to_the_microsecond(
    duration: float | str, seconds: Fraction | None
) -> None:
    assert seconds_of(duration) == seconds
