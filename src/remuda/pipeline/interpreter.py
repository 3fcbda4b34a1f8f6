"""A job run in memory, in pure Python. It defines what a job means: Spark must agree with it.

Rows go through the tasks in order: each task has seen all its rows before the next begins. So, of a
bounded input:

- A function is called once for each row, in the order in which rows came, and its rows go where the
  flow conditions say.
- A windowed task puts the rows that its function made into its windows, by group, in that order. A
  `reduce` task passes on only what its triggers emit; a function passes on its rows as well.
- A trigger by `segments` fires when so many rows have come to a window of a group since it last
  did; by `punctuation`, when the predicate holds for a row, for the windows that the row is in; by
  `watermark`, once for each window, when it is complete; by `timer`, by the clock, which does not
  move here. At the end every trigger fires once more for each window to which anything came since.
- `discarding` forgets a window's content when it has fired; `accumulating` keeps it.
- A row whose time is null is in no window.

Order is promised along a chain without forks and joins. Elsewhere results are sets with repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from msgspec import Struct

from remuda.errors import RemudaError
from remuda.pipeline.aggregations import Aggregation, named, result_of
from remuda.pipeline.durations import seconds_of
from remuda.pipeline.flow import Holds, Router, predicate
from remuda.pipeline.functions import Functions, Row, rows_of
from remuda.pipeline.model.graph import Graph
from remuda.pipeline.model.job import Job, Task, TaskName, Trigger, Window
from remuda.pipeline.windows import Extent, extents, instant, is_within


class JobKilled(RemudaError):
    """A task's function raised, and no flow condition takes what it raised."""


class Content(Struct, frozen=True):
    """What a trigger's functions are given."""

    window: str
    trigger: str
    group: Any
    # None for a global window; for a session, its first and its last event.
    start: Fraction | None
    end: Fraction | None
    value: Any


class Outcome(Struct, frozen=True):
    outputs: Mapping[TaskName, list[Row]]


def interpret(
    job: Job,
    inputs: Mapping[TaskName, Iterable[Row]],
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Outcome:
    """Run a job on these rows. Functions can be given by name, instead of as `module:function`."""
    found = Functions(functions)
    graph = Graph(job.workflow)
    arriving: dict[TaskName, list[Row]] = {name: [] for name in graph.names}
    for name, rows in inputs.items():
        arriving[name] += [dict(row) for row in rows]
    for name in graph.order():
        task = job.task(name)
        if task.type == "output" and task.fn is None:
            continue
        for to, row in _Interpreted(job, task, found).run(arriving[name]):
            arriving[to].append(row)
    return Outcome(
        {task.name: arriving[task.name] for task in job.catalog if task.type == "output"}
    )


class _Interpreted:
    """One task."""

    def __init__(self, job: Job, task: Task, functions: Functions) -> None:
        if task.sql is not None or task.form in ("arrow", "dataframe", "sql"):
            raise JobKilled(
                f"the interpreter runs row functions only, and `{task.name}` is "
                f"{task.form or 'sql'}: give it a row function of the same name in a test"
            )
        self._task = task
        self._function = None if task.fn is None else functions.bound(task.fn, task.params)
        self._router = Router(job, task.name, functions)
        self._windows = [
            _Windowed(job, task, window, functions)
            for window in job.windows
            if window.task == task.name
        ]

    def run(self, rows: Iterable[Row]) -> Iterable[tuple[TaskName, Row]]:
        for row in rows:
            try:
                made = self._called(row)
            except Exception as error:
                yield from self._routes_of_error(row, error)
                continue
            for one in made:
                if self._task.type != "reduce":
                    yield from self._router.routes(row, one, made)
                for window in self._windows:
                    yield from self._emitted(window.add(one))
        for window in self._windows:
            yield from self._emitted(window.finish())

    def _called(self, row: Row) -> list[Row]:
        if self._function is None:
            return [row]
        tries = 0
        while True:
            try:
                return rows_of(self._function(row))
            except Exception as error:
                tries += 1
                if tries > self._router.retries(row, error):
                    raise

    def _routes_of_error(self, row: Row, error: Exception) -> Iterable[tuple[TaskName, Row]]:
        try:
            return self._router.routes_of_error(row, error)
        except Exception as raised:
            if raised is not error:
                raise
            raise JobKilled(
                f"the task `{self._task.name}` raised {type(error).__name__}: {error}, for the row "
                f"{row}: add a flow condition with thrown_exception, or mend the function"
            ) from error

    def _emitted(self, rows: Iterable[Row]) -> Iterable[tuple[TaskName, Row]]:
        for row in rows:
            yield from self._router.routes(row, row, [row])


# ── windows ──────────────────────────────────────────────────────────────────────────────────


class _State:
    """A window of a group: its aggregate, and how many rows came since each trigger fired."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.since: dict[str, int] = {}


class _Windowed:
    def __init__(self, job: Job, task: Task, window: Window, functions: Functions) -> None:
        self._task = task
        self._window = window
        self._name, self._aggregation = _aggregation(window.aggregation, functions)
        self._group_fn = None if task.group_by_fn is None else functions.find(task.group_by_fn)
        self._triggers = [
            _Firing(trigger, functions) for trigger in job.triggers if trigger.window == window.id
        ]
        self._states: dict[Any, dict[Extent, _State]] = {}

    def add(self, row: Row) -> list[Row]:
        at = Fraction(0)
        if self._window.time is not None:
            if row.get(self._window.time) is None:
                return []
            at = instant(row[self._window.time])
        group = self._group(row)
        emitted: list[Row] = []
        for extent in self._extents(group, at):
            state = self._states[group][extent]
            change = self._aggregation.update(state.value, row)
            state.value = self._aggregation.apply(state.value, change)
            for firing in self._triggers:
                state.since[firing.id] = state.since.get(firing.id, 0) + 1
                if firing.is_due(row, state.since[firing.id]):
                    emitted += self._fire(firing, group, extent, state)
        return emitted

    def finish(self) -> list[Row]:
        emitted: list[Row] = []
        for group, states in self._states.items():
            for extent in sorted(states):
                for firing in self._triggers:
                    if states[extent].since.get(firing.id):
                        emitted += self._fire(firing, group, extent, states[extent])
        return emitted

    def _fire(self, firing: _Firing, group: Any, extent: Extent, state: _State) -> list[Row]:
        state.since[firing.id] = 0
        bounded = self._window.type != "global"
        content = Content(
            self._window.id,
            firing.id,
            group,
            extent.start if bounded else None,
            extent.end if bounded else None,
            result_of(self._name, state.value),
        )
        if firing.discards:
            state.value = self._aggregation.init()
        return firing.act(content)

    def _extents(self, group: Any, at: Fraction) -> list[Extent]:
        """The windows that an event is in, made where they are not there yet."""
        states = self._states.setdefault(group, {})
        if self._window.type == "session":
            return [self._session(states, at)]
        found = list(extents(self._window, at))
        for extent in found:
            states.setdefault(extent, _State(self._aggregation.init()))
        return found

    def _session(self, states: dict[Extent, _State], at: Fraction) -> Extent:
        """The session that an event extends, or begins, or makes of several."""
        gap = seconds_of(self._window.gap or 0)
        assert gap is not None
        near = sorted(extent for extent in states if is_within(extent, at, gap))
        merged = _State(self._aggregation.init())
        for number, extent in enumerate(near):
            old = states.pop(extent)
            merged.value = self._aggregation.merge(merged.value, old.value) if number else old.value
            for trigger, count in old.since.items():
                merged.since[trigger] = merged.since.get(trigger, 0) + count
        grown = Extent(
            min([at, *(extent.start for extent in near)]),
            max([at, *(extent.end for extent in near)]),
        )
        states[grown] = merged
        return grown

    def _group(self, row: Row) -> Any:
        if self._group_fn is not None:
            return self._group_fn(row)
        match self._task.group_by:
            case None:
                return None
            case str() as column:
                return row.get(column)
            case columns:
                return tuple(row.get(column) for column in columns)


class _Firing:
    def __init__(self, trigger: Trigger, functions: Functions) -> None:
        self.id = trigger.id
        self.discards = trigger.refinement == "discarding"
        self._trigger = trigger
        self._holds: Holds = predicate(trigger.predicate, functions)
        self._sync = None if trigger.sync is None else functions.find(trigger.sync)
        self._emit = None if trigger.emit is None else functions.find(trigger.emit)

    def is_due(self, row: Row, since: int) -> bool:
        match self._trigger.on:
            case "segments":
                return since >= (self._trigger.threshold or 1)
            case "punctuation":
                return self._holds(row, {})
            case "timer" | "watermark":
                return False

    def act(self, content: Content) -> list[Row]:
        if self._sync is not None:
            self._sync(content)
        return [] if self._emit is None else rows_of(self._emit(content))


def _aggregation(written: Any, functions: Functions) -> tuple[str | None, Aggregation]:
    match written:
        case [str() as name, str() as column]:
            return name, named(name, column)
        case str() if ":" not in written:
            return written, named(written, None)
        case _:
            return None, functions.find(written)
