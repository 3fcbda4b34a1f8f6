# pyright: basic
"""Engines that do real work on Spark, and go wrong in real ways."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from threading import Event
from typing import Any

from remuda.pipeline.run import Progress, Run

HERE = "tests.pipeline.driver.engines"


class Engine:
    """What the others have in common: they refuse what they are not for."""

    def stage(self, spark: Any, run: Run) -> dict[str, Any]:
        raise NotImplementedError

    def seal(self, run: Run) -> dict[str, Any]:
        raise NotImplementedError

    def stream(self, spark: Any, run: Run, stopping: Event) -> dict[str, Any]:
        raise NotImplementedError


class Doubling(Engine):
    """Writes doubled numbers, and moves them into place when they are sealed."""

    def stage(self, spark: Any, run: Run) -> dict[str, Any]:
        run.tell(Progress(batches=1, done=0.5))
        rows = spark.range(0, 1000, 1, 2).mapInArrow(doubled, "id long")
        rows.write.parquet(str(run.work / "staged"))
        return {"cores": spark.sparkContext.defaultParallelism}

    def seal(self, run: Run) -> dict[str, Any]:
        run.check_fence()
        shutil.move(run.work / "staged", run.work / "out")
        return {"rows": 1000}


class Raising(Engine):
    def stage(self, spark: Any, run: Run) -> dict[str, Any]:
        spark.range(0, 1000, 1, 1).mapInArrow(strict, "id long").collect()
        return {}


class Exiting(Engine):
    def stage(self, spark: Any, run: Run) -> dict[str, Any]:
        spark._jvm.java.lang.System.exit(3)
        return {}


class Waiting(Engine):
    """Has nothing to do for a long time."""

    def stage(self, spark: Any, run: Run) -> dict[str, Any]:
        time.sleep(3600)
        return {}


class Busy(Engine):
    """Runs one query, waits until it may run the next, and in that keeps two workers busy."""

    def stage(self, spark: Any, run: Run) -> dict[str, Any]:
        work = str(run.work)

        def noted(batches: Any) -> Any:
            (Path(work) / f"idle-{os.getpid()}").touch()
            yield from batches

        def busy(batches: Any) -> Any:
            (Path(work) / f"busy-{os.getpid()}").touch()
            while True:
                sum(range(1000))

        spark.range(0, 10, 1, 1).mapInArrow(noted, "id long").collect()
        run.tell(Progress(batches=1))
        while not (run.work / "go on").exists():
            time.sleep(0.02)
        spark.range(0, 10, 1, 2).mapInArrow(busy, "id long").collect()
        return {}


class Streaming(Engine):
    def stream(self, spark: Any, run: Run, stopping: Event) -> dict[str, Any]:
        epochs: list[int] = []
        query = (
            spark.readStream.format("rate")
            .load()
            .writeStream.option("checkpointLocation", str(run.work / "checkpoint"))
            .foreachBatch(lambda _rows, epoch: epochs.append(epoch))
            .start()
        )
        while not (stopping.is_set() and epochs):
            run.tell(Progress(batches=len(epochs)))
            time.sleep(0.05)
        query.stop()
        return {"stopped after an epoch": True}


def numbers_in(folder: Path) -> list[int]:
    import pyarrow.parquet

    return sorted(pyarrow.parquet.read_table(folder)["id"].to_pylist())


# ── what runs in Python workers ──────────────────────────────────────────────────────────────


def doubled(batches: Any) -> Any:
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_pydict({"id": [2 * n for n in batch["id"].to_pylist()]})


def strict(batches: Any) -> Any:
    for batch in batches:
        for number in batch["id"].to_pylist():
            check(number)
        yield batch


def check(number: int) -> None:
    if number == 700:
        raise ValueError(f"the row {number} is bad\nand this is more about it")
