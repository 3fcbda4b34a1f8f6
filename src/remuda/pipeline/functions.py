"""`module:function` to something that can be called, with its parameters bound."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from remuda.errors import RemudaError
from remuda.pipeline.model.problems import nearest

Row = dict[str, Any]


class UnknownFunction(RemudaError):
    """A job names a function that cannot be found."""

    exit_code = 2


class Functions:
    """Finds functions by name: those given here first, then those of modules.

    Tests give theirs as a mapping, and need no module.
    """

    def __init__(self, known: Mapping[str, Callable[..., Any]] | None = None) -> None:
        self._known = known or {}

    def find(self, name: str) -> Any:
        if name in self._known:
            return self._known[name]
        module, colon, path = name.partition(":")
        if not colon:
            raise UnknownFunction(
                f"`{name}` is no function's name{nearest(name, self._known)}: write it as "
                "module:function"
            )
        try:
            found: Any = importlib.import_module(module)
        except ImportError as error:
            raise UnknownFunction(
                f"cannot import `{module}` for the function `{name}`: {error}"
            ) from None
        for part in path.split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                raise UnknownFunction(
                    f"there is no `{part}` in {module}{nearest(part, dir(found))}, which "
                    f"`{name}` names"
                ) from None
        return found

    def bound(self, name: str, params: Mapping[str, Any]) -> Callable[..., Any]:
        function = self.find(name)
        return functools.partial(function, **params) if params else function


def asked_for(function: Callable[..., Any], offered: Iterable[str]) -> tuple[str, ...]:
    """Those of the offered arguments that a function asks for by name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return tuple(offered)
    return tuple(name for name in offered if name in parameters)


def call_each(function: Callable[[Any], Any], arguments: Iterable[Any], answers: list[Any]) -> None:
    """Call a function for each argument. If it raises, the answers before that are there."""
    for argument in arguments:
        answers.append(function(argument))  # noqa: PERF401


def rows_of(answer: Any) -> list[Row]:
    """What a row function answered, as rows: one, several, or none."""
    if answer is None:
        return []
    row = _row_of(answer)
    if row is not None:
        return [row]
    if isinstance(answer, str | bytes) or not hasattr(answer, "__iter__"):
        raise TypeError(f"a row function answers a row, rows or None, not {answer!r}")
    rows: list[Row] = []
    for one in answer:
        row = _row_of(one)
        if row is None:
            raise TypeError(f"a row function answers rows, and this is none: {one!r}")
        rows.append(row)
    return rows


def _row_of(value: Any) -> Row | None:
    """A mapping or a dataclass's instance as a row of its own; None for anything else."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None
