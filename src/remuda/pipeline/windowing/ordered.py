# pyright: basic
"""The state machine in batch: rows by group, in the order in which they came, in one pass.

Spark brings the rows of a group together and sorts them, so that a pass in Python holds the windows
of one group at a time, however many groups there are and however large they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from remuda.pipeline.functions import Row
from remuda.pipeline.spark.arrow_rows import rows_from
from remuda.pipeline.spark.types import Shape
from remuda.pipeline.window_state import Held, Windowed
from remuda.pipeline.windowing.grouping import Grouping
from remuda.pipeline.windowing.shapes import Rows, frame_schema


def fired(
    grouping: Grouping, windows: Sequence[Windowed], columns: list[str], shape: Shape
) -> DataFrame:
    """What the triggers of windows emit of a bounded input; `columns` are the user's."""
    rows = grouping.rows.withColumn("__order", sql.monotonically_increasing_id())
    together = rows.repartition(*grouping.keys) if grouping.keys else rows.repartition(1)
    in_order = together.sortWithinPartitions(*grouping.keys, "__order")
    keys, group_of = grouping.keys, grouping.group
    marked = [*grouping.keys, *grouping.carried, "__order"]
    emitted = Rows(shape, windows[0].window.task)

    def emit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        key: Any = None
        machine = _Group(windows, None)
        for batch in batches:
            made: list[Row] = []
            marks = rows_from(batch.select(marked))
            for mark, row in zip(marks, rows_from(batch.select(columns)), strict=True):
                this = [mark[name] for name in keys]
                if this != key:
                    made += machine.finish()
                    key, machine = this, _Group(windows, group_of(mark))
                made += machine.add(row)
            yield emitted.packed(made)
        yield emitted.packed(list(machine.finish()))

    return in_order.mapInArrow(emit, frame_schema(shape))


class _Group:
    """All windows of one group."""

    def __init__(self, windows: Sequence[Windowed], group: Any) -> None:
        self._group = group
        self._windows: list[tuple[Windowed, Held]] = [(windowed, {}) for windowed in windows]

    def add(self, row: Row) -> Iterator[Row]:
        for windowed, held in self._windows:
            at = windowed.at(row)
            if at is not None:
                yield from windowed.add(held, self._group, at, row)

    def finish(self) -> Iterator[Row]:
        for windowed, held in self._windows:
            yield from windowed.finish(held, self._group)
