# Spark's types are of any shape.
# pyright: basic
"""A job as Spark DataFrames: from what its inputs read to what its outputs write.

The same frames serve a batch and a stream. Building them runs nothing on Spark, but for samples of
rows where a shape is neither declared nor annotated, and then only if the caller gave none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Protocol, TypeAlias

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql import types as spark_types

from remuda.pipeline.forms import form_of
from remuda.pipeline.functions import Functions, Row
from remuda.pipeline.model.job import Form, Job, Task, TaskName
from remuda.pipeline.model.problems import BadJob
from remuda.pipeline.run import Run
from remuda.pipeline.spark.audit import CONSUMED, VALUE, Audit, Sum
from remuda.pipeline.spark.boundaries import applied, grouped
from remuda.pipeline.spark.counts import Counts
from remuda.pipeline.spark.cut import Pass, Place, cut, entry_of, refused
from remuda.pipeline.spark.row_pass import TO, Destination, PassPlan, column_name, mapper
from remuda.pipeline.spark.shapes import Shapes
from remuda.pipeline.spark.types import Shape, merged, nullable, of_frame

SAMPLE_ROWS = 200

Summed: TypeAlias = Callable[[], Sum]


class WindowOp(Protocol):
    """What the triggers of a task emit for the rows that its windows are given, of which `samples`
    are the first."""

    def __call__(
        self,
        rows: DataFrame,
        job: Job,
        task: Task,
        functions: Functions,
        *,
        streaming: bool,
        samples: Callable[[], list[Row]],
    ) -> DataFrame: ...


class Shared(Struct, frozen=True):
    """Several outputs in one frame: a row has `__to`, the number of its output, and is in the
    struct column of its output. `outputs` has both, by output."""

    frame: DataFrame
    outputs: Mapping[TaskName, tuple[int, str]]

    def of(self, output: TaskName) -> DataFrame:
        number, column = self.outputs[output]
        return self.frame.where(sql.col(TO) == number).select(f"{column}.*")


class Outputs(Struct, frozen=True):
    """`frames` is what each output writes. `shared` are the passes with several outputs, for a
    writer that can write them in one go. `ends` are windows that lead nowhere, and are there for
    what their triggers do. `repeated` are all frames with several uses."""

    frames: Mapping[TaskName, DataFrame]
    ends: Sequence[DataFrame]
    shared: Sequence[Shared]
    repeated: Sequence[DataFrame]
    counts: Counts
    audit: Audit

    def check_audit(self) -> None:
        """When all outputs of a batch are written: raises AuditFailed if the job is audited, and a
        row was lost or doubled between two tasks."""
        self.audit.check()

    def hold(self) -> None:
        """In a batch: what several outputs are made of is kept, once computed."""
        for frame in self.repeated:
            frame.persist(StorageLevel.MEMORY_AND_DISK)

    def release(self) -> None:
        for frame in self.repeated:
            frame.unpersist()


def build(
    spark: SparkSession,
    run: Run,
    inputs: Mapping[TaskName, DataFrame],
    windows: WindowOp,
    *,
    streaming: bool = False,
    samples: Mapping[TaskName, list[Row]] | None = None,
) -> Outputs:
    """The frames of a job's outputs. Raises BadJob, UnknownShape, UnknownFunction."""
    return _Building(spark, run, inputs, windows, streaming, samples or {}).build()


def forms_of(job: Job, functions: Functions) -> dict[TaskName, Form | None]:
    return {task.name: form_of(task, functions) for task in job.catalog}


# ── inside ───────────────────────────────────────────────────────────────────────────────────


class _Building:
    def __init__(
        self,
        spark: SparkSession,
        run: Run,
        inputs: Mapping[TaskName, DataFrame],
        windows: WindowOp,
        streaming: bool,
        samples: Mapping[TaskName, list[Row]],
        *,
        is_twin: bool = False,
    ) -> None:
        self._is_twin = is_twin
        self._spark = spark
        self._run = run
        self._job = run.job
        self._functions = Functions(run.functions)
        self._forms = forms_of(run.job, self._functions)
        self._inputs = inputs
        self._windows = windows
        self._streaming = streaming
        self._samples = samples
        self._taken: dict[TaskName, list[Row]] = {}
        self._counts = Counts(spark.sparkContext)
        self._cut = cut(run.job, self._forms)
        self._entries = {
            task.name: place
            for task in run.job.catalog
            if task.type != "input"
            and (place := entry_of(run.job, task, self._forms[task.name])) is not None
        }
        self._parts: dict[Place, list[DataFrame]] = {place: [] for place in self._cut.places}
        # What arrives at each place, and what leaves it.
        self._arrived: dict[Place, DataFrame] = {}
        self._left: dict[Place, DataFrame] = {}
        self._shared: list[Shared] = []
        self._repeated: list[DataFrame] = []
        self._audit = Audit()
        # In a stream only the steps of each pass are compared: a sum over a frame is a batch's.
        self._is_audited = run.job.audit and not is_twin and not streaming
        self._steps = self._built()

    def build(self) -> Outputs:
        problems = list(refused(self._job, self._forms))
        if problems:
            raise BadJob(problems)
        for _ in self._steps:
            pass
        frames = {p.task: frame for p, frame in self._arrived.items() if p.kind == "output"}
        ends = [
            frame
            for place, frame in self._left.items()
            if place.kind == "windows" and not self._cut.uses_of(place)
        ]
        return Outputs(frames, ends, self._shared, self._repeated, self._counts, self._audit)

    def rows_at(self, place: Place, *, arrived: bool) -> DataFrame:
        """What arrives at a place, or what leaves it; built no further than that."""
        frames = self._arrived if arrived else self._left
        while place not in frames:
            next(self._steps)
        return frames[place]

    def _built(self) -> Iterator[None]:
        """One place after the other."""
        for place in self._cut.places:
            self._arrived[place] = self._arriving(place)
            yield
            if place.kind == "output":
                continue
            if len([w for w in self._job.windows if w.task == place.task]) > 1:
                self._repeated.append(self._arrived[place])
            frame = self._left[place] = self._made(place)
            yield
            if place.kind != "input" and self._cut.uses_of(place) > 1:
                self._repeated.append(frame)
            produced: Summed = Sum
            if self._is_audited:
                frame, produced = self._audit.marked(frame, str(place))
            for to in self._cut.links.get(place, ()):
                self._hand_over(frame, [place.task], to, produced)
            if place in self._cut.passes:
                self._add_pass(self._cut.passes[place], frame, produced)

    def _hand_over(
        self, frame: DataFrame, sources: Sequence[TaskName], to: Place, produced: Summed
    ) -> None:
        """Rows come to a place."""
        frame = delivered(frame, to)
        if self._is_audited:
            frame, consumed = self._audit.summed(frame)
            self._audit.expect(sources, to.task, produced, consumed)
            frame = frame.drop(VALUE)
        self._parts[to].append(frame)

    def _arriving(self, place: Place) -> DataFrame:
        if place.kind == "input":
            return self._inputs[place.task]
        frame, *others = self._parts[place]
        for other in others:
            frame = frame.unionByName(other, allowMissingColumns=True)
        return frame

    def _made(self, place: Place) -> DataFrame:
        """The rows that leave a place."""
        task, rows = self._job.task(place.task), self._arrived[place]
        if place.kind == "input":
            return rows
        if place.kind == "windows":
            return self._windows(
                rows,
                self._job,
                task,
                self._functions,
                streaming=self._streaming,
                samples=partial(self._sample, place, arrived=True),
            )
        if task.group_by is not None or task.group_by_fn is not None:
            rows = grouped(rows, task, self._functions)
        form = self._forms[place.task]
        if place.kind == "group" or form is None:
            return rows
        sample = partial(self._sample, place, arrived=True)
        return applied(rows, self._job, task, form, self._functions, sample)

    # ── passes ───────────────────────────────────────────────────────────────────────────────

    def _add_pass(self, cut: Pass, source: DataFrame, produced: Summed) -> None:
        name = str(cut.source)
        consumed = partial(self._counts.audited, name, CONSUMED)
        self._audit.expect([cut.source.task], cut.leading_to[0], produced, consumed)
        shape = of_frame(source.schema).without([VALUE])
        sample = partial(self._sample, cut.source, arrived=False)
        shapes = Shapes(self._job, cut, self._functions, shape, sample)
        by_place = {place: shapes.to(place, self._entries) for place in cut.destinations}
        columns = {
            place: nullable(merged(list(by_task.values()), place.task).columns)
            for place, by_task in by_place.items()
        }
        several = len(cut.destinations) > 1
        distinct = list(dict.fromkeys(columns.values())) if several else []
        plan = PassPlan(
            self._job,
            cut,
            tuple(
                Destination(
                    place,
                    by_place[place],
                    Shape(columns[place], frozenset()).arrow(),
                    distinct.index(columns[place]) if several else 0,
                )
                for place in cut.destinations
            ),
            tuple(Shape(column, frozenset()).arrow() for column in distinct),
            self._run.functions,
            self._entries,
            self._counts.told,
            self._is_audited,
        )
        sums = {p: partial(self._counts.audited, name, str(p)) for p in cut.destinations}
        valued = [VALUE] if self._is_audited else []
        if not several:
            (place,) = cut.destinations
            frame = source.mapInArrow(mapper(plan), _with_values(columns[place], valued))
            self._hand_over(frame, list(by_place[place]), place, sums[place])
            return
        tagged = source.mapInArrow(mapper(plan), _with_values(_tagged_columns(distinct), valued))
        outputs: dict[TaskName, tuple[int, str]] = {}
        for number, place in enumerate(cut.destinations):
            column = column_name(plan.destinations[number].column)
            frame = tagged.where(sql.col(TO) == number).select(f"{column}.*", *valued)
            self._hand_over(frame, list(by_place[place]), place, sums[place])
            if place.kind == "output" and self._cut.sources_of(place) == [cut.source]:
                outputs[place.task] = (number, column)
        # What is written in one go is not summed up for each output: an audited job does not.
        if len(outputs) > 1 and not self._is_audited:
            self._shared.append(Shared(tagged, outputs))
        self._repeated.append(tagged)

    # ── samples ──────────────────────────────────────────────────────────────────────────────

    def _sample(self, place: Place, *, arrived: bool) -> list[Row]:
        """A few of the rows that arrive at a place, or that leave it."""
        if place.kind == "input":
            return self._input_sample(place.task)
        rows: list[Row] = []
        if self._twin is not None:
            rows = _first(self._twin.rows_at(place, arrived=arrived))
        if not rows and not self._streaming and not self._is_audited:
            rows = _first(self.rows_at(place, arrived=arrived))
        return rows

    def _input_sample(self, task: TaskName) -> list[Row]:
        if task not in self._taken:
            if task in self._samples:
                self._taken[task] = self._samples[task]
            else:
                self._taken[task] = [] if self._streaming else _first(self._inputs[task])
        return list(map(dict, self._taken[task]))

    @cached_property
    def _twin(self) -> _Building | None:
        """The same job over a few rows of its inputs; nothing of it is called but functions."""
        if self._is_twin:
            return None
        samples = {task: self._input_sample(task) for task in self._inputs}
        if not all(samples.values()):
            return None
        job = replace(
            self._job,
            lifecycles=[],
            triggers=[replace(trigger, sync=None) for trigger in self._job.triggers],
        )
        inputs = {
            task: self._spark.createDataFrame(
                pa.Table.from_pylist(rows, of_frame(self._inputs[task].schema).arrow())
            )
            for task, rows in samples.items()
        }
        run = replace(self._run, job=job)
        return _Building(self._spark, run, inputs, self._windows, False, samples, is_twin=True)


def delivered(frame: DataFrame, _to: Place) -> DataFrame:
    """Rows on their way to a place: nothing happens to them, and the audit shows it."""
    return frame


def _with_values(columns: spark_types.StructType, valued: list[str]) -> spark_types.StructType:
    more = [spark_types.StructField(name, spark_types.LongType()) for name in valued]
    return spark_types.StructType([*columns.fields, *more])


def _first(frame: DataFrame) -> list[Row]:
    return frame.limit(SAMPLE_ROWS).toArrow().to_pylist(maps_as_pydicts="strict")


def _tagged_columns(columns: list[spark_types.StructType]) -> spark_types.StructType:
    tagged = spark_types.StructType([spark_types.StructField(TO, spark_types.IntegerType())])
    for number, column in enumerate(columns):
        tagged = tagged.add(column_name(number), column)
    return tagged
