"""One task at work on a batch of rows: its function, its retries, its routes.

The interpreter and Spark's passes run the same stages, so they agree by construction. A stage works
on lists, so that what is the same for every row is done once: a row costs little more than the
calls of the user's own functions.

A function owns the row that it is given, and gives away the row that it answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from remuda.pipeline.flow import Made, Routed, Router
from remuda.pipeline.forms import row_function
from remuda.pipeline.functions import Functions, Row, call_each, rows_of
from remuda.pipeline.killed import TaskFailed
from remuda.pipeline.lifecycles import Lifecycles
from remuda.pipeline.model.job import Job, Task, TaskName


class Done:
    """What became of a batch: rows by following task, and those that the task keeps, for its
    windows or to write them."""

    def __init__(self, following: Iterable[TaskName]) -> None:
        self.routed: Routed = {to: [] for to in following}
        self.kept: list[Row] = []
        self.routed_errors = 0

    def add(self, routed: Routed) -> None:
        for to, rows in routed.items():
            if self.routed[to]:
                self.routed[to] += rows
            else:
                self.routed[to] = rows

    def join(self, other: Done) -> None:
        self.add(other.routed)
        self.kept += other.kept
        self.routed_errors += other.routed_errors


class Stage:
    """`runs_function` is false where something else than the task's function makes its rows, and
    `leading_to` is fewer than all that follow where the others are reached in another way."""

    def __init__(
        self,
        job: Job,
        task: Task,
        functions: Functions,
        *,
        runs_function: bool = True,
        leading_to: Sequence[TaskName] | None = None,
    ) -> None:
        self.task = task
        self.router = Router(job, task.name, functions, leading_to)
        self._function = (
            row_function(task, functions) if runs_function and task.fn is not None else None
        )
        is_windowed = any(window.task == task.name for window in job.windows)
        self._keeps = is_windowed or task.type == "output"
        self._passes_on = task.type != "reduce"
        self.lifecycles = Lifecycles(job, task.name, functions)
        self._has_lifecycles = self._function is not None and self.lifecycles.any

    def start(self) -> None:
        if self._has_lifecycles:
            self.lifecycles.start()

    def stop(self) -> None:
        if self._has_lifecycles:
            self.lifecycles.stop()

    def run(self, rows: list[Row]) -> Done:
        """What becomes of rows that arrive at the task. Raises TaskFailed."""
        size = self.task.batch_rows
        if size is None or len(rows) <= size:
            return self._batch(rows)
        done = Done(self.router.following)
        for start in range(0, len(rows), size):
            done.join(self._batch(rows[start : start + size]))
        return done

    def route(self, rows: list[Row]) -> Done:
        """What becomes of rows that the task's windows emitted, or something else made for it."""
        done = Done(self.router.following)
        done.add(self.router.routes(Made(rows, rows)))
        return done

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _batch(self, rows: list[Row]) -> Done:
        if not rows:
            return Done(self.router.following)
        if self._has_lifecycles:
            return self.lifecycles.around(rows, lambda: self._called(list(map(dict, rows))))
        return self._called(rows)

    def _called(self, rows: list[Row]) -> Done:
        done = Done(self.router.following)
        if self._function is None:
            self._pass_on(Made(rows, rows), done)
            return done
        left = iter(rows)
        start = 0
        while start < len(rows):
            answers: list[Any] = []
            try:
                call_each(self._function, left, answers)
            except Exception as error:
                self._take(rows[start : start + len(answers)], answers, done)
                start += len(answers) + 1
                self._failed(rows[start - 1], error, done)
            else:
                self._take(rows[start:] if start else rows, answers, done)
                break
        return done

    def _take(self, rows: list[Row], answers: list[Any], done: Done) -> None:
        """Pass on what the function answered for these rows."""
        kinds = set(map(type, answers))
        if kinds == {dict}:
            self._pass_on(Made(answers, rows), done)
            return
        if kinds == {dict, type(None)}:
            made = [answer for answer in answers if answer is not None]
            before = [row for row, answer in zip(rows, answers, strict=True) if answer is not None]
            self._pass_on(Made(made, before), done)
            return
        gathered: list[tuple[Row, list[Row]]] = []
        for row, answer in zip(rows, answers, strict=True):
            try:
                gathered.append((row, rows_of(answer)))
            except Exception as error:
                self._pass_on(_spread(gathered), done)
                gathered = []
                self._failed(row, error, done)
        self._pass_on(_spread(gathered), done)

    def _pass_on(self, made: Made, done: Done) -> None:
        if not made.rows:
            return
        if self._keeps:
            done.kept += map(dict, made.rows) if self._passes_on else made.rows
        if self._passes_on:
            done.add(self.router.routes(made))

    def _failed(self, row: Row, error: Exception, done: Done) -> None:
        """Call the function again for a row, as often as a condition says; then route the error."""
        assert self._function is not None
        tries = 1
        while tries <= self.router.retries(row, error):
            try:
                made = rows_of(self._function(row))
            except Exception as raised:
                error = raised
                tries += 1
            else:
                self._pass_on(_spread([(row, made)]), done)
                return
        routed = self.router.routes_of_error(row, error)
        if routed is None:
            mend = "add a flow condition with thrown_exception, or mend the function"
            what = f"the task `{self.task.name}`"
            raise TaskFailed(self.task.name, what, error, row=row, mend=mend) from error
        done.routed_errors += 1
        done.add(routed)


def _spread(gathered: list[tuple[Row, list[Row]]]) -> Made:
    """Rows that were made several of one, each with the one and with the others."""
    return Made(
        [row for _, rows in gathered for row in rows],
        [before for before, rows in gathered for _ in rows],
        [rows for _, rows in gathered for _ in rows],
    )
