"""A job's graph, cut for Spark.

Rows rest at *places*, as DataFrames: what an input reads, what arrives at and comes from a task in
Arrow, DataFrame or SQL form, what arrives at windows and what they emit, what arrives at a grouped
task, what an output writes. Between places rows go through a *pass* (row functions and flow
conditions, in Python) or over a *link* (as they are, and Python does not see them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from remuda.pipeline.model.graph import Graph
from remuda.pipeline.model.job import Form, Job, Task, TaskName
from remuda.pipeline.model.problems import Problem

Kind: TypeAlias = Literal["input", "task", "group", "windows", "output"]


class Place(Struct, frozen=True, order=True):
    kind: Kind
    task: TaskName

    def __str__(self) -> str:
        return self.task if self.kind == "task" else f"{self.task} ({self.kind})"


class Pass(Struct, frozen=True):
    """Rows of a place through row tasks to other places.

    The first step is the task of the place itself: its routes, and before them its function if
    `runs_first`. `leading_to` are those of its following tasks that are reached through the pass.
    """

    source: Place
    steps: tuple[TaskName, ...]
    runs_first: bool
    leading_to: tuple[TaskName, ...]
    destinations: tuple[Place, ...]

    def runs(self, step: TaskName) -> bool:
        return self.runs_first or step != self.steps[0]


class Cut(Struct, frozen=True):
    """`places` in an order in which each comes after all that its rows come from."""

    places: tuple[Place, ...]
    passes: Mapping[Place, Pass]
    links: Mapping[Place, tuple[Place, ...]]

    def sources_of(self, place: Place) -> list[Place]:
        """Where the rows of a place come from."""
        return [
            source
            for source in self.places
            if place in self.links.get(source, ())
            or (source in self.passes and place in self.passes[source].destinations)
        ]

    def uses_of(self, place: Place) -> int:
        """How many passes and links take a place's rows."""
        return len(self.links.get(place, ())) + (place in self.passes)


def cut(job: Job, forms: Mapping[TaskName, Form | None]) -> Cut:
    return _Cutting(job, forms).cut()


def entry_of(job: Job, task: Task, form: Form | None) -> Place | None:
    """The place at which rows for a task arrive; None for a row function, which is in a pass."""
    windowed = _is_windowed(job, task.name)
    if form == "row":
        grouped = task.group_by is not None or task.group_by_fn is not None
        return Place("group", task.name) if grouped and not windowed else None
    if form is not None:
        return Place("task", task.name)
    return Place("windows" if windowed else "output", task.name)


def refused(job: Job, forms: Mapping[TaskName, Form | None]) -> Iterator[Problem]:
    """What a job asks for that the forms of its functions do not allow."""
    for condition in job.flow_conditions:
        form = forms.get(condition.source)
        if condition.thrown_exception and form not in ("row", None):
            what = f"`{condition.source}` has the form {form}, and what it raises belongs to no row"
            yield Problem(f"flow condition {condition.source}", "thrown_exception", what)
    for lifecycle in job.lifecycles:
        form = forms.get(lifecycle.task)
        if lifecycle.task != "all" and form not in ("row", "arrow"):
            what = (
                f"no Python runs around `{lifecycle.task}`: only row and Arrow functions have one"
            )
            yield Problem(f"lifecycle {lifecycle.task}", "task", what)


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _is_windowed(job: Job, name: TaskName) -> bool:
    return any(window.task == name for window in job.windows)


class _Cutting:
    def __init__(self, job: Job, forms: Mapping[TaskName, Form | None]) -> None:
        self._job = job
        self._tasks = {task.name: task for task in job.catalog}
        self._graph = Graph(job.workflow)
        self._order = self._graph.order()
        self._forms = forms
        self._conditioned = {c.source for c in job.flow_conditions if not c.thrown_exception}
        self._entries = {
            name: None if task.type == "input" else entry_of(job, task, forms[name])
            for name, task in self._tasks.items()
        }

    def cut(self) -> Cut:
        places: list[Place] = []
        passes: dict[Place, Pass] = {}
        links: dict[Place, tuple[Place, ...]] = {}
        for name in self._order:
            for place in self._places(name):
                places.append(place)
                if place.kind == "output":
                    continue
                linked, passed = self._onwards(place)
                if linked:
                    links[place] = linked
                if passed is not None:
                    passes[place] = passed
        return Cut(tuple(places), passes, links)

    def _places(self, name: TaskName) -> Iterator[Place]:
        task, form = self._tasks[name], self._forms[name]
        if task.type == "input":
            yield Place("input", name)
        elif self._entries[name] is not None and self._entries[name] == Place("group", name):
            yield Place("group", name)
        if form not in ("row", None):
            yield Place("task", name)
        if _is_windowed(self._job, name):
            yield Place("windows", name)
        if task.type == "output":
            yield Place("output", name)

    def _onwards(self, place: Place) -> tuple[tuple[Place, ...], Pass | None]:
        """Where the rows of a place go: as they are, and through a pass."""
        name = place.task
        task, form = self._tasks[name], self._forms[name]
        if place.kind == "input" and form not in ("row", None):
            return (Place("task", name),), None
        runs_first = place.kind == "group" or (place.kind == "input" and form == "row")
        kept = () if runs_first or place.kind == "windows" else self._kept(name)
        if place.kind == "task" and task.type in ("reduce", "output"):
            return kept, None
        following = self._graph.following[name]
        if runs_first or name in self._conditioned:
            return kept, self._pass(place, runs_first, tuple(following))
        direct = [entry for to in following if (entry := self._entries[to]) is not None]
        through = tuple(to for to in following if self._entries[to] is None)
        passed = self._pass(place, False, through) if through else None
        return (*kept, *direct), passed

    def _kept(self, name: TaskName) -> tuple[Place, ...]:
        """Where the rows that a task's function made go beside its routes."""
        if _is_windowed(self._job, name):
            return (Place("windows", name),)
        return (Place("output", name),) if self._tasks[name].type == "output" else ()

    def _pass(self, source: Place, runs_first: bool, leading_to: tuple[TaskName, ...]) -> Pass:
        reached: set[TaskName] = {source.task}
        destinations: dict[Place, None] = {}
        steps: list[TaskName] = []
        for name in self._order:
            if name not in reached:
                continue
            steps.append(name)
            is_first = name == source.task
            if runs_first or not is_first:
                destinations.update(dict.fromkeys(self._kept(name)))
            if self._tasks[name].type == "reduce" and not (is_first and source.kind == "windows"):
                continue
            for to in leading_to if is_first else self._graph.following[name]:
                entry = self._entries[to]
                if entry is None:
                    reached.add(to)
                else:
                    destinations[entry] = None
        return Pass(source, tuple(steps), runs_first, leading_to, tuple(destinations))
