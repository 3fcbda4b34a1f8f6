# pyarrow has no types.
# pyright: basic
"""A pass at work in a Python worker: batches of one place in, batches for other places out.

One destination gets plain rows. Several get `__to`, the number of the destination, and a struct
column for each shape, null but for the one meant.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
from msgspec import Struct
from pyspark import Accumulator

from remuda.pipeline.functions import Functions, Row
from remuda.pipeline.model.graph import Graph
from remuda.pipeline.model.job import Job, TaskName
from remuda.pipeline.spark.arrow_rows import Packer, rows_from
from remuda.pipeline.spark.audit import VALUE, Ledger, Sum, compare, in_memory
from remuda.pipeline.spark.counts import Counter, Tallies
from remuda.pipeline.spark.cut import Pass, Place
from remuda.pipeline.spark.failures import marked
from remuda.pipeline.spark.shipping import Shipped
from remuda.pipeline.spark.types import Shape
from remuda.pipeline.stage import Stage

TO = "__to"

Batches: TypeAlias = Iterator[pa.RecordBatch]
Delivered: TypeAlias = dict[Place, list[tuple[TaskName, list[Row]]]]


class Destination(Struct, frozen=True):
    """`shapes` is what rows look like by the task that made them, `schema` all of them together.
    `column` is the struct column that they are in."""

    place: Place
    shapes: Mapping[TaskName, Shape]
    schema: pa.Schema
    column: int


class PassPlan(Struct, frozen=True):
    """All that a worker needs to know."""

    job: Job
    cut: Pass
    destinations: tuple[Destination, ...]
    # The struct columns; none where there is one destination.
    columns: tuple[pa.Schema, ...]
    functions: Mapping[str, Callable[..., Any]]
    # Where rows for each task go: a place, or another step of the pass.
    entries: Mapping[TaskName, Place]
    told: Accumulator[Tallies]
    # Whether rows have a column with values for the audit, here and where they go.
    is_audited: bool = False


def mapper(plan: PassPlan) -> Callable[[Batches], Batches]:
    """The pass as a function for `mapInArrow`."""
    shipped = Shipped(plan)

    def row_pass(batches: Batches) -> Batches:
        return run_pass(shipped.content, batches)

    return row_pass


def run_pass(plan: PassPlan, batches: Batches) -> Batches:
    with marked():
        steps = Steps(plan, Counter(str(plan.cut.source), plan.told))
        ledger = Ledger() if plan.is_audited else None
        packers = {d.place: Packer(d.schema, dict(d.shapes)) for d in plan.destinations}
        try:
            for batch in batches:
                with _no_collection():
                    delivered = steps.run(rows_from(ledger.consumed(batch) if ledger else batch))
                    packed = [
                        (number, packers[destination.place].packed(parts))
                        for number, destination in enumerate(plan.destinations)
                        if (parts := delivered[destination.place])
                    ]
                    del delivered
                for number, one in packed:
                    rows = _tagged(plan, number, one) if plan.columns else one
                    if ledger:
                        values = ledger.produced(str(plan.destinations[number].place), one)
                        rows = rows.append_column(VALUE, values)
                    yield rows
        finally:
            steps.stop(ledger.sums if ledger else {})


@contextlib.contextmanager
def _no_collection() -> Generator[None]:
    """While a batch's rows come to life by the ten thousand, none of them is garbage: looking for
    some, as Python does all the while, would cost a tenth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _tagged(plan: PassPlan, number: int, packed: pa.RecordBatch) -> pa.RecordBatch:
    size, meant = packed.num_rows, plan.destinations[number].column
    tags = pa.array([number], pa.int32()).take(pa.array([0] * size, pa.int32()))
    structs = [
        packed.to_struct_array() if column == meant else pa.nulls(size, pa.struct(list(schema)))
        for column, schema in enumerate(plan.columns)
    ]
    names = [TO, *(column_name(column) for column in range(len(structs)))]
    return pa.RecordBatch.from_arrays([tags, *structs], names)


def column_name(column: int) -> str:
    return f"__{column}"


class Steps:
    """The stages of a pass, started with its first rows."""

    def __init__(self, plan: PassPlan, counter: Counter) -> None:
        functions = Functions(plan.functions)
        tasks = {task.name: task for task in plan.job.catalog}
        self._entries = plan.entries
        self._counter = counter
        self._kept = {d.place.task: d.place for d in plan.destinations if d.place.kind in _KEEP}
        self._places = [d.place for d in plan.destinations]
        self._first = None if plan.cut.runs_first else plan.cut.steps[0]
        self._stages = {
            name: Stage(
                plan.job,
                tasks[name],
                functions,
                runs_function=plan.cut.runs(name),
                leading_to=plan.cut.leading_to if name == plan.cut.steps[0] else None,
            )
            for name in plan.cut.steps
        }
        self._is_audited = plan.job.audit
        self._sources = Graph(plan.job.workflow).preceding
        self._started: list[Stage] = []
        self._is_started = False

    def run(self, rows: list[Row]) -> Delivered:
        """What arrives at each destination, by the task that it comes from."""
        if not self._is_started:
            self._start()
        delivered: Delivered = {place: [] for place in self._places}
        arriving: dict[TaskName, list[Row]] = {name: [] for name in self._stages}
        arriving[next(iter(self._stages))] = rows
        produced: dict[TaskName, Sum] = {}
        for name, stage in self._stages.items():
            arrived = arriving[name]
            if name in produced:
                compare(self._sources[name], name, produced[name], in_memory(arrived))
            done = stage.route(arrived) if name == self._first else stage.run(arrived)
            if done.routed_errors:
                self._counter.routed_error(name, done.routed_errors)
            if done.kept:
                delivered[self._kept[name]].append((name, done.kept))
            for to, routed in done.routed.items():
                if not routed:
                    continue
                self._counter.passed(name, to, len(routed))
                if to in self._stages:
                    if self._is_audited:
                        produced[to] = produced.get(to, Sum()) + in_memory(routed)
                    arriving[to] = joined(arriving[to], routed)
                else:
                    delivered[self._entries[to]].append((name, routed))
        return delivered

    def stop(self, audit: Mapping[str, Sum]) -> None:
        self._counter.tell(audit)
        for stage in reversed(self._started):
            stage.stop()

    def _start(self) -> None:
        self._is_started = True
        for stage in self._stages.values():
            self._started.append(stage)
            stage.start()


_KEEP = ("windows", "output")


def joined(arrived: list[Row], more: list[Row]) -> list[Row]:
    return arrived + more if arrived else more
