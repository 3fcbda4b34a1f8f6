"""Rows by edge, counted where they pass.

Each partition of a pass tells what it has counted when it ends, under a name of its own. A
partition that Spark computes again replaces what it told before, so that nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct
from pyspark import Accumulator, SparkContext, TaskContext
from pyspark.accumulators import AccumulatorParam

from remuda.pipeline.model.job import TaskName
from remuda.pipeline.spark.audit import Sum

Edge: TypeAlias = tuple[TaskName, TaskName]


class Tally(Struct, frozen=True):
    """What one partition has counted."""

    edges: Mapping[Edge, int] = {}
    routed_errors: Mapping[TaskName, int] = {}
    audit: Mapping[str, Sum] = {}


# A pass, an epoch of the data (-1 in a batch), a partition.
Teller: TypeAlias = tuple[str, int, int]
Tallies: TypeAlias = dict[Teller, Tally]


# What is older than the epoch before the last is not computed again: it is kept as one tally.
_SETTLED = -2
_KEPT_MAX = 10_000


class Latest(AccumulatorParam[Tallies]):
    def zero(self, value: Tallies) -> Tallies:
        return {}

    def addInPlace(self, value1: Tallies, value2: Tallies) -> Tallies:  # noqa: N802
        value1.update(value2)
        if len(value1) > _KEPT_MAX:
            _settle(value1)
        return value1


def _settle(tallies: Tallies) -> None:
    latest: dict[str, int] = {}
    for name, epoch, _ in tallies:
        latest[name] = max(epoch, latest.get(name, epoch))
    for name, epoch, partition in list(tallies):
        if 0 <= epoch < latest[name] - 1:
            settled = tallies.get((name, _SETTLED, 0), Tally())
            old = tallies.pop((name, epoch, partition))
            tallies[name, _SETTLED, 0] = _both(settled, old)


def _both(one: Tally, other: Tally) -> Tally:
    return Tally(
        _added(one.edges, other.edges, 0),
        _added(one.routed_errors, other.routed_errors, 0),
        _added(one.audit, other.audit, Sum()),
    )


def _added(one: Mapping[Any, Any], other: Mapping[Any, Any], none: Any) -> dict[Any, Any]:
    return {key: one.get(key, none) + other.get(key, none) for key in {**one, **other}}


class Counts:
    """The driver's side: what has been counted so far."""

    def __init__(self, context: SparkContext) -> None:
        self.told: Accumulator[Tallies] = context.accumulator({}, Latest())

    def edges(self) -> dict[str, int]:
        """Rows by edge, as `from → to`."""
        total: dict[str, int] = {}
        for tally in self._tallies():
            for (source, to), count in tally.edges.items():
                edge = f"{source} → {to}"
                total[edge] = total.get(edge, 0) + count
        return total

    def routed_errors(self) -> dict[TaskName, int]:
        total: dict[TaskName, int] = {}
        for tally in self._tallies():
            for task, count in tally.routed_errors.items():
                total[task] = total.get(task, 0) + count
        return total

    def audited(self, name: str, at: str) -> Sum:
        """What the audit of a pass summed up at a place, over all partitions."""
        sums = [
            t.audit[at] for (n, *_), t in self.told.value.items() if n == name and at in t.audit
        ]
        return sum(sums, Sum())

    def _tallies(self) -> list[Tally]:
        return list(self.told.value.values())


class Counter:
    """The worker's side: one partition of one pass."""

    def __init__(self, name: str, told: Accumulator[Tallies]) -> None:
        self._name = name
        self._told = told
        self._edges: dict[Edge, int] = {}
        self._routed_errors: dict[TaskName, int] = {}

    def passed(self, source: TaskName, to: TaskName, rows: int) -> None:
        self._edges[source, to] = self._edges.get((source, to), 0) + rows

    def routed_error(self, task: TaskName, rows: int) -> None:
        self._routed_errors[task] = self._routed_errors.get(task, 0) + rows

    def tell(self, audit: Mapping[str, Sum]) -> None:
        teller = (self._name, *_here())
        self._told.add({teller: Tally(self._edges, self._routed_errors, audit)})


def _here() -> tuple[int, int]:
    """The epoch of the data and the partition that this worker is at."""
    context: Any = TaskContext.get()
    epoch = context.getLocalProperty("streaming.sql.batchId")
    return -1 if epoch is None else int(epoch), context.partitionId()
