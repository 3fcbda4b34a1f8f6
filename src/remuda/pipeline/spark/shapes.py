# pyright: basic
"""What rows look like on every edge of a pass, before Spark runs it.

A shape is declared (a task's `schema`), annotated (what a function says that it returns), follows
from another (conditions change no shape, `exclude_keys` takes columns away, what was raised carries
the row that the function was given), or is seen in a sample: the first rows of the source, put
through the same functions here. The sample is taken only if some shape is not known without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from remuda.pipeline.flow import Made, Routed, Router
from remuda.pipeline.forms import row_function
from remuda.pipeline.functions import Functions, Row, rows_of
from remuda.pipeline.killed import JobKilled, TaskFailed
from remuda.pipeline.model.graph import Graph
from remuda.pipeline.model.job import FlowCondition, Job, Task, TaskName
from remuda.pipeline.spark.cut import Pass, Place
from remuda.pipeline.spark.types import Shape, UnknownShape, annotated, declared, inferred, merged

Sample = Callable[[], list[Row]]


class Shapes:
    """Those of one pass. `sample` are the first rows of its source."""

    def __init__(
        self, job: Job, cut: Pass, functions: Functions, source: Shape, sample: Sample
    ) -> None:
        self._graph = Graph(job.workflow)
        tasks = {task.name: task for task in job.catalog}
        self._steps: dict[TaskName, _Step] = {}
        for name in cut.steps:
            before = [self._steps[b] for b in self._graph.preceding[name] if b in self._steps]
            self._steps[name] = _Step(
                job,
                tasks[name],
                functions,
                runs=cut.runs(name),
                before=before if name != cut.steps[0] else [],
                source=(source, sample),
            )
        self._cut = cut
        self._tasks = tasks

    def to(self, place: Place, entries: dict[TaskName, Place]) -> dict[TaskName, Shape]:
        """What comes to a place, by the task that it comes from."""
        given = self._tasks[place.task]
        arriving = {
            name: step
            for name, step in self._steps.items()
            if place.task in self._leading_to(name) and entries.get(place.task) == place
        }
        if given.schema is not None and place.kind == "output":
            shape = declared(given.schema, given.name)
            return dict.fromkeys([*arriving, *self._keeping(place)], shape)
        return {
            **{name: _filled(step.shape_to(place.task), name) for name, step in arriving.items()},
            **{name: _filled(self._steps[name].made, name) for name in self._keeping(place)},
        }

    def _leading_to(self, name: TaskName) -> Iterable[TaskName]:
        if name == self._cut.steps[0]:
            return self._cut.leading_to
        return self._graph.following[name]

    def _keeping(self, place: Place) -> list[TaskName]:
        """The step that hands its own rows to its windows or its output."""
        name = place.task
        return [name] if name in self._steps and self._cut.runs(name) else []


def _filled(shape: Shape, task: TaskName) -> Shape:
    if not shape.names:
        raise UnknownShape(f"the rows of the task `{task}` have no columns")
    return shape


class _Step:
    """One task of a pass: what its rows look like, and those of the sample."""

    def __init__(
        self,
        job: Job,
        task: Task,
        functions: Functions,
        *,
        runs: bool,
        before: list[_Step],
        source: tuple[Shape, Sample],
    ) -> None:
        self.task = task
        self.router = Router(job, task.name, functions)
        self._functions = functions
        self._conditions = [c for c in job.flow_conditions if c.source == task.name]
        self._function = row_function(task, functions) if runs and task.fn is not None else None
        self._before = before
        self._source = source
        self._errors: list[tuple[Row, Exception]] = []

    # ── shapes ───────────────────────────────────────────────────────────────────────────────

    @cached_property
    def arriving(self) -> Shape:
        if not self._before:
            return self._source[0]
        return merged([step.shape_to(self.task.name) for step in self._before], self.task.name)

    @cached_property
    def made(self) -> Shape:
        """What its function makes, or what arrives where none runs."""
        if self._function is None:
            return self.arriving
        if self.task.schema is not None and self.task.type not in ("input", "reduce"):
            return declared(self.task.schema, self.task.name)
        assert self.task.fn is not None
        shape = annotated(self._functions.find(self.task.fn))
        if shape is not None:
            return shape
        if not self.sample_made:
            if self._errors:
                row, error = self._errors[0]
                raise TaskFailed(
                    self.task.name, f"the task `{self.task.name}`", error, row=row
                ) from error
            raise UnknownShape(
                f"no row of the sample comes to the task `{self.task.name}`, so what it makes is "
                "not known: declare its `schema`, or annotate what its function returns"
            )
        return inferred(self.sample_made, self.task.name, self._arriving_or_none())

    def shape_to(self, to: TaskName) -> Shape:
        """What goes to a following task."""
        shapes = [*self._plain_to(to), *self._raised_to(to)]
        return merged(shapes, to) if shapes else self.made

    def _plain_to(self, to: TaskName) -> Iterator[Shape]:
        plain = [c for c in self._conditions if not c.thrown_exception]
        if not plain:
            yield self.made
        for condition in plain:
            if condition.to == "all" or to in condition.to:
                yield self.made.without(condition.exclude_keys)
            if to in (condition.predicate_errors_to or ()):
                yield self._transformed(condition, self.made, self.sample_made)

    def _raised_to(self, to: TaskName) -> Iterator[Shape]:
        if self._function is None:
            return
        for condition in self._conditions:
            if not condition.thrown_exception:
                continue
            shape = None
            if condition.to == "all" or to in condition.to:
                shape = self._transformed(condition, None, self.sample_arriving)
                yield shape.without(condition.exclude_keys)
            if to in (condition.predicate_errors_to or ()):
                yield shape or self._transformed(condition, None, self.sample_arriving)

    def _transformed(
        self, condition: FlowCondition, untouched: Shape | None, rows: list[Row]
    ) -> Shape:
        """What `post_transform` makes of rows; without one they stay as they are."""
        if condition.post_transform is None:
            return untouched or self.arriving
        transform = self._functions.find(condition.post_transform)
        shape = annotated(transform)
        if shape is not None:
            return shape
        raised = self._errors or [(row, Exception("a made-up error")) for row in rows]
        seen: list[Row] = []
        for row, error in raised:
            try:
                seen.append(dict(transform(dict(row), error)))
            except Exception:
                continue
        if not seen:
            raise UnknownShape(
                f"what `{condition.post_transform}` makes of errors of the task "
                f"`{self.task.name}` is not known: annotate what it returns, or declare the "
                "`schema` of the output that its rows go to"
            )
        return inferred(seen, self.task.name, untouched or self._arriving_or_none())

    def _arriving_or_none(self) -> Shape | None:
        try:
            return self.arriving
        except UnknownShape:
            return None

    # ── the sample ───────────────────────────────────────────────────────────────────────────

    @cached_property
    def sample_arriving(self) -> list[Row]:
        if not self._before:
            return self._source[1]()
        return [dict(row) for step in self._before for row in step.sample_to(self.task.name)]

    @cached_property
    def sample_made(self) -> list[Row]:
        if self._function is None:
            return self.sample_arriving
        made: list[Row] = []
        for row in self.sample_arriving:
            try:
                made += rows_of(self._function(dict(row)))
            except Exception as error:
                self._errors.append((row, error))
        return made

    @cached_property
    def _sample_routed(self) -> Routed:
        routed: Routed = {}
        for row in self.sample_made:
            try:
                found = self.router.routes(Made([row], [row]))
            except JobKilled:
                continue
            for to, rows in found.items():
                routed.setdefault(to, []).extend(rows)
        for row, error in self._errors:
            try:
                found = self.router.routes_of_error(dict(row), error) or {}
            except JobKilled:
                continue
            for to, rows in found.items():
                routed.setdefault(to, []).extend(rows)
        return routed

    def sample_to(self, to: TaskName) -> list[Row]:
        """The rows that go to a following task; if no condition holds for any, all: they show as
        well what the function makes of such rows."""
        return self._sample_routed.get(to) or self.sample_made
