"""What is kept of a window's rows.

An aggregation is written as its name (`count`), as a name and a column (`[sum, amount]`), or as a
function's name, `module:object`, for one's own: an object with `init() → state`,
`update(state, row) → change`, `apply(state, change) → state`, and `merge(a, b) → state` for session
windows that grow together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Protocol

from msgspec import Struct

Row = Mapping[str, Any]


class Aggregation(Protocol):
    def init(self) -> Any:
        """The state of a window that has seen no row."""
        ...

    def update(self, state: Any, row: Row) -> Any:
        """What a row changes: a value, which could be kept in a log."""
        ...

    def apply(self, state: Any, change: Any) -> Any:
        """The state after a change."""
        ...

    def merge(self, one: Any, other: Any) -> Any:
        """The state of two sessions that have become one."""
        ...


class _Folded(Struct, frozen=True):
    """One of ours: a start, how a value changes the state, how two states become one."""

    start: Any
    value: Callable[[Row], Any]
    fold: Callable[[Any, Any], Any]
    join: Callable[[Any, Any], Any]

    def init(self) -> Any:
        return copy(self.start)

    def update(self, state: Any, row: Row) -> Any:
        return self.value(row)

    def apply(self, state: Any, change: Any) -> Any:
        return self.fold(state, change)

    def merge(self, one: Any, other: Any) -> Any:
        return self.join(one, other)


# Those that look at one column, and those that look at none. Rows without the column, or with null
# in it, are passed over, as Spark's aggregates do.
WITH_COLUMN = ("sum", "min", "max", "average", "collect", "collect_by_key")
WITHOUT_COLUMN = ("count", "collect")


def named(name: str, column: str | None) -> Aggregation:
    """One of the built-in aggregations."""

    def value(row: Row) -> Any:
        return row if column is None else row.get(column)

    def skipping(fold: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda state, change: state if change is None else fold(state, change)

    match name:
        case "count":
            return _Folded(0, value, lambda state, _: state + 1, lambda a, b: a + b)
        case "sum":
            return _Folded(None, value, skipping(_plus), _either(_plus))
        case "min":
            return _Folded(None, value, skipping(_least), _either(_least))
        case "max":
            return _Folded(None, value, skipping(_most), _either(_most))
        case "average":
            return _Folded(
                (0, 0),
                value,
                skipping(lambda state, change: (state[0] + change, state[1] + 1)),
                lambda a, b: (a[0] + b[0], a[1] + b[1]),
            )
        case "collect":
            return _Folded([], value, skipping(_appended), lambda a, b: [*a, *b])
        case "collect_by_key":
            return _Folded(
                {},
                lambda row: (row.get(column or ""), row),
                _appended_by_key,
                lambda a, b: {k: [*a.get(k, ()), *b.get(k, ())] for k in {**a, **b}},
            )
        case _:
            raise ValueError(f"there is no aggregation {name}")


def result_of(name: str | None, state: Any) -> Any:
    """What users see of a state."""
    if name == "average":
        total, count = state
        return total / count if count else None
    if name == "collect":
        return list(state)
    if name == "collect_by_key":
        return {key: list(rows) for key, rows in state.items()}
    return state


def _appended(state: list[Any], value: Any) -> list[Any]:
    """In place: a window that keeps many rows does not copy them with each."""
    state.append(value)
    return state


def _appended_by_key(state: dict[Any, list[Row]], change: tuple[Any, Row]) -> Any:
    key, row = change
    if key is not None:
        state.setdefault(key, []).append(row)
    return state


def _plus(one: Any, other: Any) -> Any:
    return other if one is None else one + other


def _least(one: Any, other: Any) -> Any:
    return other if one is None else min(one, other)


def _most(one: Any, other: Any) -> Any:
    return other if one is None else max(one, other)


def _either(fold: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda one, other: one if other is None else fold(one, other)
