"""Where rows go next.

A task without conditions sends every row to every following task. With conditions, they are looked
at in order, each once for a row: the row goes where those that hold say, and one that holds and
short-circuits ends the looking. What a function raised is looked at by the conditions for
exceptions alone, and if none of them holds, the job is killed by it.

Rows come as a list, and each condition is decided for all of them before the next is looked at:
what is the same for every row is asked once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from operator import itemgetter
from typing import Any, TypeAlias

from msgspec import Struct

from remuda.pipeline.functions import Functions, Row, asked_for, call_each
from remuda.pipeline.killed import TaskFailed
from remuda.pipeline.model.graph import Graph
from remuda.pipeline.model.job import FlowCondition, Job, TaskName
from remuda.pipeline.model.predicates import And, Call, Not, Or, Predicate, parse

Routed: TypeAlias = dict[TaskName, list[Row]]
Holds: TypeAlias = Callable[[Any, Mapping[str, Any]], bool]

_OFFERED = ("before", "siblings")


class Made(Struct, frozen=True):
    """Rows that a task's function made: of which row each, and together with which others."""

    rows: list[Row]
    before: Sequence[Row]
    siblings: Sequence[Sequence[Row]] | None = None

    def contexts(self) -> list[Mapping[str, Any]]:
        siblings = self.siblings or [[row] for row in self.rows]
        return [
            {"before": before, "siblings": others}
            for before, others in zip(self.before, siblings, strict=True)
        ]


class Router:
    """The conditions of one task."""

    def __init__(
        self,
        job: Job,
        task: TaskName,
        functions: Functions,
        following: Sequence[TaskName] | None = None,
    ) -> None:
        self.following = Graph(job.workflow).following[task] if following is None else following
        conditions = [
            _Condition(
                f"flow condition {number} of the task `{task}`", c, self.following, functions
            )
            for number, c in enumerate((c for c in job.flow_conditions if c.source == task), 1)
        ]
        self._plain = [c for c in conditions if not c.entry.thrown_exception]
        self._raised = [c for c in conditions if c.entry.thrown_exception]
        self._asks = any(condition.asks for condition in self._plain)

    @property
    def has_conditions(self) -> bool:
        """Whether any row may go anywhere else than to all that follow."""
        return bool(self._plain)

    def routes(self, made: Made) -> Routed:
        """Where the rows go that a function made, in their order."""
        if not self._plain:
            return _own(dict.fromkeys(self.following, made.rows))
        chosen: dict[TaskName, list[_Choice]] = {}
        open_: Sequence[int] = range(len(made.rows))
        contexts = made.contexts() if self._asks else None
        for condition in self._plain:
            is_whole = len(open_) == len(made.rows)
            rows = made.rows if is_whole else [made.rows[i] for i in open_]
            held, raised = condition.decided(rows, contexts and [contexts[i] for i in open_])
            choice = _Choice(open_, rows, held, condition.entry.exclude_keys)
            for to in condition.targets:
                chosen.setdefault(to, []).append(choice)
            for number, error in raised.items():
                row = condition.row_of_predicate_error(rows[number], error)
                for to in condition.errors_to:
                    chosen.setdefault(to, []).append(_Choice([open_[number]], [row], [True]))
            if condition.entry.short_circuit:
                open_ = [i for i, holds in zip(open_, held, strict=True) if not holds]
        return _own({to: _gathered(choices) for to, choices in chosen.items()})

    def routes_of_error(self, before: Row, error: Exception) -> Routed | None:
        """Where the row goes for which a function raised; None if no condition takes it."""
        routed: dict[TaskName, Row] = {}
        any_held = False
        context = {"before": before}
        for condition in self._raised:
            try:
                if not condition.holds(error, context):
                    continue
            except Exception as raised:
                any_held = True
                row = condition.row_of_predicate_error(before, raised)
                for to in condition.errors_to:
                    routed.setdefault(to, row)
                continue
            any_held = True
            for to in condition.targets:
                row = _without(condition.entry.exclude_keys, condition.transformed(before, error))
                routed.setdefault(to, row)
            if condition.entry.short_circuit:
                break
        return _own({to: [row] for to, row in routed.items()}) if any_held else None

    def retries(self, before: Row, error: Exception) -> int:
        """How often a function that raised is to be called again for the same row."""
        tried = [c for c in self._raised if c.entry.retry]
        return max((c.entry.retry for c in tried if c.takes(before, error)), default=0)


class _Condition:
    """One condition, with everything looked up that is the same for every row."""

    def __init__(
        self,
        name: str,
        entry: FlowCondition,
        following: Sequence[TaskName],
        functions: Functions,
    ) -> None:
        self.name = name
        self.entry = entry
        self.targets = _targets(entry, following)
        self.errors_to = entry.predicate_errors_to or []
        self.holds = predicate(entry.predicate, functions)
        parsed = None if entry.predicate is None else parse(entry.predicate)
        self.asks = parsed is not None and _asks(parsed, functions)
        self._alone = None if parsed is None or self.asks else _alone(parsed, functions)
        self._transform = (
            None if entry.post_transform is None else functions.find(entry.post_transform)
        )

    def decided(
        self, rows: Sequence[Row], contexts: Sequence[Mapping[str, Any]] | None
    ) -> tuple[list[Any], dict[int, Exception]]:
        """Whether it holds for each row; and what its predicate raised, by the row's number."""
        if self.entry.predicate is None:
            return [True] * len(rows), {}
        if self._alone is not None:
            return _each(self._alone, rows)
        assert contexts is not None
        return _each(lambda pair: self.holds(*pair), list(zip(rows, contexts, strict=True)))

    def takes(self, before: Row, error: Exception) -> bool:
        """Whether it holds for what a function raised; not, if it raises itself."""
        try:
            return self.holds(error, {"before": before})
        except Exception:
            return False

    def transformed(self, row: Row, error: Exception) -> Row:
        if self._transform is None:
            return row
        try:
            return dict(self._transform(row, error))
        except Exception as raised:
            what = f"post_transform in {self.name}"
            raise TaskFailed(self.entry.source, what, raised, row=row) from raised

    def row_of_predicate_error(self, row: Row, error: Exception) -> Row:
        """What is passed on if its predicate raised; raises TaskFailed if that kills the job."""
        if self.entry.predicate_errors_to is None:
            mend = "mend the predicate, or name tasks in predicate_errors_to"
            raise TaskFailed(self.entry.source, self.name, error, row=row, mend=mend) from error
        return self.transformed(row, error)


def _targets(entry: FlowCondition, following: Sequence[TaskName]) -> Sequence[TaskName]:
    if entry.to == "all":
        return following
    return () if entry.to == "none" else entry.to


def _each(
    decide: Callable[[Any], Any], subjects: Sequence[Any]
) -> tuple[list[Any], dict[int, Exception]]:
    """What each call answers; a call that raises counts as false, and what it raised is kept."""
    answers: list[Any] = []
    raised: dict[int, Exception] = {}
    left = iter(subjects)
    while len(answers) < len(subjects):
        try:
            call_each(decide, left, answers)
        except Exception as error:
            raised[len(answers)] = error
            answers.append(False)
    return answers, raised


class _Choice(Struct, frozen=True):
    """Rows at some positions, those of them for which a condition held, without some keys."""

    positions: Sequence[int]
    rows: Sequence[Row]
    held: Sequence[Any]
    excluded: Sequence[str] = ()

    def taken(self) -> list[Row]:
        taken = list(compress(self.rows, self.held))
        return [_without(self.excluded, row) for row in taken] if self.excluded else taken


def _gathered(choices: Sequence[_Choice]) -> list[Row]:
    """What goes to one task, in order; of several choices of the same row, the first."""
    if len(choices) == 1:
        return choices[0].taken()
    first: dict[int, Row] = {}
    for choice in choices:
        for position, row in zip(
            compress(choice.positions, choice.held), choice.taken(), strict=True
        ):
            first.setdefault(position, row)
    return [row for _, row in sorted(first.items(), key=itemgetter(0))]


def _without(keys: Sequence[str], row: Row) -> Row:
    return {k: v for k, v in row.items() if k not in keys} if keys else row


def _own(routed: Routed) -> Routed:
    """No two tasks are given the same dict: a function may change the row that it was given."""
    first = True
    for to, rows in routed.items():
        if not first:
            routed[to] = list(map(dict, rows))
        first = False
    return routed


# ── predicates ───────────────────────────────────────────────────────────────────────────────


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
            return _called(functions.bound(name, params), _asked(parsed, functions))


def _called(function: Callable[..., Any], asked: Sequence[str]) -> Holds:
    if not asked:
        return lambda subject, _context: bool(function(subject))
    return lambda subject, context: bool(
        function(subject, **{name: context[name] for name in asked if name in context})
    )


def _alone(parsed: Predicate, functions: Functions) -> Callable[[Any], Any]:
    """A predicate that asks for nothing but the row."""
    if isinstance(parsed, Call):
        return functions.bound(parsed.fn, parsed.params)
    holds = _compiled(parsed, functions)
    return lambda subject: holds(subject, {})


def _asks(parsed: Predicate, functions: Functions) -> bool:
    match parsed:
        case And(parts=parts) | Or(parts=parts):
            return any(_asks(part, functions) for part in parts)
        case Not(part=part):
            return _asks(part, functions)
        case Call():
            return bool(_asked(parsed, functions))


def _asked(call: Call, functions: Functions) -> tuple[str, ...]:
    offered = [name for name in _OFFERED if name not in call.params]
    return asked_for(functions.find(call.fn), offered)
