"""A job run in memory, in pure Python. It defines what a job means: Spark must agree with it.

Rows go through the tasks in order: each task has seen all its rows before the next begins. So, of a
bounded input:

- A function is called once for each row, in the order in which rows came, and its rows go where the
  flow conditions say. That of an input makes the rows that are read into those that go on, that of
  an output those that arrive into those that are written.
- A windowed task puts the rows that its function made into its windows, by group, in that order. A
  `reduce` task passes on only what its triggers emit; a function passes on its rows as well.
- A trigger by `segments` fires when so many rows have come to a window of a group since it last
  did; by `punctuation`, when the predicate holds for a row, for the windows that the row is in; by
  `watermark`, once for each window, when it is complete; by `timer`, by the clock, which does not
  move here. At the end every trigger fires once more for each window to which anything came since.
- `discarding` forgets a window's content when it has fired; `accumulating` keeps it.
- A row whose time is null is in no window.

Order is promised along a chain without forks, joins and windows. Elsewhere results are sets with
repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from remuda.pipeline.forms import form_of
from remuda.pipeline.functions import Functions, Row
from remuda.pipeline.killed import JobKilled as JobKilled
from remuda.pipeline.model.graph import Graph
from remuda.pipeline.model.job import Job, Task, TaskName
from remuda.pipeline.stage import Done, Stage
from remuda.pipeline.vectors import vectorised
from remuda.pipeline.window_state import Groups, Windowed


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
        done = _interpreted(job, job.task(name), found, arriving[name])
        for to, rows in done.routed.items():
            arriving[to] += rows
        if job.task(name).type == "output":
            arriving[name] = done.kept
    return Outcome(
        {task.name: arriving[task.name] for task in job.catalog if task.type == "output"}
    )


def _interpreted(job: Job, task: Task, functions: Functions, rows: list[Row]) -> Done:
    """One task: what becomes of the rows that arrive at it."""
    form = form_of(task, functions)
    if form in ("sql", "dataframe"):
        raise JobKilled(
            f"the interpreter runs row and Arrow functions only, and `{task.name}` is {form}: give "
            "it a row function of the same name in a test"
        )
    stage = Stage(job, task, functions, runs_function=form == "row")
    stage.start()
    try:
        done = stage.run(vectorised(task, functions, rows) if form == "arrow" else rows)
    finally:
        stage.stop()
    for window in job.windows:
        if window.task == task.name:
            groups = Groups(Windowed(job, task, window, functions))
            emitted = [row for kept in done.kept for row in groups.add(dict(kept))]
            done.add(stage.route([*emitted, *groups.finish()]).routed)
    return done
