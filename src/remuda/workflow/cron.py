"""UNIX cron expressions: five fields, in UTC.

    minute 0-59   hour 0-23   day of month 1-31   month 1-12 or jan…dec   day of week 0-7 or sun…sat

A field is `*` or a list of numbers and ranges, each with an optional step: `*/15`, `1-5`, `0,30`,
`mon-fri`. 0 and 7 are Sunday. Where both days are restricted, either will do.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from remuda.workflow.errors import BadValue

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
YEARS_AHEAD = 8
"""Nothing that ever happens is further away: the 29th of February is, at most, 8 years."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class Cron(Struct, frozen=True):
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    def is_on(self, day: int) -> bool:
        """Whether it happens on this day, counted from the beginning of 1970."""
        _, month, of_month = civil(day)
        if month not in self.months:
            return False
        by_month, by_week = of_month in self.days, (day + 4) % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return by_month and by_week
        return by_month or by_week

    def next_after(self, at_ms: int) -> int | None:
        """The first time after this one; None if there is none."""
        day, within_ms = divmod(at_ms - at_ms % MINUTE_MS + MINUTE_MS, DAY_MS)
        first_minute = within_ms // MINUTE_MS
        for ahead in range(YEARS_AHEAD * 366):
            if self.is_on(day + ahead):
                for hour in sorted(self.hours):
                    for minute in sorted(self.minutes):
                        if ahead or hour * 60 + minute >= first_minute:
                            return (day + ahead) * DAY_MS + (hour * 60 + minute) * MINUTE_MS
        return None


def parse_cron(text: str) -> Cron:
    fields = text.lower().split()
    if len(fields) != 5:
        raise BadValue(f"cron expression {text!r} has {len(fields)} fields, not 5")
    minutes, hours, days, months, weekdays = fields
    return Cron(
        minutes=_field(minutes, 0, 59, (), text),
        hours=_field(hours, 0, 23, (), text),
        days=_field(days, 1, 31, (), text),
        months=_field(months, 1, 12, _MONTHS, text),
        weekdays=frozenset(day % 7 for day in _field(weekdays, 0, 7, _DAYS, text)),
        any_day=days.startswith("*"),
        any_weekday=weekdays.startswith("*"),
    )


def civil(day: int) -> tuple[int, int, int]:
    """Year, month and day of the month of a day counted from the beginning of 1970."""
    year = 1970 + day // 366
    while _first_day(year + 1) <= day:
        year += 1
    while _first_day(year) > day:
        year -= 1
    left = day - _first_day(year)
    for month, length in enumerate(_LENGTHS, 1):
        if month == 2 and _first_day(year + 1) - _first_day(year) == 366:
            length = 29
        if left < length:
            return year, month, left + 1
        left -= length
    raise AssertionError(f"day {day} is in no month")


# ── inside ───────────────────────────────────────────────────────────────────────────────────

_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _first_day(year: int) -> int:
    """Of a year, counted from the beginning of 1970; there are 477 leap days before that."""
    before = year - 1
    leap_days = before // 4 - before // 100 + before // 400
    return (year - 1970) * 365 + leap_days - 477


def _field(field: str, low: int, high: int, names: Sequence[str], text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step_text = part.partition("/")
        step = _number(step_text, 1, high, (), 0, text) if step_text else 1
        if span == "*":
            first, last = low, high
        elif "-" in span:
            start, _, stop = span.partition("-")
            first = _number(start, low, high, names, low, text)
            last = _number(stop, low, high, names, low, text)
        else:
            first = _number(span, low, high, names, low, text)
            last = high if step_text else first
        if first > last:
            raise BadValue(f"cron expression {text!r}: {span} goes backwards")
        found.update(range(first, last + 1, step))
    return frozenset(found)


def _number(word: str, low: int, high: int, names: Sequence[str], base: int, text: str) -> int:
    if word in names:
        return names.index(word) + base
    if not (word.isascii() and word.isdigit() and low <= int(word) <= high):
        raise BadValue(f"cron expression {text!r}: {word!r} is not between {low} and {high}")
    return int(word)
