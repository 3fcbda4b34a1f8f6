# Spark's readers and writers answer what is untyped.
# pyright: basic
"""Anything that is a data source of Spark's: by the name it is registered under, or by its class.

A sink is told the commit's key as the option `commit`. One that remembers keys receives each commit
exactly once; any other, at least once.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource

from remuda.pipeline.io import options
from remuda.pipeline.io.failures import in_one_line
from remuda.pipeline.io.held import Held
from remuda.pipeline.io.options import entry, option
from remuda.pipeline.io.port import BadInput, Target
from remuda.pipeline.io.schemas import declared
from remuda.pipeline.model.job import Task
from remuda.pipeline.model.problems import Problem
from remuda.pipeline.run import Run


class DataSourcePlugin:
    """Options are the source's own: they are passed on as they are."""

    def __init__(self, source: type[DataSource] | None = None) -> None:
        self._source = source

    def check(self, task: Task) -> list[Problem]:
        if self._source is not None:
            return []
        return [*options.missing(task, "format", "the name of the data source")]

    def read(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        return self._loaded(spark, spark.read, task)

    def read_stream(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        return self._loaded(spark, spark.readStream, task)

    def stage(self, rows: DataFrame, target: Target) -> None:
        Held(target).stage(rows)

    def publish(self, target: Target) -> int:
        def append(rows: DataFrame) -> None:
            writer = rows.write.format(self._format(rows.sparkSession, target.task))
            own = options.passed_on(target.task, "format")
            writer.options(**own, commit=key_of(target)).mode("append").save()

        return Held(target).publish(append)

    def discard(self, target: Target) -> None:
        Held(target).discard()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _format(self, spark: SparkSession, task: Task) -> str:
        if self._source is None:
            return str(option(task, "format"))
        spark.dataSource.register(self._source)
        return self._source.name()

    def _loaded(self, spark: SparkSession, reader, task: Task) -> DataFrame:
        form = self._format(spark, task)
        loading = reader.format(form).options(**options.passed_on(task, "format"))
        schema = declared(task)
        try:
            with in_one_line(task):
                return (loading if schema is None else loading.schema(schema)).load()
        except Exception as error:
            if re.search(r"DATA_SOURCE_NOT_FOUND|UNSUPPORTED_STREAMING", str(error)):
                raise BadInput(
                    f"{entry(task)}: Spark knows no data source `{form}` that can be read so: "
                    "register it, or name its class as `plugin`: module:Class"
                ) from None
            raise


def key_of(target: Target) -> str:
    """What a commit is known by, wherever it is made."""
    job, task = (quote(part, safe="") for part in (target.run.job_id, target.task.name))
    return f"{job}/{task}/{target.number}"


registered = DataSourcePlugin()
