# pyarrow has no types.
# pyright: basic
"""Rows to Arrow and back, with a check that costs next to nothing while rows fit.

A batch is looked at as a whole, by loops in C. Only if something is wrong with it is it looked at
row by row, to say what.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from remuda.pipeline.functions import Row
from remuda.pipeline.killed import JobKilled, shown
from remuda.pipeline.model.job import TaskName
from remuda.pipeline.spark.types import Shape

_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)


class BadRow(JobKilled):
    """A task made a row that is not as its schema says."""


def rows_from(batch: pa.RecordBatch) -> list[Row]:
    """Maps are dicts, as users write them; without maps, Arrow has a way that is much quicker."""
    if any(_has_map(field.type) for field in batch.schema):
        return batch.to_pylist(maps_as_pydicts="strict")
    return batch.to_pylist()


def _has_map(data_type: pa.DataType) -> bool:
    return pa.types.is_map(data_type) or any(
        _has_map(data_type.field(number).type) for number in range(data_type.num_fields)
    )


class Packer:
    """Rows that come to one place from several tasks, to Arrow."""

    def __init__(self, schema: pa.Schema, shapes: dict[TaskName, Shape]) -> None:
        self._schema = schema
        self._checks = {task: _Check(task, shape, schema) for task, shape in shapes.items()}

    def packed(self, parts: Sequence[tuple[TaskName, list[Row]]]) -> pa.RecordBatch:
        """The rows that each of the tasks made, in this order. Raises BadRow."""
        if len(parts) == 1:
            ((task, rows),) = parts
            return self._checks[task].packed(rows)
        batches = [self._checks[task].packed(rows) for task, rows in parts]
        return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


class _Check:
    """Rows of one task."""

    def __init__(self, task: TaskName, shape: Shape, schema: pa.Schema) -> None:
        self._task = task
        self._shape = shape
        self._schema = schema
        self._known = set(shape.names)
        self._not_null = [f.name for f in shape.columns.fields if not f.nullable]
        self._seen_rows = 0

    def packed(self, rows: list[Row]) -> pa.RecordBatch:
        try:
            batch = pa.RecordBatch.from_pylist(rows, self._schema)
        except _UNFIT:
            raise self._complaint(rows) from None
        if not self._keys_fit(rows, batch) or any(
            batch.column(name).null_count for name in self._not_null
        ):
            raise self._complaint(rows)
        self._seen_rows += len(rows)
        return batch

    def _keys_fit(self, rows: list[Row], batch: pa.RecordBatch) -> bool:
        """A row of the right size whose columns all have values has the right keys, so only those
        columns are looked at that have nulls."""
        if set(map(len, rows)) == {len(self._known)}:
            gaps = [name for name in self._shape.names if batch.column(name).null_count]
            if all(name in row for name in gaps for row in rows):
                return True
        required = self._shape.required
        return all(
            self._known.issuperset(keys) and required.issubset(keys)
            for keys in set(map(tuple, rows))
        )

    # ── what is wrong ────────────────────────────────────────────────────────────────────────

    def _complaint(self, rows: list[Row]) -> BadRow:
        for number, row in enumerate(rows, self._seen_rows + 1):
            what = self._wrong(row)
            if what is not None:
                return BadRow(
                    f"row {number:,} of the task `{self._task}` does not fit: {what}; the row is "
                    f"{shown(row)}: mend the function, or the task's `schema`"
                )
        return BadRow(f"the rows of the task `{self._task}` do not fit its schema")

    def _wrong(self, row: Row) -> str | None:
        for key in row:
            if key not in self._known:
                return f"`{key}` is not among its keys, {', '.join(self._shape.names)}"
        for field in self._shape.columns.fields:
            if field.name not in row:
                if field.name in self._shape.required:
                    return f"`{field.name}` is missing"
                continue
            value = row[field.name]
            expected = field.dataType.simpleString()
            if value is None and not field.nullable:
                return f"`{field.name}` is null, expected {expected}"
            if not _fits(value, self._schema.field(field.name).type):
                kind = type(value).__name__
                return f"`{field.name}` is {shown(value)} ({kind}), expected {expected}"
        return None


def _fits(value: Any, data_type: pa.DataType) -> bool:
    try:
        pa.array([value], data_type)
    except _UNFIT:
        return False
    return True
