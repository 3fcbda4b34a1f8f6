# pyarrow has no types.
# pyright: basic
"""Functions from Arrow batch to Arrow batch."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from remuda.pipeline.forms import takes_table
from remuda.pipeline.functions import Functions, Row
from remuda.pipeline.killed import TaskFailed
from remuda.pipeline.model.job import Task


def vectorised(task: Task, functions: Functions, rows: list[Row]) -> list[Row]:
    """An Arrow function on all rows at once."""
    if not rows:
        return []
    return arrow_function(task, functions)(pa.RecordBatch.from_pylist(rows)).to_pylist()


def arrow_function(task: Task, functions: Functions) -> Callable[[pa.RecordBatch], pa.Table]:
    """A task's function with its parameters bound; takes a batch, whatever it is written for."""
    assert task.fn is not None
    function = functions.bound(task.fn, task.params)
    wants_table = takes_table(functions.find(task.fn))

    def called(batch: pa.RecordBatch) -> pa.Table:
        try:
            made = function(pa.Table.from_batches([batch]) if wants_table else batch)
        except Exception as error:
            raise TaskFailed(task.name, f"the task `{task.name}`", error) from error
        if isinstance(made, pa.RecordBatch):
            return pa.Table.from_batches([made])
        if not isinstance(made, pa.Table):
            wrong = TypeError(f"an Arrow function answers a RecordBatch or a Table, not {made!r}")
            raise TaskFailed(task.name, f"the task `{task.name}`", wrong) from wrong
        return made

    return called
