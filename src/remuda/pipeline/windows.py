"""Which windows an event is in, as arithmetic on whole microseconds.

Windows include their start and exclude their end. Sliding windows are numbered so that window i
covers [(i + 1) * slide - range, (i + 1) * slide); fixed ones are sliding ones whose slide is their
range. A session is extended by an event within the gap of its edge, the gap itself included.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from msgspec import Struct

SECOND = 10**6


class Extent(Struct, frozen=True, order=True):
    """From `start`, inclusive, to `end`, exclusive; for a session, its first and last event."""

    start: int
    end: int


EVERYTHING = Extent(0, 0)


def indexes(at: int, range_: int, slide: int) -> list[int]:
    """The windows of an event, by number."""
    return list(range(at // slide, (at + range_) // slide))


def extents(at: int, range_: int, slide: int) -> list[Extent]:
    """The windows of an event, by their bounds."""
    ends = range((at // slide + 1) * slide, at + range_ + 1, slide)
    return [Extent(end - range_, end) for end in ends]


def is_within(extent: Extent, at: int, gap: int) -> bool:
    """Whether an event belongs to a session."""
    return extent.start - gap <= at <= extent.end + gap


def instant(value: Any) -> Fraction:
    """When a row happened, to the microsecond: a number as it is, a time as seconds since 1970."""
    return Fraction(microseconds(value), SECOND)


def microseconds(value: Any) -> int:
    """The same, as a whole number of microseconds."""
    match value:
        case bool():
            pass
        case int():
            return value * SECOND
        case float():
            return round(value * 1e6)
        case Decimal() | Fraction():
            return round(value * SECOND)
        case datetime():
            aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return (aware - _EPOCH) // timedelta(microseconds=1)
        case date():
            return (value - _EPOCH.date()).days * 86400 * SECOND
        case str():
            return microseconds(datetime.fromisoformat(value))
        case _:
            pass
    raise TypeError(f"expected a time or a number in a time column, got {value!r}")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
