# Rows are of any shape here, as users' are.
# pyright: basic
"""Jobs for tests, run by any of the executors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from remuda.pipeline.functions import Functions
from remuda.pipeline.model.job import Job, Task
from remuda.pipeline.run import Run
from remuda.pipeline.spark.arrow_rows import rows_from
from remuda.pipeline.spark.batch import Outputs, build
from remuda.pipeline.spark.failures import killed_by
from remuda.pipeline.windowing.operator import emitted

Row = dict[str, Any]
Known = Mapping[str, Callable[..., Any]]


def windows(
    rows: DataFrame,
    job: Job,
    task: Task,
    functions: Functions,
    *,
    streaming: bool,
    samples: Callable[[], list[Row]],
) -> DataFrame:
    return emitted(rows, job, task, functions, streaming=streaming, samples=samples)


def built(
    spark: SparkSession, job: Job, inputs: Mapping[str, list[Row] | DataFrame], functions: Known
) -> Outputs:
    frames = {
        name: rows if isinstance(rows, DataFrame) else frame_of(spark, rows)
        for name, rows in inputs.items()
    }
    return build(spark, Run(job, "test", Path("unused"), functions=functions), frames, windows)


def frame_of(spark: SparkSession, rows: list[Row]) -> DataFrame:
    """Rows in their order, in two partitions or more."""
    table = pa.Table.from_pylist(rows)
    half = len(rows) // 2
    first, second = (spark.createDataFrame(part) for part in (table[:half], table[half:]))
    return first.union(second)


def on_spark(
    spark: SparkSession, job: Job, inputs: Mapping[str, list[Row] | DataFrame], functions: Known
) -> dict[str, list[Row]]:
    """What each output is given; raises as a user would see it."""
    try:
        frames = built(spark, job, inputs, functions).frames
        return {name: collected(frame) for name, frame in frames.items()}
    except Exception as error:
        raise killed_by(error) from None


def collected(frame: DataFrame) -> list[Row]:
    return [row for batch in frame.toArrow().to_batches() for row in rows_from(batch)]


def multiset(rows: list[Row]) -> Counter[str]:
    """Rows without regard to order. A key without a value is as good as none."""
    return Counter(str(sorted((k, v) for k, v in row.items() if v is not None)) for row in rows)
