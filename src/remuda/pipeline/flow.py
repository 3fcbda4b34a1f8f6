"""Where a row goes next.

A task without conditions sends every row to every following task. With conditions, they are looked
at in order, each once for a row: the row goes where those that hold say, and one that holds and
short-circuits ends the looking. What a function raised is looked at by the conditions for
exceptions alone, and if none of them holds, the job is killed by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from remuda.pipeline.functions import Functions, Row, accepted
from remuda.pipeline.model.graph import Graph
from remuda.pipeline.model.job import FlowCondition, Job, TaskName
from remuda.pipeline.model.predicates import And, Call, Not, Or, Predicate, parse

Routed = tuple[TaskName, Row]
Holds = Callable[[Any, Mapping[str, Any]], bool]


class Router:
    """The conditions of one task."""

    def __init__(self, job: Job, task: TaskName, functions: Functions) -> None:
        self._following = Graph(job.workflow).following[task]
        self._functions = functions
        conditions = [c for c in job.flow_conditions if c.source == task]
        self._plain = [(c, self._holds(c)) for c in conditions if not c.thrown_exception]
        self._raised = [(c, self._holds(c)) for c in conditions if c.thrown_exception]

    def routes(self, before: Row, row: Row, siblings: Sequence[Row]) -> list[Routed]:
        """Where one of the rows goes that a function made of `before`."""
        if not self._plain:
            return [(to, row) for to in self._following]
        context = {"before": before, "siblings": siblings}
        return list(self._routed(self._plain, row, context, row)[0].items())

    def routes_of_error(self, before: Row, error: Exception) -> list[Routed]:
        """Where the row goes for which a function raised; raises it again if nowhere."""
        routed, held = self._routed(self._raised, before, {"before": before}, error)
        if not held:
            raise error
        return list(routed.items())

    def retries(self, before: Row, error: Exception) -> int:
        """How often a function that raised is to be called again for the same row."""
        context = {"before": before}
        return max(
            (c.retry for c, holds in self._raised if c.retry and holds(error, context)), default=0
        )

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _routed(
        self,
        conditions: Sequence[tuple[FlowCondition, Holds]],
        row: Row,
        context: Mapping[str, Any],
        subject: Any,
    ) -> tuple[dict[TaskName, Row], bool]:
        """Where the row goes, and whether any condition held at all (it may say: nowhere)."""
        routed: dict[TaskName, Row] = {}
        any_held = False
        for condition, holds in conditions:
            try:
                held = holds(subject, context)
            except Exception as error:
                if condition.predicate_errors_to is None:
                    raise
                any_held = True
                for to in condition.predicate_errors_to:
                    routed.setdefault(to, self._transformed(condition, row, error))
                continue
            if not held:
                continue
            any_held = True
            for to in self._targets(condition):
                routed.setdefault(to, self._passed_on(condition, row, subject))
            if condition.short_circuit:
                break
        return routed, any_held

    def _targets(self, condition: FlowCondition) -> Sequence[TaskName]:
        if condition.to == "all":
            return self._following
        return () if condition.to == "none" else condition.to

    def _passed_on(self, condition: FlowCondition, row: Row, subject: Any) -> Row:
        if isinstance(subject, Exception):
            row = self._transformed(condition, row, subject)
        return {key: value for key, value in row.items() if key not in condition.exclude_keys}

    def _transformed(self, condition: FlowCondition, row: Row, error: Exception) -> Row:
        if condition.post_transform is None:
            return row
        return dict(self._functions.find(condition.post_transform)(row, error))

    def _holds(self, condition: FlowCondition) -> Holds:
        return predicate(condition.predicate, self._functions)


def predicate(written: Any, functions: Functions) -> Holds:
    """What a predicate means: a function of a row (or an error), and of what it asks for by name:
    `before`, the row that the task was given, and `siblings`, all rows that it made of it."""
    if written is None:
        return lambda _subject, _context: True
    return _compiled(parse(written), functions)


def _compiled(parsed: Predicate, functions: Functions) -> Holds:
    match parsed:
        case And(parts=parts):
            every = [_compiled(part, functions) for part in parts]
            return lambda subject, context: all(part(subject, context) for part in every)
        case Or(parts=parts):
            some = [_compiled(part, functions) for part in parts]
            return lambda subject, context: any(part(subject, context) for part in some)
        case Not(part=part):
            negated = _compiled(part, functions)
            return lambda subject, context: not negated(subject, context)
        case Call(fn=name, params=params):
            return _called(functions.bound(name, params))


def _called(function: Callable[..., Any]) -> Holds:
    return lambda subject, context: bool(function(subject, **accepted(function, context)))
