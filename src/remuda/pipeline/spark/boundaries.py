# Spark's types are of any shape.
# pyright: basic
"""Tasks that take and make whole frames: functions in Arrow, DataFrame and SQL form, and groups."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import from_arrow_schema

from remuda.pipeline.forms import query_of
from remuda.pipeline.functions import Functions, Row
from remuda.pipeline.killed import JobKilled, TaskFailed
from remuda.pipeline.lifecycles import Lifecycles
from remuda.pipeline.model.job import Form, Job, Task
from remuda.pipeline.spark.arrow_rows import BadRow, rows_from
from remuda.pipeline.spark.failures import marked
from remuda.pipeline.spark.row_pass import Batches
from remuda.pipeline.spark.shipping import Shipped
from remuda.pipeline.spark.types import Shape, UnknownShape, declared, nullable, of_frame
from remuda.pipeline.vectors import arrow_function

# What a SQL task calls the rows that it is given.
ROWS = "rows"
_GROUP = "__group"


def applied(
    frame: DataFrame,
    job: Job,
    task: Task,
    form: Form,
    functions: Functions,
    sample: Callable[[], list[Row]],
) -> DataFrame:
    """What a task's function makes of a frame. `sample` are rows of it, asked for if needed."""
    match form:
        case "sql":
            return _queried(frame, task)
        case "dataframe":
            return _transformed(frame, task, functions)
        case "arrow":
            return _vectorised(frame, job, task, functions, sample)
        case "row":
            raise AssertionError("row functions are in passes")


def grouped(frame: DataFrame, task: Task, functions: Functions) -> DataFrame:
    """Rows with the same key in the same partition."""
    if task.group_by_fn is None:
        keys = [task.group_by] if isinstance(task.group_by, str) else task.group_by or []
        missing = [key for key in keys if key not in frame.columns]
        if missing:
            raise UnknownShape(
                f"the task `{task.name}` groups by `{missing[0]}`, which its rows have not: they "
                f"have {', '.join(frame.columns)}"
            )
        return frame.repartition(*[sql.col(f"`{key}`") for key in keys])
    schema = spark_types.StructType(
        [*nullable(frame.schema).fields, spark_types.StructField(_GROUP, spark_types.LongType())]
    )
    shipped = Shipped((task, functions))

    def group_keys(batches: Batches) -> Batches:
        return _with_groups(*shipped.content, batches)

    return frame.mapInArrow(group_keys, schema).repartition(_GROUP).drop(_GROUP)


# ── SQL and DataFrame ────────────────────────────────────────────────────────────────────────


def _queried(frame: DataFrame, task: Task) -> DataFrame:
    assert task.sql is not None
    session = frame.sparkSession
    frame.createOrReplaceTempView(ROWS)
    try:
        return session.sql(query_of(task.sql), args=task.params)
    except PySparkException as error:
        raise JobKilled(
            f"the SQL of the task `{task.name}` cannot be run over rows with the columns "
            f"{', '.join(frame.columns)}: {_first_line(error)}"
        ) from None
    finally:
        session.catalog.dropTempView(ROWS)


def _transformed(frame: DataFrame, task: Task, functions: Functions) -> DataFrame:
    assert task.fn is not None
    try:
        made = functions.bound(task.fn, task.params)(frame)
    except Exception as error:
        raise TaskFailed(task.name, f"the task `{task.name}`", error) from error
    if not isinstance(made, DataFrame):
        wrong = TypeError(f"a DataFrame function answers a DataFrame, not {made!r}")
        raise TaskFailed(task.name, f"the task `{task.name}`", wrong) from wrong
    return made


def _first_line(error: PySparkException) -> str:
    return " ".join(str(error).strip().split("\n")[0].split())


# ── Arrow ────────────────────────────────────────────────────────────────────────────────────


def _vectorised(
    frame: DataFrame,
    job: Job,
    task: Task,
    functions: Functions,
    sample: Callable[[], list[Row]],
) -> DataFrame:
    if task.schema is not None:
        columns = nullable(declared(task.schema, task.name).columns)
    else:
        columns = nullable(_seen(frame, task, functions, sample()))
    shipped = Shipped((job, task, functions, Shape(columns, frozenset()).arrow()))

    def arrow_task(batches: Batches) -> Batches:
        return _run_vectorised(*shipped.content, batches)

    return frame.mapInArrow(arrow_task, columns)


def _seen(
    frame: DataFrame, task: Task, functions: Functions, rows: list[Row]
) -> spark_types.StructType:
    if not rows:
        raise UnknownShape(
            f"no row of the sample comes to the task `{task.name}`, so what it makes is not known: "
            "declare its `schema`"
        )
    batch = pa.RecordBatch.from_pylist(rows, of_frame(frame.schema).arrow())
    return from_arrow_schema(arrow_function(task, functions)(batch).schema)


def _run_vectorised(
    job: Job, task: Task, functions: Functions, schema: pa.Schema, batches: Batches
) -> Iterator[pa.RecordBatch]:
    function = arrow_function(task, functions)
    lifecycles = Lifecycles(job, task.name, functions)
    started = False
    with marked():
        try:
            for batch in batches:
                if not started:
                    started = True
                    lifecycles.start()
                for part in _parts(batch, task.batch_rows):
                    made = lifecycles.around(part, lambda part=part: function(part))
                    yield from _fitted(made, schema, task).to_batches()
        finally:
            if started:
                lifecycles.stop()


def _parts(batch: pa.RecordBatch, size: int | None) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, size or batch.num_rows):
        yield batch.slice(start, size)


def _fitted(made: pa.Table, schema: pa.Schema, task: Task) -> pa.Table:
    if made.schema.names != schema.names:
        raise BadRow(
            f"the task `{task.name}` made a batch with the columns "
            f"{', '.join(made.schema.names)}, expected {', '.join(schema.names)}: mend the "
            "function, or the task's `schema`"
        )
    try:
        return made.cast(schema)
    except (pa.ArrowException, ValueError) as error:
        raise BadRow(
            f"the task `{task.name}` made a batch that does not fit: "
            f"{' '.join(str(error).split())}: mend the function, or the task's `schema`"
        ) from None


# ── groups ───────────────────────────────────────────────────────────────────────────────────


def _with_groups(task: Task, functions: Functions, batches: Batches) -> Batches:
    assert task.group_by_fn is not None
    key_of = functions.find(task.group_by_fn)
    with marked():
        for batch in batches:
            keys: list[int] = []
            for row in rows_from(batch):
                try:
                    keys.append(zlib.crc32(repr(key_of(row)).encode()))
                except Exception as error:
                    what = f"group_by_fn of the task `{task.name}`"
                    raise TaskFailed(task.name, what, error, row=row) from error
            columns = [*batch.columns, pa.array(keys, pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names, _GROUP])
