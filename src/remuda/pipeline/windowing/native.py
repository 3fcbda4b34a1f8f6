# pyright: basic
"""Windows and aggregates by Spark's own operators.

What comes out has one row for each window of a group that any row came to: `__start` and `__end` in
microseconds (null for a global window), the columns of the group, and `__value`, which `acting`
reads.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from msgspec import Struct
from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as sql

from remuda.errors import RemudaError
from remuda.pipeline.durations import seconds_of
from remuda.pipeline.model.job import Window
from remuda.pipeline.windowing import times
from remuda.pipeline.windowing.acting import parts
from remuda.pipeline.windowing.closing import AT, SHIFT_S, watched
from remuda.pipeline.windowing.columns import column_of
from remuda.pipeline.windowing.grouping import Grouping

# In a stream, a global window is one that everything is in: until 9964, with all rows in the year
# 8000, which holds no other window's watermark back and is over when the stream closes.
_EVERYTHING = "730000 days"
_MIDDLE = "8000-01-01T00:00:00Z"


class BadAggregate(RemudaError):
    """A window aggregates a column that is not there, or that it cannot aggregate."""

    exit_code = 2


def aggregated(
    grouping: Grouping,
    window: Window,
    columns: list[str],
    *,
    streaming: bool,
    closing: str | Path | None,
) -> DataFrame:
    """`columns` are the user's; `grouping.rows` have those of the groups as well."""
    rows = with_time(grouping.rows, window, streaming=streaming)
    rows = rows.withColumn(
        "__order", sql.lit(0) if streaming else sql.monotonically_increasing_id()
    )
    if streaming:
        rows = watched(rows, times.delay(lateness(window)), closing)
    cut = _cut(window, SHIFT_S if streaming else 0)
    keys = list(grouping.keys)
    if window.type == "session" and not keys:
        rows, keys = _with_a_key(rows), ["__all"]
    if cut.by is not None:
        rows = rows.withColumn("__window", cut.by)
        keys.append("__window")
    if cut.within is not None:
        rows = rows.where(cut.within)
    made = rows.groupBy(*keys).agg(
        sql.count(sql.lit(1)).alias("__rows"),
        *_aggregates(rows, window, columns),
        *grouping.carrying,
        *cut.extent,
    )
    kept = [*grouping.keys, *grouping.carried, "__value"]
    counted = ["__count"] if "__count" in made.columns else []
    return made.where("__rows > 0").select(
        *kept, *counted, cut.start.alias("__start"), cut.end.alias("__end")
    )


def with_time(rows: DataFrame, window: Window, *, streaming: bool) -> DataFrame:
    """Rows with `__at`, without those that are in no window."""
    if window.type == "global":
        return rows.withColumn(AT, sql.lit(_MIDDLE).cast("timestamp"))
    at = times.timestamp(rows, window)
    if streaming:
        at = sql.timestamp_micros(sql.unix_micros(at) + sql.lit(SHIFT_S * 10**6))
    return rows.withColumn(AT, at).where(sql.col(AT).isNotNull())


def lateness(window: Window) -> Fraction:
    """By how much the watermark stays behind. A session's next event may be at its very edge, where
    Spark would have let it go: a millisecond more keeps it."""
    edge = Fraction(1, 1000) if window.type == "session" else Fraction(0)
    return (seconds_of(window.lateness) or Fraction(0)) + edge


# ── inside ───────────────────────────────────────────────────────────────────────────────────


class _Cut(Struct, frozen=True):
    """How time is cut: what is grouped by, what else is aggregated for it, the bounds."""

    start: Column
    end: Column
    by: Column | None = None
    within: Column | None = None
    extent: list[Column] = []


def _cut(window: Window, shift_s: int) -> _Cut:
    """`shift_s` is by how much `__at` is put off."""
    match window.type:
        case "global":
            never = sql.lit(None).cast("long")
            return _Cut(never, never, sql.window(AT, _EVERYTHING) if shift_s else None)
        case "session":
            # Spark joins sessions that touch, as ours do: its gap, too, includes its edge.
            gap = seconds_of(window.gap or 0) or Fraction(0)
            first, last = sql.min(AT).alias("__first"), sql.max(AT).alias("__last")
            return _Cut(
                _micros("__first", shift_s),
                _micros("__last", shift_s),
                sql.session_window(AT, times.interval(gap)),
                None,
                [first, last],
            )
        case "fixed" | "sliding":
            range_ = seconds_of(window.range or 0) or Fraction(0)
            slide = range_ if window.slide is None else seconds_of(window.slide) or range_
            return _sliding(range_, slide, shift_s)


def _sliding(range_: Fraction, slide: Fraction, shift_s: int) -> _Cut:
    end = _micros("__window.end", shift_s)
    start = end - sql.lit(int(range_ * 10**6))
    if slide > range_:
        # There are gaps between the windows: each is the end of a longer one, which has none.
        offset = times.interval(shift_s % slide)
        by = sql.window(AT, times.interval(slide), startTime=offset)
        return _Cut(start, end, by, _micros(AT, shift_s) >= start)
    offset = times.interval((shift_s - range_) % slide)
    return _Cut(start, end, sql.window(AT, times.interval(range_), times.interval(slide), offset))


def _micros(name: str, shift_s: int) -> Column:
    return sql.unix_micros(sql.col(name)) - sql.lit(shift_s * 10**6)


def _with_a_key(rows: DataFrame) -> DataFrame:
    """Spark wants sessions in a stream to have a key. One that it takes for a constant is none."""
    return rows.withColumn("__all", sql.when(sql.col(AT).isNotNull(), sql.lit(0)))


def _aggregates(rows: DataFrame, window: Window, columns: list[str]) -> list[Column]:
    name, column = parts(window.aggregation)
    if column is not None and column not in columns:
        raise BadAggregate(
            f"window {window.id}: the rows of `{window.task}` have no column `{column}`: they have "
            f"{', '.join(columns)}"
        )
    if name == "count":
        return [sql.count(sql.lit(1)).alias("__value")]
    value = None if column is None else column_of(column)
    match name:
        case "sum" | "average" if value is not None:
            _check_number(rows, window, str(column))
            return [sql.sum(value).alias("__value"), sql.count(value).alias("__count")]
        case "min" if value is not None:
            return [sql.min(value).alias("__value")]
        case "max" if value is not None:
            return [sql.max(value).alias("__value")]
        case _:
            return [_collected(value, columns, whole=name == "collect_by_key")]


def _collected(value: Column | None, columns: list[str], *, whole: bool) -> Column:
    """Values, or whole rows, with their places in the order of arrival."""
    row = sql.struct(*(column_of(name).alias(name) for name in columns))
    kept = row if value is None or whole else value
    pair = sql.struct(sql.col("__order").alias("order"), kept.alias("value"))
    there = sql.lit(True) if value is None else value.isNotNull()
    return sql.collect_list(sql.when(there, pair)).alias("__value")


def _check_number(rows: DataFrame, window: Window, column: str) -> None:
    kind = rows.schema[column].dataType
    if not isinstance(kind, types.NumericType):
        raise BadAggregate(
            f"window {window.id}: `{column}` is {kind.simpleString()}, and only numbers have a "
            f"{window.aggregation[0]}"
        )
