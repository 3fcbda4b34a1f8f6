# Rows are of any shape here, as users' are.
# pyright: basic
"""What is called around a task, as `lifecycles` says it."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.pipeline.interpreter import JobKilled, interpret
from remuda.pipeline.lifecycles import RESTARTS_MAX
from tests.pipeline.test_interpreter import job_of

Row = dict[str, Any]
HOOKS = ("start", "stop", "before_batch", "after_batch")


class Diary:
    """Functions that note when they are called."""

    def __init__(self) -> None:
        self.pages: list[str] = []

    def functions(self, name: str) -> dict[str, Any]:
        def noting(hook: str) -> Any:
            def note(task: str, rows: Any = None) -> None:
                of = "" if rows is None else f" of {len(rows)}"
                self.pages.append(f"{name}.{hook} {task}{of}")

            return note

        return {f"{name}:{hook}": noting(hook) for hook in HOOKS}


def lifecycle(name: str, task: str = "double", **more: Any) -> Row:
    return {"task": task, **{hook: f"{name}:{hook}" for hook in HOOKS}, **more}


def double(row: Row) -> Row:
    return {"n": row["n"] * 2}


def test_they_are_called_in_order_around_the_task_and_around_each_batch() -> None:
    diary = Diary()
    job = job_of(
        [["in", "double"], ["double", "out"]],
        groups={"batch_rows": 2},
        lifecycles=[lifecycle("a", "all"), lifecycle("b")],
    )
    functions = {"test:double": double, **diary.functions("a"), **diary.functions("b")}
    rows = [{"n": n} for n in range(3)]
    assert interpret(job, {"in": rows}, functions).outputs["out"] == [
        {"n": n * 2} for n in range(3)
    ]
    assert diary.pages == [
        "a.start double",
        "b.start double",
        "a.before_batch double of 2",
        "b.before_batch double of 2",
        "b.after_batch double of 2",
        "a.after_batch double of 2",
        "a.before_batch double of 1",
        "b.before_batch double of 1",
        "b.after_batch double of 1",
        "a.after_batch double of 1",
        "b.stop double",
        "a.stop double",
    ]


def failing(times: int) -> Any:
    left = [times]

    def double_or_fail(row: Row) -> Row:
        row["n"] *= 2
        if row["n"] == 2 and left[0]:
            left[0] -= 1
            raise ConnectionError("gone")
        return row

    return double_or_fail


def handled(answer: Any, times: int, diary: Diary | None = None) -> list[Row]:
    diary = diary or Diary()
    job = job_of(
        [["in", "double"], ["double", "out"]],
        lifecycles=[
            {"task": "double", "handle_exception": "test:defer"},
            lifecycle("a", handle_exception="test:handle"),
        ],
    )
    functions = {
        "test:double": failing(times),
        "test:defer": lambda: "defer",
        "test:handle": lambda error: answer if isinstance(error, ConnectionError) else "kill",
        **diary.functions("a"),
    }
    return interpret(job, {"in": [{"n": 0}, {"n": 1}]}, functions).outputs["out"]


def test_a_restart_runs_the_same_batch_again_between_stop_and_start() -> None:
    diary = Diary()
    assert handled("restart", 2, diary) == [{"n": 0}, {"n": 2}]
    again = ["a.stop double", "a.start double", "a.before_batch double of 2"]
    assert diary.pages == [
        "a.start double",
        "a.before_batch double of 2",
        *again,
        *again,
        "a.after_batch double of 2",
        "a.stop double",
    ]


def test_restarts_are_bounded() -> None:
    assert handled("restart", RESTARTS_MAX) == [{"n": 0}, {"n": 2}]
    with pytest.raises(JobKilled, match="`double` raised ConnectionError: gone"):
        handled("restart", RESTARTS_MAX + 1)


@pytest.mark.parametrize("answer", ["kill", "defer"])
def test_kill_and_a_last_defer_end_the_job_after_stop(answer: str) -> None:
    diary = Diary()
    with pytest.raises(JobKilled, match="`double` raised ConnectionError"):
        handled(answer, 1, diary)
    assert diary.pages[-1] == "a.stop double"


def test_an_answer_that_is_none_is_refused() -> None:
    with pytest.raises(JobKilled, match="answered 'again', not one of kill, restart, defer"):
        handled("again", 1)


def test_what_a_lifecycle_raises_kills_the_job_and_names_it() -> None:
    job = job_of(
        [["in", "double"], ["double", "out"]],
        lifecycles=[{"task": "double", "start": "test:start"}],
    )

    def start() -> None:
        raise OSError("no licence")

    with pytest.raises(JobKilled, match="start of the task `double` raised OSError: no licence at"):
        interpret(job, {"in": [{"n": 1}]}, {"test:double": double, "test:start": start})
