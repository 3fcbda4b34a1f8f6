"""What tests of windows share: a session that is quick with many small plans, as theirs are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

# Compiling a plan takes longer than a dozen rows do without it.
_SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}


@pytest.fixture
def spark(spark: SparkSession) -> Iterator[SparkSession]:
    before = {key: spark.conf.get(key) for key in _SMALL}
    for key, value in _SMALL.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        assert value is not None
        spark.conf.set(key, value)
