# Objects of the JVM are of any shape.
# pyright: basic
"""The way into the session's JVM, for what pyspark has no call of its own."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def active() -> SparkSession:
    """The session of this process: whoever publishes is not handed one."""
    return SparkSession.active()


def of(spark: SparkSession) -> Any:
    return spark._jvm  # noqa: SLF001


def hadoop_configuration(spark: SparkSession) -> Any:
    context: Any = spark.sparkContext
    return context._jsc.hadoopConfiguration()  # noqa: SLF001


def has_class(spark: SparkSession, name: str) -> bool:
    loader = of(spark).java.lang.Thread.currentThread().getContextClassLoader()
    return loader.getResource(name.replace(".", "/") + ".class") is not None


def array(spark: SparkSession, kind: Any, *items: Any) -> Any:
    """A Java array of these."""
    context: Any = spark.sparkContext
    made = context._gateway.new_array(kind, len(items))  # noqa: SLF001
    for number, item in enumerate(items):
        made[number] = item
    return made
