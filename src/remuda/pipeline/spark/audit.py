# Spark's types are of any shape.
# pyright: basic
"""Shows that no row was lost or doubled between tasks.

Every row that leaves a place carries a 64-bit value. That of a row of an input is the hash of the
input's name and the row's position; that of a row which a pass makes is derived by hash from those
of the rows that it was made of, with the place that it goes to and its number there. So a row that
is computed again has the same value again. What was produced for an edge and what was consumed on
its other side are XORed, with a count beside, because pairs cancel: by Spark where rows are in
frames, by the pass where they are in Python. Both sides must be equal.

Between the steps of one pass rows never leave memory: there their identity is the value, and both
sides are compared batch by batch, in the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from hashlib import blake2b
from operator import xor
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as sql

from remuda.pipeline.functions import Row
from remuda.pipeline.killed import JobKilled
from remuda.pipeline.model.job import TaskName

VALUE = "__audit"


class AuditFailed(JobKilled):
    """Rows were lost or doubled between tasks: what the job wrote is not what it should be."""


class Sum(Struct, frozen=True):
    """The XOR of some rows' values, and their count."""

    xor: int = 0
    count: int = 0

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.xor ^ other.xor, self.count + other.count)


CONSUMED = "consumed"


class Ledger:
    """A worker's side: one partition of one pass. `sums` are by place, and CONSUMED."""

    def __init__(self) -> None:
        self.sums: dict[str, Sum] = {}
        self._root = np.uint64(0)

    def consumed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Take the values off a batch."""
        column = batch.schema.get_field_index(VALUE)
        values = batch.column(column).to_numpy().view(np.uint64)
        self._root = np.bitwise_xor.reduce(values)
        self._add(CONSUMED, values)
        return batch.remove_column(column)

    def produced(self, place: str, packed: pa.RecordBatch) -> pa.Array:
        """Values for rows that were made of the batch consumed last."""
        salt = np.uint64(int.from_bytes(blake2b(place.encode(), digest_size=8).digest()))
        numbers = np.arange(1, packed.num_rows + 1, dtype=np.uint64)
        values = _mixed(_mixed(np.array([self._root ^ salt]))[0] + numbers)
        self._add(place, values)
        return pa.array(values.view(np.int64))

    def _add(self, at: str, values: Any) -> None:
        total = int(np.bitwise_xor.reduce(values).astype(np.uint64).view(np.int64))
        self.sums[at] = self.sums.get(at, Sum()) + Sum(total, len(values))


def _mixed(values: Any) -> Any:
    """Every bit of the answer depends on every bit of the value (a 64-bit finaliser)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))


def in_memory(rows: list[Row]) -> Sum:
    return Sum(reduce(xor, map(id, rows), 0), len(rows))


def compare(sources: Sequence[TaskName], to: TaskName, produced: Sum, consumed: Sum) -> None:
    """Raises AuditFailed if what was produced is not what was consumed."""
    if produced == consumed:
        return
    between = f"between {', '.join(f'`{source}`' for source in sources)} and `{to}`"
    missing = produced.count - consumed.count
    if missing == 0:
        raise AuditFailed(f"audit: a row was lost and another doubled {between}")
    rows = "1 row was" if abs(missing) == 1 else f"{abs(missing):,} rows were"
    raise AuditFailed(f"audit: {rows} {'lost' if missing > 0 else 'doubled'} {between}")


class Audit:
    """The driver's side: what must be equal when all is written."""

    def __init__(self) -> None:
        self._edges: list[
            tuple[Sequence[TaskName], TaskName, Callable[[], Sum], Callable[[], Sum]]
        ] = []

    def marked(self, frame: DataFrame, place: str) -> tuple[DataFrame, Callable[[], Sum]]:
        """A frame whose rows have values, and what they sum to."""
        value = sql.xxhash64(sql.lit(place), sql.monotonically_increasing_id())
        return self.summed(frame.withColumn(VALUE, value))

    def summed(self, frame: DataFrame) -> tuple[DataFrame, Callable[[], Sum]]:
        observation = Observation()
        observed = frame.observe(
            observation,
            sql.bit_xor(VALUE).alias("xor"),
            sql.count(sql.lit(1)).alias("count"),
        )

        def total() -> Sum:
            found = observation.get
            return Sum(found["xor"] or 0, found["count"])

        return observed, total

    def expect(
        self,
        sources: Sequence[TaskName],
        to: TaskName,
        produced: Callable[[], Sum],
        consumed: Callable[[], Sum],
    ) -> None:
        self._edges.append((sources, to, produced, consumed))

    def check(self) -> None:
        """When all outputs have been written. Raises AuditFailed."""
        for sources, to, produced, consumed in self._edges:
            compare(sources, to, produced(), consumed())
