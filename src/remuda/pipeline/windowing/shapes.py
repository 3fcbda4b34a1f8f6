# pyright: basic
"""What the rows look like that a task's triggers emit.

It is said by the return annotation of `emit`, or by the task's `schema`, or it is seen: `emit` is
called for windows of a few sample rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pyarrow as pa
from msgspec.structs import replace
from pyspark.sql import types

from remuda.pipeline.functions import Functions, Row
from remuda.pipeline.model.job import Job, Task, Trigger
from remuda.pipeline.spark.arrow_rows import Packer
from remuda.pipeline.spark.types import (
    Shape,
    UnknownShape,
    annotated,
    declared,
    inferred,
    merged,
    nullable,
)
from remuda.pipeline.window_state import Groups, Windowed
from remuda.pipeline.windowing.choice import windows_of


def shape_of(
    job: Job, task: Task, functions: Functions, samples: Callable[[], Sequence[Row]]
) -> Shape | None:
    """The columns of all rows that a task emits, None if it only syncs. `samples` is asked only if
    nothing is declared."""
    windows = {window.id: window for window in windows_of(job, task)}
    shapes: list[Shape] = []
    for trigger in job.triggers:
        if trigger.window in windows and trigger.emit is not None:
            shape = annotated(functions.find(trigger.emit))
            if shape is None and task.schema is not None:
                shape = declared(task.schema, task.name)
            shapes.append(shape or _seen(job, task, trigger, functions, samples()))
    return merged(shapes, task.name) if shapes else None


class Rows:
    """Emitted rows to Arrow; raises BadRow for one that does not fit."""

    def __init__(self, shape: Shape, task: str) -> None:
        self._columns = {field.name: field.dataType for field in shape.columns.fields}
        self._packer = Packer(shape.arrow(), {task: shape})
        self._task = task

    def packed(self, rows: Sequence[Row]) -> pa.RecordBatch:
        plain = [self._plain(row) for row in rows]
        return self._packer.packed([(self._task, plain)])

    def _plain(self, row: Row) -> Row:
        """Bounds of windows are exact fractions: here they become what the column holds."""
        if not any(isinstance(value, Fraction) for value in row.values()):
            return row
        return {name: _number(value, self._columns.get(name)) for name, value in row.items()}


def frame_schema(shape: Shape) -> types.StructType:
    return nullable(shape.columns)


# ── inside ───────────────────────────────────────────────────────────────────────────────────

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _seen(
    job: Job, task: Task, trigger: Trigger, functions: Functions, samples: Sequence[Row]
) -> Shape:
    """What a trigger emits of the samples, without what it syncs."""
    alone = replace(job, triggers=[replace(trigger, sync=None)])
    window = next(window for window in job.windows if window.id == trigger.window)
    groups = Groups(Windowed(alone, task, window, functions))
    rows = [emitted for row in samples for emitted in groups.add(dict(row))]
    rows += groups.finish()
    if not rows:
        raise UnknownShape(
            f"no sample shows what the trigger {trigger.id} of the task `{task.name}` emits: "
            "declare the task's `schema`"
        )
    return inferred([{k: _number(v, None) for k, v in row.items()} for row in rows], task.name)


def _number(value: Any, kind: types.DataType | None) -> Any:
    if not isinstance(value, Fraction):
        return value
    if isinstance(kind, types.TimestampType):
        return _EPOCH + timedelta(microseconds=int(value * 10**6))
    if isinstance(kind, types.IntegralType) and value.denominator == 1:
        return int(value)
    return float(value)
