# pyright: basic
"""What a driver does before it has a job, so that the job finds all classes loaded.

In a fresh JVM the first query takes seconds, most of them for loading and compiling classes. The
first step is what every job needs; the others are done while nobody asks for the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

Step = Callable[[SparkSession, Path], None]


def query(spark: SparkSession, _scratch: Path) -> None:
    """Expressions, a shuffle, and a way through a Python worker by Arrow."""
    rows = spark.range(0, 100, 1, 1).mapInArrow(_unchanged, "id long")
    rows.selectExpr("id % 3 as key").groupBy("key").count().collect()


def files(spark: SparkSession, scratch: Path) -> None:
    path = str(scratch / "warm-files")
    spark.range(10).write.mode("overwrite").parquet(path)
    spark.read.parquet(path).count()


def stream(spark: SparkSession, scratch: Path) -> None:
    """A stateful query over files, from its start to its checkpoint."""
    source = spark.readStream.schema("id long").parquet(str(scratch / "warm-files"))
    (
        source.groupBy("id")
        .count()
        .writeStream.outputMode("update")
        .trigger(availableNow=True)
        .option("checkpointLocation", str(scratch / "warm-checkpoint"))
        .foreachBatch(_counted)
        .start()
        .awaitTermination()
    )
    # Its state would be looked after in the background for as long as the JVM lives.
    states = "org.apache.spark.sql.execution.streaming.state.StateStore"
    getattr(spark.sparkContext._jvm, states).stop()  # noqa: SLF001


FIRST: tuple[Step, ...] = (query,)
LATER: tuple[Step, ...] = (files, stream)


def _unchanged(batches: Iterable[Any]) -> Iterator[Any]:
    yield from batches


def _counted(rows: DataFrame, _epoch: int) -> None:
    rows.count()
