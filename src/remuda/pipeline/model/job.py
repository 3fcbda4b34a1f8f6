"""The shapes of a job: one struct for each kind of entry.

Keys are written as here, with dashes or underscores. Durations are seconds as a number, or text
like `5 minutes`; windows over whole numbers take plain numbers.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

TaskName: TypeAlias = str
FunctionName: TypeAlias = str
Params: TypeAlias = dict[str, Any]
Duration: TypeAlias = float | str

TaskType: TypeAlias = Literal["input", "function", "output", "reduce"]
Form: TypeAlias = Literal["row", "arrow", "dataframe", "sql"]
FluxPolicy: TypeAlias = Literal["continue", "recover", "kill"]


class Task(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of the catalog.

    An `input` or `output` names a `plugin` (`parquet`, `json`, `memory`, …) with its `options`. A
    `function` or `reduce` names a function, or is a SQL expression over its rows.
    """

    name: TaskName
    type: TaskType
    doc: str = ""
    plugin: str | None = None
    options: Params = {}
    fn: FunctionName | None = None
    sql: str | None = None
    form: Form | None = None
    params: Params = {}
    # What its rows look like, as Spark writes it: `id long, at timestamp`.
    schema: str | None = None
    group_by: str | list[str] | None = None
    group_by_fn: FunctionName | None = None
    batch_rows: int | None = None
    n_peers: int | None = None
    min_peers: int | None = None
    max_peers: int | None = None
    percentage: float | None = None
    required_tags: list[str] = []
    flux_policy: FluxPolicy = "recover"


class FlowCondition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where rows of a task go. A task without conditions sends every row to every following task;
    one with conditions sends a row where those that hold say, and nowhere if none does."""

    source: TaskName = field(name="from")
    to: list[TaskName] | Literal["all", "none"]
    # As `predicates` reads it. Without one, the condition always holds.
    predicate: Any = None
    # If it holds, no later condition of the task is looked at.
    short_circuit: bool = False
    exclude_keys: list[str] = []
    # Holds for what the task's function raised, instead of for its rows.
    thrown_exception: bool = False
    post_transform: FunctionName | None = None
    # With `thrown_exception`: call the function again so many times before any row goes anywhere.
    retry: int = 0
    # Where a row goes if the predicate itself raises; without it the job is killed.
    predicate_errors_to: list[TaskName] | None = None


WindowType: TypeAlias = Literal["fixed", "sliding", "global", "session"]


class Window(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of a task's rows, by group and by window."""

    id: str
    task: TaskName
    type: WindowType
    aggregation: Any
    # The column that says when a row happened; `global` needs none.
    time: str | None = None
    range: Duration | None = None
    slide: Duration | None = None
    gap: Duration | None = None
    # How late a row may come in a stream. A window is complete when so much time has passed after
    # its end, and what comes later still is counted as late, not as content.
    lateness: Duration = 0
    doc: str = ""


Firing: TypeAlias = Literal["segments", "timer", "punctuation", "watermark"]


class Trigger(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When something is done with a window's content, and what.

    Every trigger also fires once at the end of a bounded input, if anything came since it last did.
    """

    id: str
    window: str
    on: Firing
    threshold: int | None = None
    period: Duration | None = None
    predicate: Any = None
    refinement: Literal["accumulating", "discarding"] = "accumulating"
    sync: FunctionName | None = None
    emit: FunctionName | None = None


class Lifecycle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Functions called around a task's work; `all` is every task."""

    task: TaskName
    start: FunctionName | None = None
    stop: FunctionName | None = None
    before_batch: FunctionName | None = None
    after_batch: FunctionName | None = None
    # Answers `kill`, `restart` or `defer` (to the next lifecycle).
    handle_exception: FunctionName | None = None
    params: Params = {}


Mode: TypeAlias = Literal["batch", "available-now", "continuous"]


class Job(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`batch` reads its inputs once. The others read them as streams, from where the last run of
    the same job ended: `available-now` until what was there is done, `continuous` until killed."""

    workflow: list[tuple[TaskName, TaskName]]
    catalog: list[Task]
    # Submitting a job again under the same id changes nothing.
    id: str | None = None
    flow_conditions: list[FlowCondition] = []
    windows: list[Window] = []
    triggers: list[Trigger] = []
    lifecycles: list[Lifecycle] = []
    task_scheduler: Literal["balanced", "percentage", "colocated"] = "balanced"
    percentage: float | None = None
    mode: Mode = "batch"
    # How often a continuous job looks for more; without it, as often as it can.
    every: Duration | None = None
    # Shuffles have so many partitions. A checkpoint pins it.
    partitions: int | None = None
    # Whether it is shown that no row was lost or doubled between the tasks.
    audit: bool = False
    metadata: Params = {}

    @property
    def is_bounded(self) -> bool:
        return self.mode != "continuous"

    def task(self, name: TaskName) -> Task:
        return next(task for task in self.catalog if task.name == name)
