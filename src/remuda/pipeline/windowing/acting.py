# pyright: basic
"""Aggregates to contents, contents to the rows that triggers emit: one pass in Python.

Every trigger of the window fires once for each aggregate. After one that discards, those that come
later in the job see an empty window, as they do in the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from remuda.pipeline.aggregations import named, result_of
from remuda.pipeline.functions import Row
from remuda.pipeline.spark.arrow_rows import rows_from
from remuda.pipeline.spark.types import Shape
from remuda.pipeline.window_state import Content, Windowed
from remuda.pipeline.windowing.shapes import Rows, frame_schema
from remuda.pipeline.windowing.times import seconds

GroupOf = Callable[[Mapping[str, Any]], Any]


def acted(aggregates: DataFrame, windowed: Windowed, group: GroupOf, shape: Shape) -> DataFrame:
    """The rows that the triggers of a window emit, given what `native` aggregated."""
    act = _act(windowed, group)
    emitted = Rows(shape, windowed.window.task)

    def emit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield emitted.packed([row for made in rows_from(batch) for row in act(made)])

    return aggregates.mapInArrow(emit, frame_schema(shape))


def value_of(name: str, column: str | None, aggregate: Mapping[str, Any]) -> Any:
    """What users see of an aggregate, as `result_of` shows it."""
    value = aggregate["__value"]
    match name:
        case "average":
            return result_of(name, (value or 0, aggregate["__count"]))
        case "collect" | "collect_by_key":
            found = [one["value"] for one in sorted(value, key=itemgetter("order"))]
            if name == "collect":
                return found
            by_key: dict[Any, list[Row]] = {}
            for row in found:
                by_key.setdefault(row[column], []).append(row)
            return by_key
        case _:
            return value


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _act(windowed: Windowed, group: GroupOf) -> Callable[[Mapping[str, Any]], Iterator[Row]]:
    window, firings = windowed.window, windowed.triggers
    name, column = parts(window.aggregation)
    aggregation = named(name, column)

    def act(aggregate: Mapping[str, Any]) -> Iterator[Row]:
        value = value_of(name, column, aggregate)
        start, end = _bound(aggregate["__start"]), _bound(aggregate["__end"])
        for firing in firings:
            content = Content(window.id, firing.id, group(aggregate), start, end, value)
            yield from firing.act(content)
            if firing.discards:
                value = result_of(name, aggregation.init())

    return act


def parts(aggregation: Any) -> tuple[str, str | None]:
    """The name of one of our aggregations, and its column."""
    if isinstance(aggregation, str):
        return aggregation, None
    name, column = aggregation
    return name, column


def _bound(micros: int | None) -> Fraction | None:
    return None if micros is None else seconds(micros)
