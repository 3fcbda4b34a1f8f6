# Spark's readers and writers answer what is untyped.
# pyright: basic
"""Rows that wait in the job's own directory, for outputs that can do no more than append.

They are staged as Parquet, and published by one append, after which a note says that it is done. A
crash in the middle of the append, or before the note, has it done again: at least once. Every
append carries its key, and a receiver that remembers keys makes it exactly once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import msgspec
from pyspark.sql import DataFrame, Observation
from pyspark.sql.functions import count, lit

from remuda.pipeline.io import jvm
from remuda.pipeline.io.failures import in_one_line
from remuda.pipeline.io.port import NothingStaged, Target
from remuda.pipeline.io.storage import LocalStorage


class Held:
    def __init__(self, target: Target) -> None:
        self._target = target
        self._storage = LocalStorage()
        name = quote(target.task.name, safe="")
        self._folder = target.run.work / "staged" / name / str(target.number)
        self._note = target.run.work / "published" / name / f"{target.number}.json"

    @property
    def is_published(self) -> bool:
        return self._note.exists()

    def stage(self, rows: DataFrame) -> None:
        if self.is_published:
            return
        counted = Observation()
        observed = rows.observe(counted, count(lit(1)).alias("rows"))
        with in_one_line():
            observed.write.mode("overwrite").parquet(f"file://{self._attempt()}")
        self._storage.make_durable(str(self._attempt()))
        self._write(self._attempt() / "_remuda.json", counted.get["rows"])

    def publish(self, append: Callable[[DataFrame], None]) -> int:
        if not self.is_published:
            staged = self._newest()
            rows = _rows(staged / "_remuda.json")
            self._target.run.check_fence()
            append(jvm.active().read.parquet(f"file://{staged}"))
            self._write(self._note, rows)
        self.discard()
        return _rows(self._note)

    def discard(self) -> None:
        for folder in self._attempts():
            self._storage.remove(str(folder))

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _attempt(self) -> Path:
        """Each driver has its own: tasks of a dead one may still be writing."""
        return self._folder / str(self._target.run.fence_epoch)

    def _attempts(self) -> list[Path]:
        fence = self._target.run.fence_epoch
        there = [int(name) for name in self._storage.names(str(self._folder)) if name.isdecimal()]
        return [self._folder / str(epoch) for epoch in sorted(there) if epoch <= fence]

    def _newest(self) -> Path:
        whole = [folder for folder in self._attempts() if (folder / "_remuda.json").exists()]
        if not whole:
            raise NothingStaged(
                f"{self._target}: nothing of it is staged: run the job again, under the same id"
            )
        return whole[-1]

    def _write(self, path: Path, rows: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._storage.write(str(path), msgspec.json.encode({"rows": rows}).decode())


def _rows(path: Path) -> int:
    return msgspec.json.decode(path.read_text())["rows"]
