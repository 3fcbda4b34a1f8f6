# pyarrow and Spark's readers are untyped.
# pyright: basic
"""What a job costs beside the same work written in PySpark by hand: read Parquet, compute, write
Parquet.

All take turns in one run, warm, and the figure is the ratio of medians. A row function by hand is
one `mapInArrow` with a loop over dicts; a chain by hand, as one would write it who keeps tasks
apart, is four of them.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from bench import order_rows
from bench.stage import Bar, Sheet
from remuda.pipeline.here import run_here
from remuda.pipeline.spark.types import declared

LIMIT_S = 1200.0

_SQL_ROWS = 5_000_000
_PYTHON_ROWS = 1_000_000
_ROUNDS = 5
_CHAIN = ("total", "tax", "label", "flag")
_SQL = "*, qty * price as total, qty * price * 0.2 as tax, concat(name, '-', qty) as label"


def run(sheet: Sheet) -> None:
    with tempfile.TemporaryDirectory() as folder, order_rows.spark_for() as spark:
        _measure(sheet, spark, Path(folder))


def _measure(sheet: Sheet, spark: SparkSession, folder: Path) -> None:
    large, small = str(folder / "large"), str(folder / "small")
    order_rows.orders(spark, _SQL_ROWS).write.parquet(large)
    order_rows.orders(spark, _PYTHON_ROWS).write.parquet(small)
    sheet.say(f"{_SQL_ROWS:,} and {_PYTHON_ROWS:,} orders are in Parquet")
    sql = _medians(
        {
            "by hand": lambda: _written(spark.read.parquet(large).selectExpr(*_parts()), folder),
            "as a job": lambda: _job(spark, large, folder, [("sql", {"sql": _SQL})]),
        },
    )
    sheet.figure("SQL by hand", _SQL_ROWS / sql["by hand"], "rows/s")
    sheet.figure("SQL as a job", sql["as a job"] / sql["by hand"], "times", Bar("under", 1.05))
    chain = [(name, _row_task(name)) for name in _CHAIN]
    python = _medians(
        {
            "one by hand": lambda: _written(_by_hand(spark.read.parquet(small), _CHAIN), folder),
            "four by hand": lambda: _written(_four_passes(spark.read.parquet(small)), folder),
            "as a job": lambda: _job(spark, small, folder, chain),
            "audited": lambda: _job(spark, small, folder, chain, audit=True),
        },
    )
    mine, one = python["as a job"], python["one by hand"]
    sheet.figure("row functions by hand, one pass", _PYTHON_ROWS / one, "rows/s")
    sheet.figure("row functions as a job", mine / one, "times", Bar("under", 1.15))
    faster = python["four by hand"] / mine
    sheet.figure("four tasks, against four passes by hand", faster, "x", Bar("at least", 2.0))
    sheet.figure("price of the audit", 100 * (python["audited"] / mine - 1), "%")


def _medians(cases: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Of each case, in turns; the first turn does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(_ROUNDS + 1):
        for name, work in cases.items():
            began = time.perf_counter()
            work()
            if turn:
                seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(times) for name, times in seconds.items()}


# ── by hand ──────────────────────────────────────────────────────────────────────────────────


def _parts() -> list[str]:
    return [
        "*",
        "qty * price as total",
        "qty * price * 0.2 as tax",
        "concat(name, '-', qty) as label",
    ]


def _by_hand(rows: DataFrame, names: tuple[str, ...]) -> DataFrame:
    schema = order_rows.SCHEMAS[names[-1]]
    arrow = declared(schema, "by hand").arrow()
    functions = [getattr(order_rows, name) for name in names]

    def compute(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            made = []
            for row in batch.to_pylist():
                for function in functions:
                    row = function(row)
                made.append(row)
            yield pa.RecordBatch.from_pylist(made, arrow)

    return rows.mapInArrow(compute, schema)


def _four_passes(rows: DataFrame) -> DataFrame:
    for name in _CHAIN:
        rows = _by_hand(rows, (name,))
    return rows


def _written(rows: DataFrame, folder: Path) -> None:
    rows.write.mode("overwrite").parquet(str(folder / "by-hand"))


# ── as a job ─────────────────────────────────────────────────────────────────────────────────


def _row_task(name: str) -> dict[str, Any]:
    return {"fn": f"bench.order_rows:{name}", "schema": order_rows.SCHEMAS[name]}


def _job(
    spark: SparkSession,
    source: str,
    folder: Path,
    tasks: list[tuple[str, dict[str, Any]]],
    *,
    audit: bool = False,
) -> None:
    target = folder / "as-a-job"
    shutil.rmtree(target, ignore_errors=True)
    names = ["in", *(name for name, _ in tasks), "out"]
    run_here(
        spark,
        {
            "workflow": [list(pair) for pair in pairwise(names)],
            "catalog": [
                {"name": "in", "type": "input", "plugin": "parquet", "options": {"path": source}},
                *({"name": name, "type": "function", **task} for name, task in tasks),
                {
                    "name": "out",
                    "type": "output",
                    "plugin": "parquet",
                    "options": {"path": str(target)},
                },
            ],
            "audit": audit,
        },
    )
