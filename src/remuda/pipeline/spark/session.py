"""A Spark session as Remuda wants it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

# What every session has. Times are in UTC, so that results do not depend on the machine; state is
# in RocksDB, so that it may be larger than memory.
_ALWAYS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.python.filterPushdown.enabled": "true",
}

# For short runs, as in tests: the quick compiler starts sooner and tops out lower.
QUICK_START: Mapping[str, str] = {
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.stream.error.file=/dev/null"
    ),
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def make_session(
    name: str, *, master: str = "local[2]", options: Mapping[str, str] | None = None
) -> SparkSession:
    """A new session in this process; Python workers are of the same Python as this process."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in {**_ALWAYS, **(options or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
