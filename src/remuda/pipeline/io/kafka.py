# Spark's readers and writers answer what is untyped.
# pyright: basic
"""Topics, through Spark's connector, whose package is not part of pyspark.

Reading is exact: offsets are in the checkpoint. Writing is at least once: Spark's connector has no
transactions, and a crash while an epoch is published publishes it again. Each message carries its
commit's key as the header `remuda-commit`, by which a consumer can tell.
"""

from __future__ import annotations

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import array, col, from_json, lit, struct, to_json

from remuda.errors import RemudaError
from remuda.pipeline.io import jvm, options
from remuda.pipeline.io.datasource import key_of
from remuda.pipeline.io.held import Held
from remuda.pipeline.io.options import entry, option
from remuda.pipeline.io.port import BadOutput, Target
from remuda.pipeline.io.schemas import declared
from remuda.pipeline.model.job import Task
from remuda.pipeline.model.problems import Problem, nearest
from remuda.pipeline.run import Run

_CONNECTOR = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_PACKAGE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
_SERVERS = "kafka.bootstrap.servers"
_SUBSCRIPTIONS = ("subscribe", "subscribePattern", "assign")
_READ = (
    *_SUBSCRIPTIONS,
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "failOnDataLoss",
    "includeHeaders",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "groupIdPrefix",
)
_WRITE = ("topic", "key")


class NoKafka(RemudaError):
    """Spark's connector for Kafka is not on the class path."""


class KafkaPlugin:
    """An input has Kafka's own columns; with a `schema`, the columns of the JSON in `value`. An
    output writes rows as JSON, under the key in the column that the option `key` names."""

    def check(self, task: Task) -> list[Problem]:
        given = [name for name in task.options if name.lower().startswith("kafka.")]
        known = [*given, _SERVERS, *(_READ if task.type == "input" else _WRITE)]
        problems = [
            *options.unknown(task, known),
            *options.missing(task, _SERVERS, "like `broker:9092`"),
        ]
        if task.type == "output":
            problems += options.missing(task, "topic", "where the rows go")
        elif sum(option(task, name) is not None for name in _SUBSCRIPTIONS) != 1:
            choices = ", ".join(f"`{name}`" for name in _SUBSCRIPTIONS)
            problems.append(Problem(entry(task), "options", f"one of {choices} says what to read"))
        return problems

    def read(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        return self._loaded(spark, spark.read, task)

    def read_stream(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        return self._loaded(spark, spark.readStream, task)

    def stage(self, rows: DataFrame, target: Target) -> None:
        _expect_connector(rows.sparkSession, target.task)
        key = option(target.task, "key")
        if key is not None and key not in rows.columns:
            raise BadOutput(
                f"{target}: `key` names `{key}`, and the rows have no such column"
                f"{nearest(key, rows.columns)}"
            )
        Held(target).stage(rows)

    def publish(self, target: Target) -> int:
        def append(rows: DataFrame) -> None:
            own = options.passed_on(target.task, "key")
            messages(rows, target).write.format("kafka").options(
                **own, includeHeaders="true"
            ).save()

        return Held(target).publish(append)

    def discard(self, target: Target) -> None:
        Held(target).discard()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _loaded(self, spark: SparkSession, reader, task: Task) -> DataFrame:
        _expect_connector(spark, task)
        rows = reader.format("kafka").options(**options.passed_on(task)).load()
        schema = declared(task)
        if schema is None:
            return rows
        parsed = from_json(col("value").cast("string"), schema, {"mode": "FAILFAST"})
        return rows.select(parsed.alias("row")).select("row.*")


def messages(rows: DataFrame, target: Target) -> DataFrame:
    """Rows as Kafka takes them."""
    key = option(target.task, "key")
    header = struct(lit("remuda-commit").alias("key"), lit(key_of(target).encode()).alias("value"))
    every_field = {"ignoreNullFields": "false"}
    return rows.select(
        (lit(None) if key is None else col(key)).cast("string").alias("key"),
        to_json(struct("*"), every_field).alias("value"),
        array(header).alias("headers"),
    )


def _expect_connector(spark: SparkSession, task: Task) -> None:
    if not jvm.has_class(spark, _CONNECTOR):
        raise NoKafka(
            f"{entry(task)}: Spark's connector for Kafka is not there: add `{_PACKAGE}` to "
            "`spark.jars.packages`, or put its jars on the class path"
        )


kafka = KafkaPlugin()
