# Objects of the JVM are of any shape.
# pyright: basic
"""What is at a path, as Spark's readers would find it."""

from __future__ import annotations

from typing import Literal

from pyspark.sql import SparkSession

from remuda.pipeline.io import jvm

Found = Literal["missing", "empty", "files"]


def found(spark: SparkSession, address: str) -> Found:
    """Names that begin with `_` or `.` are passed over, as Spark does. A path may be a pattern."""
    path = jvm.of(spark).org.apache.hadoop.fs.Path(address)
    files = path.getFileSystem(jvm.hadoop_configuration(spark))
    matched = files.globStatus(path)
    if not matched:
        return "missing"
    return "files" if any(_has_files(files, status) for status in matched) else "empty"


def _has_files(files, status) -> bool:
    if status.isFile():
        return True
    root = status.getPath().toString()
    below = files.listFiles(status.getPath(), True)
    while below.hasNext():
        inside = below.next().getPath().toString().removeprefix(root).strip("/")
        if not any(part.startswith(("_", ".")) for part in inside.split("/")):
            return True
    return False
