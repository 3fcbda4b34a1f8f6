# Rows are of any shape.
# pyright: basic
"""A job with a fork, a condition, an exception route and a window over five million orders: batch
and stream write the same rows, and on a sample so does the interpreter."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bench import order_rows
from bench.stage import Sheet, Wrong
from remuda.pipeline.here import run_here
from remuda.pipeline.interpreter import interpret
from remuda.pipeline.model.reading import read_job

LIMIT_S = 1500.0

_ROWS = 5_000_000
_SAMPLE = 5_000
_FILES = 10
_PLACES = ("large", "rejected", "minutes")
_PRICED = order_rows.SCHEMAS["total"]


def run(sheet: Sheet) -> None:
    with tempfile.TemporaryDirectory() as folder, order_rows.spark_for("3g") as spark:
        _compare(sheet, spark, Path(folder))


def _compare(sheet: Sheet, spark: SparkSession, folder: Path) -> None:
    source, sample = folder / "orders", folder / "sample"
    rows = order_rows.orders(spark, _ROWS)
    rows.repartitionByRange(_FILES, "id").write.parquet(str(source))
    rows.limit(_SAMPLE).coalesce(1).write.parquet(str(sample))
    for mode in ("batch", "available-now"):
        began = time.perf_counter()
        run_here(spark, _job(source, folder / mode, mode), work=folder / f"work-{mode}")
        sheet.figure(f"{mode}, {_ROWS:,} rows", _ROWS / (time.perf_counter() - began), "rows/s")
    for place in _PLACES:
        one, other = (_read(spark, folder / mode, place) for mode in ("batch", "available-now"))
        if one.exceptAll(other).count() or other.exceptAll(one).count():
            raise Wrong(f"batch and stream differ in what they wrote to `{place}`")
        sheet.figure(f"`{place}`, the same rows in both", one.count(), "rows")
    _compare_sample(sheet, spark, sample, folder)


def _compare_sample(sheet: Sheet, spark: SparkSession, sample: Path, folder: Path) -> None:
    job = _job(sample, folder / "of-sample", "batch")
    run_here(spark, job, work=folder / "work-sample")
    given = [row.asDict() for row in spark.read.parquet(str(sample)).collect()]
    expected = interpret(read_job(job), {"orders": given}).outputs
    for place in _PLACES:
        written = spark.read.parquet(str(folder / "of-sample" / place))
        found = [row.asDict() for row in written.collect()]
        if sorted(map(_rounded, found)) != sorted(map(_rounded, expected[place])):
            raise Wrong(f"the interpreter and Spark differ in `{place}`")
    sheet.figure("sample on which the interpreter agrees", _SAMPLE, "rows")


def _rounded(row: dict[str, Any]) -> str:
    """Sums of floats depend on their order."""
    shown = {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}
    return str(sorted((key, str(value)) for key, value in shown.items()))


def _read(spark: SparkSession, folder: Path, place: str) -> DataFrame:
    rows = spark.read.parquet(str(folder / place)).drop("epoch")
    if place == "minutes":
        return rows.selectExpr("name", "start", "round(total, 2) as total")
    return rows


def _job(source: Path, target: Path, mode: str) -> dict[str, Any]:
    def output(name: str) -> dict[str, Any]:
        options = {"path": str(target / name)}
        return {"name": name, "type": "output", "plugin": "parquet", "options": options}

    return {
        "id": f"orders-{target.name}",
        "mode": mode,
        "workflow": [
            ["orders", "price"],
            ["price", "large"],
            ["price", "rejected"],
            ["price", "by-minute"],
            ["by-minute", "minutes"],
        ],
        "catalog": [
            {
                "name": "orders",
                "type": "input",
                "plugin": "parquet",
                "options": {"path": str(source)}
                | ({} if mode == "batch" else {"maxFilesPerTrigger": 2}),
            },
            {
                "name": "price",
                "type": "function",
                "fn": "bench.order_rows:checked_total",
                "schema": _PRICED,
            },
            {
                "name": "by-minute",
                "type": "reduce",
                "group_by": "name",
                "schema": "name string, start double, total double",
            },
            output("large"),
            output("rejected"),
            output("minutes"),
        ],
        "flow_conditions": [
            {
                "from": "price",
                "to": ["rejected"],
                "thrown_exception": True,
                "post_transform": "bench.order_rows:complaint",
                "short_circuit": True,
            },
            {"from": "price", "to": ["large"], "predicate": "bench.order_rows:is_large"},
            {"from": "price", "to": ["by-minute"]},
        ],
        "windows": [
            {
                "id": "minute",
                "task": "by-minute",
                "type": "fixed",
                "time": "at",
                "range": "1 minute",
                "lateness": "1 hour",
                "aggregation": ["sum", "total"],
            }
        ],
        "triggers": [
            {"id": "done", "window": "minute", "on": "watermark", "emit": "bench.order_rows:minute"}
        ],
    }
