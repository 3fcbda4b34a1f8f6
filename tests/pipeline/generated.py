# Rows are of any shape here, as users' are.
# pyright: basic
"""Jobs that nobody thought of: graphs, conditions and rows made by Hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from remuda.pipeline.model.job import Job
from remuda.pipeline.model.reading import read_job
from remuda.pipeline.window_state import Content

Row = dict[str, Any]


def plus(row: Row) -> Row:
    row["n"] += 1
    return row


def odd_only(row: Row) -> Row | None:
    return row if row["n"] % 2 else None


def twice(row: Row) -> list[Row]:
    return [{**row, "tag": "first"}, {**row, "tag": "second"}]


def none_of_three(row: Row) -> Row:
    if row["n"] % 3 == 0:
        raise ValueError(f"{row['n']} is of three")
    return {**row, "n": row["n"] * 2}


def is_even(row: Row) -> bool:
    return row["n"] % 2 == 0


def has_grown(row: Row, before: Row) -> bool:
    return row["n"] > before["n"]


def is_over(row: Row, least: int) -> bool:
    return row["n"] > least


def is_not_of_five(row: Row) -> bool:
    if row["n"] % 5 == 0:
        raise KeyError("five")
    return row["n"] % 2 == 1


def first_only(row: Row, siblings: list[Row]) -> bool:
    return row is siblings[0] or row == siblings[0]


def is_value_error(error: Exception) -> bool:
    return isinstance(error, ValueError)


def with_error(row: Row, error: Exception) -> Row:
    return {"n": row["n"], "tag": row.get("tag"), "error": str(error)}


def total(content: Content) -> Row:
    start = None if content.start is None else float(content.start)
    return {"n": content.value, "tag": content.group, "error": str(start)}


FUNCTIONS = {
    f"test:{function.__name__}": function
    for function in (
        plus,
        odd_only,
        twice,
        none_of_three,
        is_even,
        has_grown,
        is_over,
        is_not_of_five,
        first_only,
        is_value_error,
        with_error,
        total,
    )
}
PREDICATES = st.sampled_from(
    [
        None,
        "test:is_even",
        "test:has_grown",
        "test:first_only",
        {"not": "test:is_even"},
        {"and": ["test:is_even", {"fn": "test:is_over", "params": {"least": 2}}]},
        {"or": ["test:first_only", {"fn": "test:is_over", "params": {"least": 4}}]},
    ]
)


@st.composite
def conditions(draw: st.DrawFn, task: str, following: list[str]) -> list[Row]:
    targets = st.one_of(
        st.just("all"), st.lists(st.sampled_from(following), min_size=1, unique=True)
    )
    raised = {
        "from": task,
        "to": draw(targets),
        "thrown_exception": True,
        "predicate": draw(st.sampled_from([None, "test:is_value_error"])),
        "post_transform": draw(st.sampled_from([None, "test:with_error"])),
        "retry": draw(st.integers(0, 2)),
        "short_circuit": True,
    }
    plain = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "from": st.just(task),
                    "to": targets,
                    "predicate": PREDICATES,
                    "exclude_keys": st.sampled_from([[], [], ["tag"]]),
                    "short_circuit": st.booleans(),
                }
            ),
            max_size=2,
        )
    )
    plain.sort(key=lambda condition: not condition["short_circuit"])
    if draw(st.booleans()):
        plain.append(
            {
                "from": task,
                "to": draw(targets),
                "predicate": "test:is_not_of_five",
                "predicate_errors_to": [draw(st.sampled_from(following))],
            }
        )
    return [raised, *plain] if draw(st.booleans()) else plain


WINDOWS = st.fixed_dictionaries(
    {
        "aggregation": st.sampled_from(["count", ["sum", "n"], ["min", "n"], ["max", "n"]]),
        "shape": st.sampled_from(
            [
                {"type": "fixed", "time": "at", "range": 4},
                {"type": "sliding", "time": "at", "range": 5, "slide": 2},
                {"type": "session", "time": "at", "gap": 2},
            ]
        ),
        "group_by": st.sampled_from([None, "tag"]),
    }
)


@st.composite
def jobs(draw: st.DrawFn, *, windowed: bool = False) -> Job:
    inputs = [f"in{n}" for n in range(draw(st.integers(1, 2)))]
    tasks = [f"t{n}" for n in range(draw(st.integers(1, 4)))]
    workflow: list[list[str]] = []
    before = list(inputs)
    for name in tasks:
        leading = draw(st.lists(st.sampled_from(before), min_size=1, max_size=2, unique=True))
        workflow += [[source, name] for source in leading]
        before.append(name)
    for name in [*inputs, *tasks]:
        is_last = not any(source == name for source, _ in workflow)
        if is_last or draw(st.booleans()):
            workflow.append([name, draw(st.sampled_from(["out0", "out1"]))])
    catalog: list[Row] = [{"name": name, "type": "input", "plugin": "memory"} for name in inputs]
    for name in tasks:
        function = draw(st.sampled_from(["plus", "odd_only", "twice", "none_of_three"]))
        catalog.append({"name": name, "type": "function", "fn": f"test:{function}"})
    named = {to for _, to in workflow}
    catalog += [
        {"name": name, "type": "output", "plugin": "memory", "schema": SCHEMA}
        for name in ("out0", "out1")
        if name in named
    ]
    flow: list[Row] = []
    for name in [*inputs, *tasks]:
        flow += draw(conditions(name, [to for source, to in workflow if source == name]))
    job: Row = {"workflow": workflow, "catalog": catalog, "flow_conditions": flow}
    if windowed:
        _add_window(job, draw(st.sampled_from(inputs)), draw(WINDOWS))
    return read_job(job)


def _add_window(job: Row, source: str, drawn: Row) -> None:
    """A window over one of the inputs, beside all else, with an output of its own."""
    job["workflow"] += [[source, "sums"], ["sums", "totals"]]
    job["catalog"] += [
        {"name": "sums", "type": "reduce", "group_by": drawn["group_by"], "schema": SCHEMA},
        {"name": "totals", "type": "output", "plugin": "memory"},
    ]
    if any(condition["from"] == source for condition in job["flow_conditions"]):
        job["flow_conditions"].append({"from": source, "to": ["sums"]})
    job["windows"] = [
        {"id": "w", "task": "sums", "aggregation": drawn["aggregation"], **drawn["shape"]}
    ]
    job["triggers"] = [{"id": "t", "window": "w", "on": "watermark", "emit": "test:total"}]


SCHEMA = "n long, tag string, error string, at long"
ROWS = st.lists(
    st.fixed_dictionaries(
        {"n": st.integers(0, 9), "tag": st.sampled_from(["a", "b"]), "at": st.integers(0, 20)}
    ),
    min_size=1,
    max_size=8,
)
