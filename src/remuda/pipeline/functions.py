"""`module:function` to something that can be called, with its parameters bound."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
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


def accepted(function: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the offered arguments that a function asks for by name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(offered)
    return {name: value for name, value in offered.items() if name in parameters}


def rows_of(answer: Any) -> list[Row]:
    """What a row function answered, as rows: one, several, or none."""
    if answer is None:
        return []
    if isinstance(answer, Mapping):
        return [dict(cast("Mapping[str, Any]", answer))]
    if isinstance(answer, str | bytes) or not hasattr(answer, "__iter__"):
        raise TypeError(f"a row function answers a row, rows or None, not {answer!r}")
    rows: list[Row] = []
    for row in answer:
        if not isinstance(row, Mapping):
            raise TypeError(f"a row function answers rows, and this is none: {row!r}")
        rows.append(dict(cast("Mapping[str, Any]", row)))
    return rows
