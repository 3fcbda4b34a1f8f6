# Rows are of any shape.
# pyright: basic
"""Rows from Python, and back into Python: for tests, and for jobs that run in the caller's process.

An input's rows are in `run.inputs`. An output's are answered by `rows_of(job id, task)` in the
process that published them, and go with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from remuda.pipeline.io import options
from remuda.pipeline.io.failures import first_line, in_one_line
from remuda.pipeline.io.options import entry, option
from remuda.pipeline.io.port import BadInput, NothingStaged, Target
from remuda.pipeline.io.schemas import declared, remembered
from remuda.pipeline.io.storage import LocalStorage
from remuda.pipeline.model.job import Task, TaskName
from remuda.pipeline.model.problems import Problem
from remuda.pipeline.run import Run

Row = dict[str, Any]

_staged: dict[tuple[str, TaskName, int], list[Row]] = {}
_published: dict[tuple[str, TaskName], dict[int, list[Row]]] = {}


def rows_of(job_id: str, task: TaskName) -> list[Row]:
    """What a job has written to a memory output, epoch by epoch."""
    epochs = _published.get((job_id, task), {})
    return [row for number in sorted(epochs) for row in epochs[number]]


def forget(job_id: str) -> None:
    for key in [key for key in _published if key[0] == job_id]:
        del _published[key]


class MemoryPlugin:
    def check(self, task: Task) -> list[Problem]:
        known = ("files", "maxFilesPerTrigger") if task.type == "input" else ()
        return [*options.unknown(task, known), *options.whole_number(task, "files")]

    # ── input ────────────────────────────────────────────────────────────────────────────────

    def read(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        return _frame(spark, task, _given(run, task))

    def read_stream(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        """Through files in the job's directory, so that a run after this one finds the same."""
        schema = remembered(run, task, lambda: self.read(spark, task, run).schema)
        folder = run.work / "memory" / quote(task.name, safe="")
        if not folder.exists():
            scratch = folder.with_name(f".{folder.name}")
            LocalStorage().remove(str(scratch))
            for number, rows in enumerate(_chunks(_given(run, task), _files(task))):
                frame = spark.createDataFrame(_arranged(rows, schema.names), schema)
                frame.coalesce(1).write.parquet(f"file://{scratch}/{number:05}")
            LocalStorage().make_durable(str(scratch))
            LocalStorage().move(str(scratch), str(folder))
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.options(**options.passed_on(task, "files")).parquet(f"file://{folder}/*")

    # ── output ───────────────────────────────────────────────────────────────────────────────

    def stage(self, rows: DataFrame, target: Target) -> None:
        with in_one_line():
            _staged[_key(target)] = rows.toArrow().to_pylist(maps_as_pydicts="strict")

    def publish(self, target: Target) -> int:
        epochs = _published.setdefault((target.run.job_id, target.task.name), {})
        if target.number not in epochs:
            if _key(target) not in _staged:
                raise NothingStaged(f"{target}: nothing of it is staged in this process")
            target.run.check_fence()
            epochs[target.number] = _staged[_key(target)]
        self.discard(target)
        return len(epochs[target.number])

    def discard(self, target: Target) -> None:
        _staged.pop(_key(target), None)


memory = MemoryPlugin()


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _key(target: Target) -> tuple[str, TaskName, int]:
    return target.run.job_id, target.task.name, target.number


def _given(run: Run, task: Task) -> list[Row]:
    if task.name not in run.inputs:
        raise BadInput(f"{entry(task)}: no rows were given for it: a memory input needs them")
    return run.inputs[task.name]


def _frame(spark: SparkSession, task: Task, rows: list[Row]) -> DataFrame:
    schema = declared(task)
    if schema is not None:
        try:
            return spark.createDataFrame(_arranged(rows, schema.names), schema)
        except PySparkException as error:
            raise BadInput(f"{entry(task)}: a row does not fit: {first_line(error)}") from None
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise BadInput(
            f"{entry(task)}: there are no rows to see columns in: declare the task's `schema`"
        )
    try:
        columns = {name: pa.array([row.get(name) for row in rows]) for name in names}
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise BadInput(f"{entry(task)}: a column has values of several kinds: {error}") from None
    return spark.createDataFrame(pa.table(columns))


def _arranged(rows: Iterable[Row], names: list[str]) -> list[tuple[Any, ...]]:
    return [tuple(row.get(name) for name in names) for row in rows]


def _files(task: Task) -> int:
    return int(option(task, "files", 2))


def _chunks(rows: list[Row], count: int) -> list[list[Row]]:
    """As evenly as can be, in order; at least one, for a stream needs a directory to look at."""
    size = max(1, -(-len(rows) // count))
    return [rows[start : start + size] for start in range(0, len(rows), size)] or [[]]
