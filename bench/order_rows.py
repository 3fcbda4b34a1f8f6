"""Orders to compute with, and the functions that jobs and hand-written code share."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from remuda.pipeline.spark.session import make_session

Row = dict[str, Any]

ORDERS = "id long, qty long, price double, name string, at timestamp"


def total(row: Row) -> Row:
    row["total"] = row["qty"] * row["price"]
    return row


def tax(row: Row) -> Row:
    row["tax"] = row["total"] * 0.2
    return row


def label(row: Row) -> Row:
    row["label"] = row["name"] + "-" + str(row["qty"])
    return row


def flag(row: Row) -> Row:
    row["ok"] = row["total"] > 100.0
    return row


SCHEMAS = {
    "total": ORDERS + ", total double",
    "tax": ORDERS + ", total double, tax double",
    "label": ORDERS + ", total double, tax double, label string",
    "flag": ORDERS + ", total double, tax double, label string, ok boolean",
}


def is_large(row: Row) -> bool:
    return row["total"] > 1000.0


def checked_total(row: Row) -> Row:
    """One row in a hundred cannot be priced."""
    if row["id"] % 100 == 0:
        raise ValueError(f"order {row['id']} has no price")
    return total(row)


def complaint(row: Row, error: Exception) -> Row:
    return {"id": row["id"], "reason": str(error)}


def minute(content: Any) -> Row:
    return {"name": content.group, "start": float(content.start), "total": content.value}


@contextmanager
def spark_for(memory: str = "2g") -> Generator[SparkSession]:
    """A session with all cores, and without Spark's chatter."""
    spark = make_session(
        "remuda bench",
        master=f"local[{os.cpu_count()}]",
        options={"spark.driver.host": "127.0.0.1", "spark.driver.memory": memory},
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def orders(spark: SparkSession, rows: int) -> DataFrame:
    return spark.range(rows).selectExpr(
        "id",
        "id % 17 as qty",
        "cast(id % 1000 as double) / 7 as price",
        "concat('item', id % 100) as name",
        "timestamp_seconds(1800000000 + id / 1000) as at",
    )
