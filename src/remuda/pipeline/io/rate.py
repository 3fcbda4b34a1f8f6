# Spark's readers answer what is untyped.
# pyright: basic
"""Rows from nowhere: `timestamp` and `value`, for tests and for measuring.

In batch there are `rows` of them. As a stream they come by the clock (`rowsPerSecond`), or so many
a micro-batch (`rowsPerBatch`), which is the same on every run.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, timestamp_micros

from remuda.pipeline.io import options
from remuda.pipeline.io.options import entry, option
from remuda.pipeline.io.port import BadInput
from remuda.pipeline.model.job import Task
from remuda.pipeline.model.problems import Problem
from remuda.pipeline.run import Run

_BY_BATCH = ("rowsPerBatch", "startTimestamp", "advanceMillisPerBatch")
_BY_CLOCK = ("rowsPerSecond", "rampUpTime")


class RatePlugin:
    def check(self, task: Task) -> list[Problem]:
        problems = [*options.unknown(task, ("rows", "numPartitions", *_BY_BATCH, *_BY_CLOCK))]
        for name in ("rows", "numPartitions", "rowsPerBatch", "rowsPerSecond"):
            problems += options.whole_number(task, name)
        return problems

    def read(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        rows = option(task, "rows")
        if rows is None:
            raise BadInput(f"{entry(task)}: in batch, `rate` needs the option `rows`: how many")
        step_us = 1_000_000 // int(option(task, "rowsPerSecond", 1))
        parts = option(task, "numPartitions")
        numbers = spark.range(0, int(rows), 1, None if parts is None else int(parts))
        return numbers.select(
            timestamp_micros(col("id") * step_us).alias("timestamp"), col("id").alias("value")
        )

    def read_stream(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        by_batch = option(task, "rowsPerBatch") is not None
        other = _BY_CLOCK if by_batch else _BY_BATCH
        reader = spark.readStream.format("rate-micro-batch" if by_batch else "rate")
        return reader.options(**options.passed_on(task, "rows", *other)).load()


rate = RatePlugin()
