# Spark's Python API for data sources is untyped in places.
# pyright: basic
"""The ledger in Spark's Python API: a source with offsets, and a sink whose commits are keyed.

Rows are `partition int, sequence bigint, value string`, of which a sink takes `value`, and `key` if
the rows of one key are to be in one partition.

An offset is, for each partition, the number of the next row: `{"0": 17, "1": 4}`. What lies between
two offsets never changes, so a micro-batch that is run again has the same rows.

A sink writes segments in its tasks, durable and not there yet; the driver commits all of them at
once, under a key: the option `commit`, and for a stream the number of the micro-batch with it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    InputPartition,
    LessThan,
    LessThanOrEqual,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import Row, StructType

from remuda.pipeline.io.ledger.log import PARTITIONS, Ledger, Segment, Slice, spread

SCHEMA = "partition int, sequence bigint, value string"

_LineNumbered = tuple[int, int, str]


class LedgerSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "remuda_ledger"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> LedgerReader:
        return LedgerReader(self.options["path"])

    def streamReader(self, schema: StructType) -> LedgerStreamReader:  # noqa: N802
        rows_max = self.options.get("max_rows")
        return LedgerStreamReader(self.options["path"], int(rows_max) if rows_max else None)

    def writer(self, schema: StructType, overwrite: bool) -> LedgerWriter:
        return LedgerWriter(self._opened(), self.options.get("commit"))

    def streamWriter(self, schema: StructType, overwrite: bool) -> LedgerStreamWriter:  # noqa: N802
        return LedgerStreamWriter(self._opened(), self.options["commit"])

    def _opened(self) -> str:
        path = self.options["path"]
        Ledger.open(path, int(self.options.get("partitions") or PARTITIONS))
        return path


# ── the source ───────────────────────────────────────────────────────────────────────────────


@dataclass
class _Part(InputPartition):
    partition: int
    start: int
    end: int


def _rows(path: str, part: _Part) -> Iterator[_LineNumbered]:
    ledger = Ledger(path)
    ledger.refresh()
    for number, line in ledger.read(Slice(part.partition, part.start, part.end)):
        yield part.partition, number, line


class LedgerReader(DataSourceReader):
    """All rows there are; of those that a filter on `partition` or `sequence` leaves out, none is
    read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._partition: int | None = None
        self._start = 0
        self._end: int | None = None

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        for pushed in filters:
            match pushed:
                case EqualTo(("partition",), int() as partition) if self._partition is None:
                    self._partition = partition
                case GreaterThanOrEqual(("sequence",), int() as least):
                    self._start = max(self._start, least)
                case GreaterThan(("sequence",), int() as before):
                    self._start = max(self._start, before + 1)
                case LessThan(("sequence",), int() as end):
                    self._end = end if self._end is None else min(self._end, end)
                case LessThanOrEqual(("sequence",), int() as last):
                    self._end = last + 1 if self._end is None else min(self._end, last + 1)
                case _:
                    yield pushed

    def partitions(self) -> Sequence[_Part]:
        ledger = Ledger(self._path)
        ledger.refresh()
        wanted = enumerate(ledger.ends())
        parts = [
            _Part(number, self._start, end if self._end is None else min(end, self._end))
            for number, end in wanted
            if self._partition in (None, number)
        ]
        return [part for part in parts if part.start < part.end]

    def read(self, partition: InputPartition) -> Iterator[_LineNumbered]:
        assert isinstance(partition, _Part)
        return _rows(self._path, partition)


class LedgerStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, path: str, rows_max: int | None) -> None:
        self._path = path
        self._rows_max = rows_max
        self._ledger = Ledger(path)
        # With a trigger that ends, rows that came after it began are for the next run.
        self._last: list[int] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return _offset([0] * self._ledger.partitions)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable() if self._rows_max is None else ReadMaxRows(self._rows_max)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._ledger.refresh()
        self._last = self._ledger.ends()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        self._ledger.refresh()
        ends = self._ledger.ends() if self._last is None else self._last
        if isinstance(limit, ReadMaxRows):
            return _offset(_limited(_positions(start), ends, limit.max_rows))
        return _offset(ends)

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        self._ledger.refresh()
        return _offset(self._ledger.ends())

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[_Part]:
        return [
            _Part(number, begin, stop)
            for number, (begin, stop) in enumerate(
                zip(_positions(start), _positions(end), strict=True)
            )
            if begin < stop
        ]

    def read(self, partition: InputPartition) -> Iterator[_LineNumbered]:
        assert isinstance(partition, _Part)
        return _rows(self._path, partition)


def _offset(positions: list[int]) -> dict[str, int]:
    return {str(number): position for number, position in enumerate(positions)}


def _positions(offset: dict[str, int]) -> list[int]:
    return [offset[str(number)] for number in range(len(offset))]


def _limited(start: list[int], ends: list[int], rows_max: int) -> list[int]:
    """So many rows in all, from every partition that has some its share."""
    positions = list(start)
    left = rows_max
    while left:
        behind = [number for number, end in enumerate(ends) if positions[number] < end]
        if not behind:
            break
        share = max(1, left // len(behind))
        for number in behind[:left]:
            taken = min(share, ends[number] - positions[number])
            positions[number] += taken
            left -= taken
    return positions


# ── the sink ─────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Written(WriterCommitMessage):
    segments: list[Segment]


def _written(path: str, attempt: str, rows: Iterator[Row]) -> _Written:
    """What a task does."""
    ledger = Ledger(path)
    keyed = ((row.asDict().get("key"), row["value"]) for row in rows)
    return _Written(ledger.write(attempt, spread(keyed, ledger.partitions)))


def _segments(messages: Sequence[Any]) -> list[Segment]:
    """Of all tasks; one that failed has sent nothing."""
    return [segment for message in messages if message is not None for segment in message.segments]


class LedgerWriter(DataSourceWriter):
    """One commit; without a key, one that nobody will repeat."""

    def __init__(self, path: str, key: str | None) -> None:
        self._path = path
        self._attempt = uuid.uuid4().hex
        self._key = key or self._attempt

    def write(self, iterator: Iterator[Row]) -> _Written:
        return _written(self._path, self._attempt, iterator)

    def commit(self, messages: Sequence[Any]) -> None:
        Ledger(self._path).commit(self._key, _segments(messages))

    def abort(self, messages: Sequence[Any]) -> None:
        Ledger(self._path).discard(self._attempt)


class LedgerStreamWriter(DataSourceStreamWriter):
    """A commit for each micro-batch, known by its number."""

    def __init__(self, path: str, key: str) -> None:
        self._path = path
        self._key = key
        self._attempt = uuid.uuid4().hex

    def write(self, iterator: Iterator[Row]) -> _Written:
        return _written(self._path, self._attempt, iterator)

    def commit(self, messages: Sequence[Any], batchId: int) -> None:  # noqa: N803
        Ledger(self._path).commit(f"{self._key}/{batchId}", _segments(messages))

    def abort(self, messages: Sequence[Any], batchId: int) -> None:  # noqa: N803
        Ledger(self._path).drop(_segments(messages))
