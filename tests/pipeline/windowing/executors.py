# pyright: basic
"""One windowed task, run by each of the three executors, and what it emits, as comparable lines."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from remuda.pipeline.functions import Functions, Row
from remuda.pipeline.interpreter import interpret
from remuda.pipeline.model.job import Job
from remuda.pipeline.model.reading import read_job
from remuda.pipeline.window_state import Content
from remuda.pipeline.windowing.closing import close
from remuda.pipeline.windowing.operator import emitted

Known = Mapping[str, Callable[..., Any]]
COLUMNS = "at long, k string, n long, x double"


def job_of(windows: list[dict[str, Any]], *, mode: str = "batch", **task: Any) -> Job:
    """A reduce task with these windows; their triggers are written with them."""
    triggers = [
        {"id": f"{window['id']}-{number}", "window": window["id"], "emit": "test:told", **trigger}
        for window in windows
        for number, trigger in enumerate(window["triggers"])
    ]
    return read_job(
        {
            "mode": mode,
            "workflow": [["in", "sum"], ["sum", "out"]],
            "catalog": [
                {"name": "in", "type": "input", "plugin": "memory"},
                {"name": "sum", "type": "reduce", "schema": "line string", **task},
                {"name": "out", "type": "output", "plugin": "memory"},
            ],
            "windows": [
                {"task": "sum", **{k: v for k, v in window.items() if k != "triggers"}}
                for window in windows
            ],
            "triggers": triggers,
        }
    )


def told(content: Content) -> Row:
    """A content as text, equal where contents are: what was collected, in any order."""
    value = content.value
    if isinstance(value, list):
        value = sorted(map(_plain, value))
    elif isinstance(value, dict):
        value = sorted((key, sorted(map(_plain, rows))) for key, rows in value.items())
    bounds = [None if b is None else str(Fraction(b)) for b in (content.start, content.end)]
    return {"line": f"{content.trigger} {content.group!r} {bounds} {_plain(value)}"}


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return repr(sorted(value.items()))
    return repr(float(value)) if isinstance(value, float) else repr(value)


def by_interpreter(job: Job, rows: list[Row], known: Known) -> Counter[str]:
    out = interpret(job, {"in": rows}, {"test:told": told, **known}).outputs["out"]
    return Counter(row["line"] for row in out)


def by_batch(
    spark: SparkSession, job: Job, rows: list[Row], known: Known, columns: str = COLUMNS
) -> Counter[str]:
    frame = spark.createDataFrame(rows, columns)
    functions = Functions({"test:told": told, **known})
    out = emitted(frame, job, job.task("sum"), functions, streaming=False)
    return Counter(row["line"] for row in out.collect())


class Stream:
    """A streaming query over files, run in steps as `available-now`."""

    def __init__(
        self, spark: SparkSession, job: Job, known: Known, folder: Path, columns: str = COLUMNS
    ) -> None:
        self._spark = spark
        self._folder = folder
        self._files = 0
        self.lines: Counter[str] = Counter()
        self.late_rows = 0
        (folder / "in").mkdir()
        rows = (
            spark.readStream.schema(columns)
            .option("maxFilesPerTrigger", 1)
            .json(str(folder / "in"))
        )
        functions = Functions({"test:told": told, **known})
        self.frame = emitted(
            rows, job, job.task("sum"), functions, streaming=True, closing=folder / "closing"
        )

    def put(self, rows: list[Row]) -> None:
        self._files += 1
        path = self._folder / "in" / f"{self._files:03}.json"
        path.write_text("".join(json.dumps(row, default=_text) + "\n" for row in rows))
        # The source takes the oldest first.
        os.utime(path, (self._files, self._files))

    def run(self) -> None:
        query = self._writer().trigger(availableNow=True).start()
        query.awaitTermination()
        for progress in query.recentProgress:
            self.late_rows += sum(s.numRowsDroppedByWatermark for s in progress.stateOperators)

    @contextmanager
    def running(self) -> Iterator[None]:
        """As `continuous`, for so long."""
        query = self._writer().trigger(processingTime="100 milliseconds").start()
        try:
            yield
        finally:
            query.stop()

    def close(self) -> None:
        close(self._folder / "closing")
        self.run()

    def _writer(self) -> Any:
        writer = self.frame.writeStream.foreachBatch(self._take).outputMode("append")
        return writer.option("checkpointLocation", str(self._folder / "checkpoint"))

    def _take(self, batch: DataFrame, _epoch: int) -> None:
        self.lines.update(row["line"] for row in batch.collect())


def _text(value: Any) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()


def by_stream(
    spark: SparkSession,
    job: Job,
    rows: list[Row],
    known: Known,
    folder: Path,
    columns: str = COLUMNS,
) -> Counter[str]:
    """In two micro-batches of data, and then closed."""
    stream = Stream(spark, job, known, folder, columns)
    half = (len(rows) + 1) // 2
    stream.put(rows[:half])
    stream.put(rows[half:])
    stream.run()
    stream.close()
    return stream.lines
