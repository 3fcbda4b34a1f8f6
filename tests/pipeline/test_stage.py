# Rows are of any shape here, as users' are.
# pyright: basic
"""A task at work on a batch: order, ownership of rows, and functions that misbehave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from remuda.pipeline.interpreter import JobKilled, interpret
from remuda.pipeline.model.reading import read_job
from tests.pipeline.test_interpreter import job_of

Row = dict[str, Any]


def test_rows_and_routed_errors_keep_their_order() -> None:
    def even_only(row: Row) -> Row:
        if row["n"] % 2:
            raise ValueError("odd")
        return row

    job = job_of(
        [["in", "a"], ["a", "out"]],
        flow_conditions=[
            {"from": "a", "to": ["out"], "thrown_exception": True, "post_transform": "test:t"},
            {"from": "a", "to": ["out"]},
        ],
    )
    functions = {"test:a": even_only, "test:t": lambda row, error: {"n": -row["n"]}}
    out = interpret(job, {"in": [{"n": n} for n in range(6)]}, functions).outputs["out"]
    assert [row["n"] for row in out] == [0, -1, 2, -3, 4, -5]


def test_a_function_may_change_its_row_and_others_do_not_see_it() -> None:
    def change(row: Row) -> Row:
        row["n"] += 100
        return row

    job = job_of([["in", "a"], ["in", "b"], ["a", "out"], ["b", "other"], ["in", "third"]])
    given = [{"n": 1}]
    outputs = interpret(job, {"in": given}, {"test:a": change, "test:b": change}).outputs
    assert outputs == {"out": [{"n": 101}], "other": [{"n": 101}], "third": [{"n": 1}]}
    assert given == [{"n": 1}]


@pytest.mark.parametrize("where", ["function", "predicate"])
def test_a_stray_stop_iteration_loses_no_rows(where: str) -> None:
    def stray(row: Row) -> Row:
        return next(iter(())) if row["n"] == 1 else row

    job = job_of(
        [["in", "a"], ["a", "out"]],
        flow_conditions=[{"from": "a", "to": ["out"], "predicate": "test:p"}],
    )
    functions = {
        "test:a": stray if where == "function" else dict,
        "test:p": stray if where == "predicate" else bool,
    }
    with pytest.raises(JobKilled, match=r"StopIteration.*\{'n': 1\}"):
        interpret(job, {"in": [{"n": n} for n in range(3)]}, functions)


def test_what_a_generator_raises_half_way_is_the_functions_error() -> None:
    def halves(row: Row) -> Iterator[Row]:
        yield {"n": row["n"]}
        if row["n"] == 1:
            raise ValueError("half way")
        yield {"n": row["n"]}

    job = job_of(
        [["in", "a"], ["a", "out"], ["a", "errors"]],
        flow_conditions=[
            {"from": "a", "to": ["errors"], "thrown_exception": True},
            {"from": "a", "to": ["out"]},
        ],
    )
    rows = [{"n": n} for n in range(3)]
    outputs = interpret(job, {"in": rows}, {"test:a": halves}).outputs
    assert outputs == {"out": [{"n": n} for n in (0, 0, 2, 2)], "errors": [{"n": 1}]}


def test_the_first_condition_that_holds_says_what_of_a_row_goes_to_a_task() -> None:
    job = job_of(
        [["in", "a"], ["a", "out"], ["a", "other"]],
        flow_conditions=[
            {"from": "a", "to": ["out"], "predicate": "test:odd", "exclude_keys": ["k"]},
            {"from": "a", "to": "all"},
        ],
    )
    functions = {"test:a": dict, "test:odd": lambda row: row["n"] % 2}
    rows = [{"n": n, "k": n} for n in range(3)]
    outputs = interpret(job, {"in": rows}, functions).outputs
    assert outputs == {"out": [{"n": 0, "k": 0}, {"n": 1}, {"n": 2, "k": 2}], "other": rows}


def test_a_post_transform_that_raises_is_named() -> None:
    job = job_of(
        [["in", "a"], ["a", "out"]],
        flow_conditions=[
            {"from": "a", "to": ["out"], "thrown_exception": True, "post_transform": "test:t"}
        ],
    )
    functions = {"test:a": lambda row: row["x"], "test:t": lambda row, error: row["y"]}
    with pytest.raises(
        JobKilled, match="post_transform in flow condition 1 of the task `a` raised"
    ):
        interpret(job, {"in": [{"n": 1}]}, functions)


def test_inputs_and_outputs_may_have_functions_and_arrow_functions_are_run() -> None:
    job = read_job(
        {
            "workflow": [["in", "double"], ["double", "out"]],
            "catalog": [
                {"name": "in", "type": "input", "plugin": "memory", "fn": "test:plus"},
                {"name": "double", "type": "function", "fn": "test:double", "form": "arrow"},
                {"name": "out", "type": "output", "plugin": "memory", "fn": "test:text"},
            ],
        }
    )
    functions = {
        "test:plus": lambda row: {"n": row["n"] + 1},
        "test:double": lambda batch: batch.set_column(0, "n", batch.column(0).cast("float")),
        "test:text": lambda row: {"text": str(row["n"])},
    }
    out = interpret(job, {"in": [{"n": 1}, {"n": 2}]}, functions).outputs["out"]
    assert out == [{"text": "2.0"}, {"text": "3.0"}]
