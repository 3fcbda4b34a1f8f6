# Rows are of any shape here, as users' are.
# pyright: basic
"""What jobs mean: the worked cases, and each rule of the interpreter's docstring."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from remuda.pipeline.interpreter import JobKilled, interpret
from remuda.pipeline.model.job import Job
from remuda.pipeline.model.reading import read_job
from remuda.pipeline.window_state import Content
from remuda.pipeline.windows import indexes, instant
from tests.vectors import vectors

CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in vectors("pipelines")["cases"]}

Row = dict[str, Any]


def job_of(workflow: list[list[str]], **parts: Any) -> Job:
    """A job whose functions have their tasks' names, from `in` to `out`."""
    names = dict.fromkeys(name for edge in workflow for name in edge)
    reduces = parts.pop("reduces", [])
    groups: Mapping[str, Any] = parts.pop("groups", {})
    catalog: list[dict[str, Any]] = []
    for name in names:
        if not any(to == name for _, to in workflow):
            catalog.append({"name": name, "type": "input", "plugin": "memory"})
        elif not any(source == name for source, _ in workflow):
            catalog.append({"name": name, "type": "output", "plugin": "memory"})
        elif name in reduces:
            catalog.append({"name": name, "type": "reduce", **groups})
        else:
            catalog.append({"name": name, "type": "function", "fn": f"test:{name}", **groups})
    return read_job({"workflow": workflow, "catalog": catalog, **parts})


def on_n(written: str) -> Callable[[Row], Row]:
    """A function as the worked cases write it: `n -> n^3`."""
    expression = re.sub(r"^\s*n\s*->", "", written).replace("^", "**")
    return lambda row: {"n": eval(expression, {}, {"n": row["n"]})}


@pytest.mark.parametrize("name", ["a chain", "a fork and a join"])
def test_rows_go_through_every_following_task(name: str) -> None:
    case = CASES[name]
    functions = {f"test:{task}": on_n(written) for task, written in case["functions"].items()}
    rows = [{"n": n} for n in case["input_n"]]
    out = interpret(job_of(case["workflow"]), {"in": rows}, functions).outputs["out"]
    if "output_n" in case:
        assert [row["n"] for row in out] == case["output_n"]
    else:
        assert len(out) == case["output_count"]


def test_an_exception_is_routed_by_a_condition_that_short_circuits() -> None:
    (flow,) = CASES["a short-circuiting exception condition"]["flow"]

    def check(row: Row) -> Row:
        if row["user"] == "Ron":
            raise ValueError("Ron may not")
        return row

    def with_message(row: Row, error: Exception) -> Row:
        return {**row, "error": str(error)}

    job = job_of(
        [["in", "check"], ["check", "out"]],
        flow_conditions=[
            {**flow, "post_transform": "test:with_message"},
            {"from": "check", "to": ["out"]},
        ],
    )
    functions = {"test:check": check, "test:with_message": with_message}
    out = interpret(job, {"in": [{"user": "Ron"}, {"user": "Ann"}]}, functions).outputs["out"]
    assert out == [{"user": "Ron", "error": "Ron may not"}, {"user": "Ann"}]


def windowed(window: dict[str, Any], trigger: dict[str, Any], **groups: Any) -> Job:
    return job_of(
        [["in", "sum"], ["sum", "out"]],
        reduces=["sum"],
        groups=groups,
        windows=[{"id": "w", "task": "sum", **window}],
        triggers=[{"id": "t", "window": "w", "emit": "test:emit", **trigger}],
    )


def emitted(content: Content) -> Row:
    return {
        "group": content.group,
        "start": content.start,
        "end": content.end,
        "value": content.value,
    }


def test_sessions_grow_by_events_within_the_gap_of_their_edges() -> None:
    case = CASES["session windows, gap 5 minutes, grouped by id"]

    def at(clock: str) -> datetime:
        return datetime.fromisoformat(f"2026-01-01T{clock}").replace(tzinfo=UTC)

    job = windowed(
        {"type": "session", "time": "at", "gap": "5 minutes", "aggregation": "count"},
        {"on": "watermark"},
        group_by="id",
    )
    rows = [{**event, "at": at(event["at"])} for event in case["events"]]
    out = interpret(job, {"in": rows}, {"test:emit": emitted}).outputs["out"]
    found = [(row["group"], row["start"], row["end"]) for row in out]
    expected = [
        (session["id"], instant(at(session["first"])), instant(at(session["last"])))
        for session in case["sessions"]
    ]
    assert sorted(found) == sorted(expected)
    assert sum(row["value"] for row in out) == len(rows)


def test_an_event_is_in_every_sliding_window_that_covers_it() -> None:
    case = CASES["sliding windows, range 20, slide 5: the windows of an event by index"]
    for at, windows in case["events"].items():
        assert indexes(int(at), 20, 5) == windows


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        ("count", {0: 3, 10: 1}),
        (["sum", "n"], {0: 6, 10: 5}),
        (["min", "n"], {0: 1, 10: 5}),
        (["max", "n"], {0: 3, 10: 5}),
        (["average", "n"], {0: 2, 10: 5}),
        (["collect", "n"], {0: [1, 2, 3], 10: [5]}),
    ],
)
def test_fixed_windows_include_their_start_and_exclude_their_end(
    aggregation: Any, expected: dict[int, Any]
) -> None:
    job = windowed(
        {"type": "fixed", "time": "at", "range": 10, "aggregation": aggregation},
        {"on": "watermark"},
    )
    rows = [{"at": 0, "n": 1}, {"at": 9, "n": 2}, {"at": 9.5, "n": 3}, {"at": 10, "n": 5}]
    out = interpret(job, {"in": rows}, {"test:emit": emitted}).outputs["out"]
    assert {row["start"]: row["value"] for row in out} == expected


@pytest.mark.parametrize(
    ("refinement", "values"), [("accumulating", [2, 4, 5]), ("discarding", [2, 2, 1])]
)
def test_a_trigger_by_segments_fires_each_so_many_rows_and_at_the_end(
    refinement: str, values: list[int]
) -> None:
    job = windowed(
        {"type": "global", "aggregation": "count"},
        {"on": "segments", "threshold": 2, "refinement": refinement},
    )
    rows = [{"n": n} for n in range(5)]
    out = interpret(job, {"in": rows}, {"test:emit": emitted}).outputs["out"]
    assert [row["value"] for row in out] == values


def test_a_trigger_by_punctuation_fires_when_its_predicate_holds() -> None:
    job = windowed(
        {"type": "global", "aggregation": ["collect", "n"]},
        {"on": "punctuation", "predicate": "test:is_stop", "refinement": "discarding"},
    )
    functions: dict[str, Callable[..., Any]] = {
        "test:emit": emitted,
        "test:is_stop": lambda row: row["n"] == 0,
    }
    rows = [{"n": n} for n in (1, 2, 0, 3)]
    out = interpret(job, {"in": rows}, functions).outputs["out"]
    assert [row["value"] for row in out] == [[1, 2, 0], [3]]


def test_one_may_aggregate_in_ones_own_way_and_sync_it() -> None:
    class Product:
        @staticmethod
        def init() -> int:
            return 1

        @staticmethod
        def update(state: int, row: Row) -> int:
            return row["n"]

        @staticmethod
        def apply(state: int, change: int) -> int:
            return state * change

    synced: list[Any] = []
    job = job_of(
        [["in", "pass"], ["pass", "out"]],
        windows=[{"id": "w", "task": "pass", "type": "global", "aggregation": "test:product"}],
        triggers=[{"id": "t", "window": "w", "on": "timer", "period": 5, "sync": "test:sync"}],
    )
    functions: dict[str, Any] = {
        "test:pass": lambda row: row,
        "test:product": Product,
        "test:sync": lambda content: synced.append(content.value),
    }
    rows = [{"n": n} for n in (2, 3, 7)]
    assert interpret(job, {"in": rows}, functions).outputs["out"] == rows
    assert synced == [42]


def test_predicates_compose_take_parameters_and_see_where_a_row_came_from() -> None:
    job = job_of(
        [
            ["in", "double"],
            ["double", "big"],
            ["double", "small"],
            ["big", "out"],
            ["small", "out"],
        ],
        flow_conditions=[
            {
                "from": "double",
                "to": ["big"],
                "predicate": {"and": [{"fn": "test:over", "params": {"least": 4}}, "test:even"]},
                "exclude_keys": ["secret"],
            },
            {
                "from": "double",
                "to": ["small"],
                "predicate": {"not": {"fn": "test:over", "params": {"least": 4}}},
            },
        ],
    )
    functions: dict[str, Callable[..., Any]] = {
        "test:double": lambda row: {**row, "n": row["n"] * 2},
        "test:over": lambda row, least: row["n"] > least,
        "test:even": lambda row, before: before["n"] % 2 == 0,
        "test:big": lambda row: {**row, "size": "big"},
        "test:small": lambda row: {**row, "size": "small"},
    }
    rows = [{"n": n, "secret": n} for n in (1, 3, 4)]
    out = interpret(job, {"in": rows}, functions).outputs["out"]
    assert out == [{"n": 8, "size": "big"}, {"n": 2, "secret": 1, "size": "small"}]


def test_a_row_that_no_condition_takes_goes_nowhere() -> None:
    job = job_of(
        [["in", "pass"], ["pass", "out"]],
        flow_conditions=[{"from": "pass", "to": "none"}],
    )
    assert interpret(job, {"in": [{"n": 1}]}, {"test:pass": dict}).outputs["out"] == []


def test_a_function_may_answer_several_rows_or_none() -> None:
    job = job_of([["in", "many"], ["many", "out"]])

    def many(row: Row) -> Any:
        return [{"n": row["n"]}] * row["n"] if row["n"] else None

    out = interpret(job, {"in": [{"n": 0}, {"n": 2}]}, {"test:many": many}).outputs["out"]
    assert out == [{"n": 2}, {"n": 2}]


def test_retry_really_retries_and_is_bounded() -> None:
    calls: list[int] = []

    def flaky(row: Row) -> Row:
        calls.append(row["n"])
        if row["n"] == 2 or calls.count(row["n"]) < 3:
            raise OSError("not now")
        return row

    job = job_of(
        [["in", "flaky"], ["flaky", "out"]],
        flow_conditions=[{"from": "flaky", "to": ["out"], "thrown_exception": True, "retry": 4}],
    )
    out = interpret(job, {"in": [{"n": 1}, {"n": 2}]}, {"test:flaky": flaky}).outputs["out"]
    assert out == [{"n": 1}, {"n": 2}]
    assert (calls.count(1), calls.count(2)) == (3, 5)


def test_a_predicate_that_raises_kills_the_job_or_sends_the_row_where_it_says() -> None:
    def broken(row: Row) -> bool:
        raise KeyError("no such column")

    def job(**extra: Any) -> Job:
        condition = {"from": "pass", "to": ["out"], "predicate": "test:broken", **extra}
        return job_of(
            [["in", "pass"], ["pass", "out"], ["pass", "errors"]], flow_conditions=[condition]
        )

    functions: dict[str, Callable[..., Any]] = {"test:pass": dict, "test:broken": broken}
    with pytest.raises(JobKilled, match=r"flow condition 1 of the task `pass` raised KeyError"):
        interpret(job(), {"in": [{"n": 1}]}, functions)
    outcome = interpret(job(predicate_errors_to=["errors"]), {"in": [{"n": 1}]}, functions)
    assert outcome.outputs == {"out": [], "errors": [{"n": 1}]}


def test_what_nobody_takes_kills_the_job_and_names_task_and_row() -> None:
    job = job_of([["in", "divide"], ["divide", "out"]])

    def divide(row: Row) -> Row:
        return {"n": 1 / row["n"]}

    with pytest.raises(JobKilled, match=r"`divide` raised ZeroDivisionError.*\{'n': 0\}"):
        interpret(job, {"in": [{"n": 1}, {"n": 0}]}, {"test:divide": divide})


def test_a_function_that_answers_no_row_is_refused() -> None:
    job = job_of([["in", "wrong"], ["wrong", "out"]])
    with pytest.raises(JobKilled, match="a row function answers a row, rows or None"):
        interpret(job, {"in": [{"n": 1}]}, {"test:wrong": lambda row: row["n"]})
