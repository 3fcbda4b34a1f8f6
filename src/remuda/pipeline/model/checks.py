"""What shapes cannot say: names that must exist, and entries that need each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, cast

from remuda.pipeline.aggregations import WITH_COLUMN, WITHOUT_COLUMN
from remuda.pipeline.durations import seconds_of
from remuda.pipeline.model import predicates
from remuda.pipeline.model.graph import Graph
from remuda.pipeline.model.job import Duration, FlowCondition, Job, Task, Trigger, Window
from remuda.pipeline.model.problems import Problem, nearest

TASKS_MAX = 1_000

# It names directories and znodes.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check(job: Job) -> list[Problem]:
    """Everything that is wrong with a job, in the order in which a reader would find it."""
    graph = Graph(job.workflow)
    return [
        *_whole(job),
        *_workflow(job, graph),
        *_catalog(job, graph),
        *_flow(job, graph),
        *_windows(job),
        *_triggers(job, graph),
        *_lifecycles(job),
    ]


def too_many_tasks(catalog: Any) -> Problem | None:
    """Looked at before anything else: a report on ten thousand tasks would help nobody."""
    if not isinstance(catalog, list) or len(cast("list[Any]", catalog)) <= TASKS_MAX:
        return None
    count = len(cast("list[Any]", catalog))
    what = f"has {count:,} tasks, and a job has at most {TASKS_MAX:,}: split it"
    return Problem("the job", "catalog", what)


def _whole(job: Job) -> Iterator[Problem]:
    if job.id is not None and not _ID.fullmatch(job.id):
        what = f"expected up to 100 letters, digits, dots, dashes or underscores, got `{job.id}`"
        yield Problem("the job", "id", what)
    if job.every is not None and job.mode != "continuous":
        yield Problem("the job", "every", f"only a continuous job has one, and this is {job.mode}")
    if job.every is not None and seconds_of(job.every) is None:
        yield Problem("the job", "every", _not_a_duration(job.every))
    if job.partitions is not None and job.partitions < 1:
        yield Problem("the job", "partitions", f"expected at least 1, got {job.partitions}")


# ── workflow and catalog ─────────────────────────────────────────────────────────────────────


def _workflow(job: Job, graph: Graph) -> Iterator[Problem]:
    if not job.workflow:
        yield Problem("workflow", None, "has no edges: name at least an input and an output")
    cycle = graph.cycle()
    if cycle:
        yield Problem("workflow", None, f"goes round in a circle: {' → '.join([*cycle, cycle[0]])}")
    known = [task.name for task in job.catalog]
    for name in graph.names:
        if name not in known:
            hint = nearest(name, known)
            yield Problem("workflow", None, f"the task `{name}` is not in the catalog{hint}")


def _catalog(job: Job, graph: Graph) -> Iterator[Problem]:
    yield from _twice("catalog entry", "name", (task.name for task in job.catalog))
    for task in job.catalog:
        where = f"catalog entry {task.name}"
        if task.name not in graph.following:
            hint = nearest(task.name, graph.names)
            yield Problem(where, None, f"is not in the workflow{hint}")
            continue
        yield from _place(where, task, graph)
        yield from _content(where, task, job)
        yield from _peers(where, task)
    if job.task_scheduler == "percentage":
        yield from _percentages(job)


def _place(where: str, task: Task, graph: Graph) -> Iterator[Problem]:
    before, after = graph.preceding[task.name], graph.following[task.name]
    if task.type == "input" and before:
        yield Problem(where, "type", f"an input comes first, but `{before[0]}` leads to it")
    if task.type != "input" and not before:
        yield Problem(
            where, "type", f"nothing leads to it: a first task is an input, not {task.type}"
        )
    if task.type == "output" and after:
        yield Problem(where, "type", f"an output comes last, but it leads to `{after[0]}`")
    if task.type in ("input", "function") and not after:
        yield Problem(where, "type", f"it leads nowhere: a last task is an output, not {task.type}")


def _content(where: str, task: Task, job: Job) -> Iterator[Problem]:
    if task.type in ("input", "output"):
        if task.plugin is None:
            yield Problem(where, "plugin", f"is missing: an {task.type} names where its rows are")
        if task.sql is not None:
            yield Problem(where, "sql", f"an {task.type} has none: add a function task")
        return
    if task.plugin is not None:
        yield Problem(where, "plugin", "only inputs and outputs have one")
    if task.fn is not None and task.sql is not None:
        yield Problem(where, "sql", "a task has a function or a SQL expression, not both")
    if task.type == "function" and task.fn is None and task.sql is None:
        yield Problem(where, "fn", "is missing: name a module:function, or write `sql`")
    if task.group_by is not None and task.group_by_fn is not None:
        yield Problem(where, "group_by_fn", "group by columns or by a function, not both")
    fired = {trigger.window for trigger in job.triggers}
    windows = [window.id for window in job.windows if window.task == task.name]
    if task.type == "reduce" and not any(window in fired for window in windows):
        yield Problem(where, None, "a reduce task needs a window with a trigger: nothing leaves it")


def _peers(where: str, task: Task) -> Iterator[Problem]:
    for key in ("n_peers", "min_peers", "max_peers"):
        value = getattr(task, key)
        if value is not None and value < 1:
            yield Problem(where, key, f"expected at least 1, got {value}")
    if task.n_peers is not None and (task.min_peers is not None or task.max_peers is not None):
        yield Problem(where, "n_peers", "means both the least and the most: leave those out")
    if task.min_peers and task.max_peers and task.min_peers > task.max_peers:
        yield Problem(
            where, "min_peers", f"{task.min_peers} is more than the most, {task.max_peers}"
        )


def _percentages(job: Job) -> Iterator[Problem]:
    missing = [task.name for task in job.catalog if task.percentage is None]
    for name in missing:
        yield Problem(f"catalog entry {name}", "percentage", "is missing: the scheduler needs one")
    total = sum(task.percentage or 0 for task in job.catalog)
    if not missing and total != 100:
        yield Problem("catalog", "percentage", f"the tasks' percentages sum to {total:g}, not 100")


# ── flow conditions ──────────────────────────────────────────────────────────────────────────


def _flow(job: Job, graph: Graph) -> Iterator[Problem]:
    plain_seen: set[str] = set()
    for condition in job.flow_conditions:
        where = f"flow condition {condition.source}"
        following = graph.following.get(condition.source)
        if following is None:
            hint = nearest(condition.source, graph.names)
            yield Problem(where, "from", f"there is no task `{condition.source}`{hint}")
            continue
        for key, names in (("to", condition.to), ("predicate_errors_to", _errors_to(condition))):
            for name in names if isinstance(names, list) else ():
                if name not in following:
                    hint = nearest(name, following)
                    what = f"`{name}` does not follow `{condition.source}` in the workflow{hint}"
                    yield Problem(where, key, what)
        if condition.predicate is not None:
            yield from _predicate(where, condition.predicate)
        if condition.retry and not condition.thrown_exception:
            yield Problem(
                where, "retry", "only what was raised can be tried again: thrown_exception"
            )
        if condition.retry < 0:
            yield Problem(where, "retry", f"expected at least 0, got {condition.retry}")
        if condition.short_circuit and condition.source in plain_seen:
            yield Problem(where, "short_circuit", "comes after one that does not: put it before")
        if not condition.short_circuit:
            plain_seen.add(condition.source)


def _errors_to(condition: FlowCondition) -> list[str]:
    return condition.predicate_errors_to or []


def _predicate(where: str, value: Any) -> Iterator[Problem]:
    try:
        predicates.parse(value)
    except ValueError as error:
        yield Problem(where, "predicate", str(error))


# ── windows, triggers, lifecycles ────────────────────────────────────────────────────────────

_NEEDS = {
    "fixed": ("time", "range"),
    "sliding": ("time", "range", "slide"),
    "global": (),
    "session": ("time", "gap"),
}


def _windows(job: Job) -> Iterator[Problem]:
    yield from _twice("window", "id", (window.id for window in job.windows))
    types = {task.name: task.type for task in job.catalog}
    for window in job.windows:
        where = f"window {window.id}"
        if window.task not in types:
            hint = nearest(window.task, types)
            yield Problem(where, "task", f"there is no task `{window.task}`{hint}")
        elif types[window.task] in ("input", "output"):
            yield Problem(
                where, "task", f"`{window.task}` is an {types[window.task]}, not a function"
            )
        for key in ("time", "range", "slide", "gap"):
            needed, given = key in _NEEDS[window.type], getattr(window, key) is not None
            if needed and not given:
                yield Problem(where, key, f"is missing: a {window.type} window needs it")
            if given and not needed:
                yield Problem(where, key, f"a {window.type} window has none")
        yield from _durations(where, window)
        yield from _aggregation(where, window.aggregation)


def _durations(where: str, entry: Window | Trigger) -> Iterator[Problem]:
    for key in ("range", "slide", "gap", "period", "lateness"):
        value = getattr(entry, key, None)
        if value is None:
            continue
        seconds = seconds_of(value)
        if seconds is None:
            yield Problem(where, key, _not_a_duration(value))
        elif seconds < 0 or (seconds == 0 and key != "lateness"):
            yield Problem(where, key, f"expected more than nothing, got `{value}`")


def _not_a_duration(value: Duration) -> str:
    return f"expected a number or text like `5 minutes`, got `{value}`"


def _aggregation(where: str, value: Any) -> Iterator[Problem]:
    match value:
        case str() if ":" in value or value in WITHOUT_COLUMN:
            return
        case [str() as name, str()] if name in WITH_COLUMN:
            return
        case str() if value in WITH_COLUMN:
            yield Problem(where, "aggregation", f"`{value}` needs a column: [{value}, column]")
        case str() | [str(), *_]:
            name = value if isinstance(value, str) else value[0]
            hint = nearest(name, {*WITH_COLUMN, *WITHOUT_COLUMN})
            yield Problem(where, "aggregation", f"there is no aggregation `{name}`{hint}")
        case _:
            yield Problem(where, "aggregation", "expected a name, [name, column], or module:object")


_FIRES_BY = {
    "segments": "threshold",
    "timer": "period",
    "punctuation": "predicate",
    "watermark": None,
}


def _triggers(job: Job, graph: Graph) -> Iterator[Problem]:
    yield from _twice("trigger", "id", (trigger.id for trigger in job.triggers))
    windows = {window.id: window for window in job.windows}
    for trigger in job.triggers:
        where = f"trigger {trigger.id}"
        window = windows.get(trigger.window)
        if window is None:
            hint = nearest(trigger.window, windows)
            yield Problem(where, "window", f"there is no window `{trigger.window}`{hint}")
        elif trigger.emit is not None and not graph.following.get(window.task):
            yield Problem(where, "emit", f"`{window.task}` leads nowhere: nobody takes the rows")
        if window is not None and trigger.on == "watermark" and window.type == "global":
            yield Problem(where, "on", "a global window has no end that a watermark could pass")
        for key in ("threshold", "period", "predicate"):
            needed, given = _FIRES_BY[trigger.on] == key, getattr(trigger, key) is not None
            if needed and not given:
                yield Problem(where, key, f"is missing: a trigger on {trigger.on} needs it")
            if given and not needed:
                yield Problem(where, key, f"a trigger on {trigger.on} has none")
        if trigger.threshold is not None and trigger.threshold < 1:
            yield Problem(where, "threshold", f"expected at least 1, got {trigger.threshold}")
        if trigger.predicate is not None:
            yield from _predicate(where, trigger.predicate)
        yield from _durations(where, trigger)
        if trigger.sync is None and trigger.emit is None:
            yield Problem(where, None, "does nothing: name a function as `sync` or as `emit`")


def _lifecycles(job: Job) -> Iterator[Problem]:
    names = [task.name for task in job.catalog]
    for lifecycle in job.lifecycles:
        if lifecycle.task != "all" and lifecycle.task not in names:
            hint = nearest(lifecycle.task, names)
            what = f"there is no task `{lifecycle.task}`{hint}"
            yield Problem(f"lifecycle {lifecycle.task}", "task", what)


def _twice(kind: str, key: str, names: Iterable[str]) -> Iterator[Problem]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem(f"{kind} {name}", key, f"is there {count} times")
