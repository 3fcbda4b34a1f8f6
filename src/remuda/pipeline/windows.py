"""Which windows an event is in, as arithmetic on exact numbers.

Windows include their start and exclude their end. Sliding windows are numbered so that window i
covers [(i + 1) * slide - range, (i + 1) * slide); fixed ones are sliding ones whose slide is their
range. A session is extended by an event within the gap of its edge, the gap itself included.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from math import floor
from typing import Any

from msgspec import Struct

from remuda.pipeline.durations import seconds_of
from remuda.pipeline.model.job import Window


class Extent(Struct, frozen=True, order=True):
    """From `start`, inclusive, to `end`, exclusive; for a session, its first and last event."""

    start: Fraction
    end: Fraction


EVERYTHING = Extent(Fraction(0), Fraction(0))


def indexes(at: Fraction, range_: Fraction, slide: Fraction) -> list[int]:
    """The windows of an event, by number."""
    last = floor((at + range_) / slide) - 1
    first = floor(at / slide)
    return [i for i in range(first, last + 1) if at < (i + 1) * slide]


def extents(window: Window, at: Fraction) -> Iterator[Extent]:
    """The windows of an event, by their bounds; sessions are `session`'s."""
    if window.type == "global":
        yield EVERYTHING
        return
    assert window.range is not None
    range_ = seconds_of(window.range)
    slide = range_ if window.slide is None else seconds_of(window.slide)
    assert range_ is not None
    assert slide is not None
    for index in indexes(at, range_, slide):
        end = (index + 1) * slide
        yield Extent(end - range_, end)


def is_within(extent: Extent, at: Fraction, gap: Fraction) -> bool:
    """Whether an event belongs to a session."""
    return extent.start - gap <= at <= extent.end + gap


def instant(value: Any) -> Fraction:
    """When a row happened: a number as it is, a time as seconds since 1970."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        since = aware - datetime(1970, 1, 1, tzinfo=UTC)
        return Fraction(since.days * 86400 + since.seconds) + Fraction(since.microseconds, 10**6)
    if isinstance(value, str):
        return instant(datetime.fromisoformat(value))
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise TypeError(f"expected a time or a number in a time column, got {value!r}")
    return Fraction(value)
