# pyright: basic
"""The group of a row, as columns that Spark can group by.

Groups by columns stay Spark's. What a function answers goes through Python once: as `__key`, bytes
that are equal where Python finds the groups equal, and as `__group`, the group itself.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from msgspec import Struct
from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as sql

from remuda.errors import RemudaError
from remuda.pipeline.functions import Functions
from remuda.pipeline.model.job import Task
from remuda.pipeline.spark.arrow_rows import rows_from
from remuda.pipeline.windowing.columns import column_of


class BadGroup(RemudaError):
    """A function answered a group that rows cannot be grouped by."""


class Grouping(Struct, frozen=True):
    """Rows with the columns that they are grouped by, and how to read a group from those."""

    rows: DataFrame
    # To be grouped by; those that go with them, once for each group.
    keys: list[str]
    carried: list[str]
    group: Callable[[Mapping[str, Any]], Any]

    @property
    def carrying(self) -> list[Column]:
        return [sql.first(name).alias(name) for name in self.carried]


def grouped(rows: DataFrame, task: Task, functions: Functions) -> Grouping:
    if task.group_by_fn is not None:
        added = _by_function(rows, functions.find(task.group_by_fn))
        return Grouping(added, ["__key"], ["__group"], _carried)
    match task.group_by:
        case None:
            return Grouping(rows, [], [], _nothing)
        case str() as column:
            return Grouping(_by_columns(rows, [column]), ["__group_0"], [], _single)
        case columns:
            names = [f"__group_{number}" for number in range(len(columns))]
            return Grouping(_by_columns(rows, columns), names, [], _several(names))


def key_of(group: Any) -> bytes:
    """Equal for groups that are equal, as keys of a dict are: 1 is 1.0."""
    return repr(_canonical(group)).encode()


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _by_columns(rows: DataFrame, columns: list[str]) -> DataFrame:
    return rows.withColumns(
        {
            f"__group_{number}": column_of(name)
            if name in rows.columns
            else sql.lit(None).cast("string")
            for number, name in enumerate(columns)
        }
    )


def _by_function(rows: DataFrame, function: Callable[[Any], Any]) -> DataFrame:
    def added(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            groups = [function(row) for row in rows_from(batch)]
            keys = pa.array([key_of(group) for group in groups], pa.binary())
            values = pa.array([pickle.dumps(group) for group in groups], pa.binary())
            yield batch.append_column("__key", keys).append_column("__group", values)

    binary = [types.StructField(name, types.BinaryType()) for name in ("__key", "__group")]
    return rows.mapInArrow(added, types.StructType([*rows.schema.fields, *binary]))


def _nothing(row: Mapping[str, Any]) -> None:
    return None


def _single(row: Mapping[str, Any]) -> Any:
    return row["__group_0"]


def _several(names: list[str]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda row: tuple(row[name] for name in names)


def _carried(row: Mapping[str, Any]) -> Any:
    return pickle.loads(row["__group"])


def _canonical(value: Any) -> Any:
    match value:
        case None | str() | bytes():
            return value
        case float() if value != value or value in (float("inf"), float("-inf")):
            return value
        case int() | float() | Decimal() | Fraction():
            exact = Fraction(value)
            return exact.numerator, exact.denominator
        case datetime():
            return "at", value.astimezone(UTC).isoformat() if value.tzinfo else value.isoformat()
        case date():
            return "on", value.isoformat()
        case tuple() | list():
            return [_canonical(part) for part in value]
        case _:
            raise BadGroup(
                f"a group is made of text, numbers, times, and tuples of them, and this is a "
                f"{type(value).__name__}: {value!r}"
            )
