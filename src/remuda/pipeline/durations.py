"""Durations: a number of the time column's own units, or text like `5 minutes`."""

from __future__ import annotations

import re
from fractions import Fraction

_SECONDS = {
    "millisecond": Fraction(1, 1000),
    "ms": Fraction(1, 1000),
    "second": Fraction(1),
    "s": Fraction(1),
    "minute": Fraction(60),
    "min": Fraction(60),
    "hour": Fraction(3600),
    "h": Fraction(3600),
    "day": Fraction(86400),
    "d": Fraction(86400),
}
_TEXT = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*$")


def seconds_of(duration: float | str) -> Fraction | None:
    """To the microsecond, or None for what is no duration."""
    if not isinstance(duration, str):
        return Fraction(round(duration * 1e6), 10**6)
    match = _TEXT.match(duration.lower())
    if match is None:
        return None
    unit = _SECONDS.get(match[2]) or _SECONDS.get(match[2] + "s")
    return None if unit is None else Fraction(round(Fraction(match[1]) * unit * 10**6), 10**6)
