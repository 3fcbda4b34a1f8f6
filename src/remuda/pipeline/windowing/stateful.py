# pyright: basic
# ruff: noqa: N802, N803  (Spark's names of methods and arguments)
"""The state machine in a stream: its state kept by Spark, its clock Spark's timers.

Rows go into `transformWithState` and out of it as bytes, by one pass in Python before and one after
it: so they are the same dicts as everywhere else, whatever types their columns have, and Spark
moves a few columns instead of all. The pass before numbers the rows, and the machine takes those of
a micro-batch in the order in which they came.

Spark asks its state and its timers about one key at a time, over a socket, which takes as long as
dozens of rows do. So its keys are buckets of groups: a bucket's groups, with all their windows, are
one value of the state, with one timer for the first window that ends. Rows whose time is before the
watermark are late, even if their window is still open: Spark drops and counts them.

Spark has timers by event time, or by the clock, for one operator. A window with a trigger on
`timer`, in a stream that goes on, has the clock's, and its other triggers are looked after with
each period.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
from msgspec import Struct
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from remuda.pipeline.durations import seconds_of
from remuda.pipeline.functions import Row
from remuda.pipeline.model.job import Job
from remuda.pipeline.spark.arrow_rows import rows_from
from remuda.pipeline.spark.types import Shape
from remuda.pipeline.window_state import Held, Windowed
from remuda.pipeline.windowing import times
from remuda.pipeline.windowing.closing import AT, END_MS, SHIFT_S, watched
from remuda.pipeline.windowing.grouping import key_of
from remuda.pipeline.windowing.native import lateness, with_time
from remuda.pipeline.windowing.shapes import Rows, frame_schema
from remuda.pipeline.windows import SECOND

_PACKED = f"__bucket int, __order long, __row binary, {AT} timestamp"
# Pinned by checkpoints: another number, and rows would not find their groups' windows.
_BUCKETS = 1024
_EDGE = Fraction(1, 1000)


def fired(
    rows: DataFrame,
    windows: Sequence[Windowed],
    job: Job,
    shape: Shape,
    closing: str | Path | None,
) -> DataFrame:
    """What the triggers of windows emit of a stream. All have the same time column, or none."""
    task = windows[0].window.task
    timed = with_time(rows, windows[0].window, streaming=True)
    packed = _packed(timed, windows[0], rows.columns)
    # Spark drops rows at the watermark itself, which are not late: it stays behind a little more.
    late = max(lateness(windowed.window) for windowed in windows) + _EDGE
    ids = {windowed.window.id for windowed in windows}
    periods = [
        times.milliseconds(seconds_of(trigger.period) or Fraction(1))
        for trigger in job.triggers
        if trigger.window in ids and trigger.period is not None
    ]
    by_clock = job.mode == "continuous" and bool(periods)
    emitted = (
        watched(packed, times.delay(late), closing)
        .groupBy("__bucket")
        .transformWithState(
            _Clocked(windows, min(periods)) if by_clock else _Watched(windows),
            "__row binary",
            "Append",
            "ProcessingTime" if by_clock else "EventTime",
        )
    )
    return _unpacked(emitted, shape, task)


# ── rows as bytes ────────────────────────────────────────────────────────────────────────────


def _packed(rows: DataFrame, windowed: Windowed, columns: list[str]) -> DataFrame:
    group_of = windowed.group_of

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        order = (0 if context is None else context.partitionId()) << 40
        for batch in batches:
            dicts = rows_from(batch.select(columns))
            groups = [group_of(row) for row in dicts]
            keys = [key_of(group) for group in groups]
            triples = zip(keys, groups, dicts, strict=True)
            arrays = [
                pa.array([crc32(key) % _BUCKETS for key in keys], pa.int32()),
                pa.array(range(order, order + len(dicts)), pa.int64()),
                pa.array([pickle.dumps(triple) for triple in triples], pa.binary()),
                batch.column(AT),
            ]
            order += len(dicts)
            yield pa.RecordBatch.from_arrays(arrays, names=["__bucket", "__order", "__row", AT])

    return rows.mapInArrow(pack, _PACKED)


def _unpacked(made: DataFrame, shape: Shape, task: str) -> DataFrame:
    emitted = Rows(shape, task)

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield emitted.packed([pickle.loads(row.as_py()) for row in batch.column(0)])

    return made.mapInArrow(unpack, frame_schema(shape))


# ── what runs in Spark's state operator ──────────────────────────────────────────────────────


class _Group(Struct):
    """What is kept of a group: itself, and its windows by id."""

    group: Any
    held: dict[str, Held]


class _Bucket(Struct):
    """Groups by key, and the next timer that is set for them."""

    groups: dict[bytes, _Group] = {}
    timer_ms: int | None = None


class _Machine(StatefulProcessor):
    def __init__(self, windows: Sequence[Windowed]) -> None:
        self._windows = windows

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._state = handle.getValueState("bucket", "bucket binary")

    def close(self) -> None:
        pass

    def _add(self, bucket: _Bucket, rows: Iterator[Any]) -> Iterator[Row]:
        for packed in sorted(rows, key=lambda row: row["__order"]):
            key, group, row = pickle.loads(packed["__row"])
            kept = bucket.groups.get(key)
            if kept is None:
                held: dict[str, Held] = {windowed.window.id: {} for windowed in self._windows}
                kept = bucket.groups[key] = _Group(group, held)
            for windowed in self._windows:
                at = windowed.at(row)
                assert at is not None
                yield from windowed.add(kept.held[windowed.window.id], kept.group, at, row)

    def _end(self, bucket: _Bucket, timer_values: Any) -> Iterator[Row]:
        """What is emitted for the windows that the watermark has passed."""
        watermark_ms = timer_values.getCurrentWatermarkInMs()
        passed = watermark_ms * 1000 - SHIFT_S * SECOND
        for windowed, held, group in self._each(bucket):
            if windowed.window.type != "global":
                yield from windowed.complete(held, group, passed)
            elif watermark_ms >= END_MS:
                yield from windowed.finish(held, group)

    def _each(self, bucket: _Bucket) -> Iterator[tuple[Windowed, Held, Any]]:
        for kept in bucket.groups.values():
            for windowed in self._windows:
                yield windowed, kept.held[windowed.window.id], kept.group

    def _loaded(self) -> _Bucket:
        kept = self._state.get()
        return _Bucket() if kept is None else pickle.loads(kept[0])

    def _keep(self, bucket: _Bucket) -> None:
        bucket.groups = {k: kept for k, kept in bucket.groups.items() if any(kept.held.values())}
        if bucket.groups:
            self._state.update((pickle.dumps(bucket),))
        else:
            self._state.clear()


class _Watched(_Machine):
    """By event time: windows end as the watermark passes them."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        bucket = self._loaded()
        yield from _as_bytes(self._add(bucket, rows))
        self._await(bucket)
        self._keep(bucket)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any):
        bucket = self._loaded()
        yield from _as_bytes(self._end(bucket, timerValues))
        bucket.timer_ms = None
        self._await(bucket)
        self._keep(bucket)

    def _await(self, bucket: _Bucket) -> None:
        """Sets a timer for the window that ends first, unless it is set."""
        ends = [
            END_MS
            if windowed.window.type == "global"
            else -(-windowed.ends(extent) // 1000) + SHIFT_S * 1000
            for windowed, held, _ in self._each(bucket)
            for extent in held
        ]
        if ends and (bucket.timer_ms is None or min(ends) < bucket.timer_ms):
            bucket.timer_ms = min(ends)
            self._handle.registerTimer(bucket.timer_ms)


class _Clocked(_Machine):
    """By the clock: triggers on `timer` fire with each period, and windows end as they are seen to
    have ended then."""

    def __init__(self, windows: Sequence[Windowed], period_ms: int) -> None:
        super().__init__(windows)
        self._period_ms = period_ms

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        bucket = self._loaded()
        yield from _as_bytes(self._add(bucket, rows))
        if bucket.timer_ms is None:
            self._set(bucket, timerValues)
        self._keep(bucket)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any):
        bucket = self._loaded()
        yield from _as_bytes(self._end(bucket, timerValues))
        for windowed, held, group in self._each(bucket):
            yield from _as_bytes(windowed.tick(held, group))
        if any(held for _, held, _ in self._each(bucket)):
            self._set(bucket, timerValues)
        self._keep(bucket)

    def _set(self, bucket: _Bucket, timer_values: Any) -> None:
        bucket.timer_ms = timer_values.getCurrentProcessingTimeInMs() + self._period_ms
        self._handle.registerTimer(bucket.timer_ms)


def _as_bytes(rows: Iterable[Row]) -> Iterator[SparkRow]:
    for row in rows:
        yield SparkRow(__row=pickle.dumps(row))
