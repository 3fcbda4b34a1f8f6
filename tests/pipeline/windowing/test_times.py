# pyright: basic
"""Time columns of every kind, on Spark and in the interpreter."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from remuda.pipeline.model.job import Window
from remuda.pipeline.windowing.times import BadTimeColumn, timestamp
from remuda.pipeline.windows import instant

pytestmark = pytest.mark.integration

COLUMNS: dict[str, tuple[str, Any]] = {
    "timestamp": ("timestamp", datetime(2026, 1, 1, 12, 30, 0, 123456, tzinfo=UTC)),
    "ntz": ("timestamp_ntz", datetime.fromisoformat("1969-01-01T12:30:00.123456")),
    "date": ("date", date(2026, 2, 3)),
    "text": ("string", "2026-01-01T12:30:00.5"),
    "zoned": ("string", "2026-01-01T12:30:00+02:00"),
    "whole": ("int", -7),
    "long": ("long", 1_700_000_000_000),
    "double": ("double", 9.95),
    "float": ("float", 0.5),
    "decimal": ("decimal(20, 9)", Decimal("12.000000500")),
    "flag": ("boolean", True),
}


def window(column: str) -> Window:
    return Window(id="w", task="sum", type="fixed", time=column, range=5, aggregation="count")


def test_every_kind_of_time_is_the_same_instant_for_spark(spark: SparkSession) -> None:
    schema = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    row = {name: value for name, (_, value) in COLUMNS.items()}
    frame = spark.createDataFrame([row], schema)
    names = [name for name in COLUMNS if name != "flag"]
    made = frame.select(
        *(sql.unix_micros(timestamp(frame, window(name))).alias(name) for name in names)
    )
    micros = made.collect()[0].asDict()
    assert {name: Fraction(micros[name], 10**6) for name in names} == {
        name: instant(row[name]) for name in names
    }
    with pytest.raises(BadTimeColumn, match="`flag` of `sum` is boolean"):
        timestamp(frame, window("flag"))
    with pytest.raises(BadTimeColumn, match="have no column `when`"):
        timestamp(frame, window("when"))
