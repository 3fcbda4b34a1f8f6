# pyright: basic
"""A time column as Spark's timestamps, and durations as Spark's intervals.

Numbers are seconds since 1970, exact to the microsecond; they may not be further than 292,000 years
from there. Text is a time in ISO 8601, in UTC where it names no zone.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as sql

from remuda.errors import RemudaError
from remuda.pipeline.model.job import Window
from remuda.pipeline.windowing.columns import column_of


class BadTimeColumn(RemudaError):
    """A window's time column is not there, or holds no times."""

    exit_code = 2


def timestamp(rows: DataFrame, window: Window) -> Column:
    """When a row happened, by the window's time column."""
    name = window.time or ""
    if name not in rows.columns:
        raise BadTimeColumn(
            f"window {window.id}: the rows of `{window.task}` have no column `{name}`: they have "
            f"{', '.join(rows.columns)}"
        )
    column = column_of(name)
    match rows.schema[name].dataType:
        case types.TimestampType():
            return column
        case types.TimestampNTZType() | types.DateType() | types.StringType():
            return column.cast("timestamp")
        case types.IntegralType():
            return sql.timestamp_seconds(column)
        case types.FloatType() | types.DoubleType():
            return sql.timestamp_micros(sql.rint(column.cast("double") * 1e6).cast("long"))
        case types.DecimalType():
            return sql.timestamp_micros(sql.bround(column * 1_000_000).cast("long"))
        case other:
            raise BadTimeColumn(
                f"window {window.id}: the column `{name}` of `{window.task}` is "
                f"{other.simpleString()}: a time column holds times, text or numbers"
            )


def interval(seconds: Fraction) -> str:
    return f"{int(seconds * 10**6)} microseconds"


def delay(seconds: Fraction) -> str:
    """What a watermark stays behind by; Spark counts watermarks in milliseconds."""
    return f"{milliseconds(seconds)} milliseconds"


def milliseconds(seconds: Fraction) -> int:
    return ceil(seconds * 1000)


def seconds(micros: int) -> Fraction:
    return Fraction(micros, 10**6)
