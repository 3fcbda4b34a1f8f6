"""Predicates as users write them: a function's name, a function with parameters, or `and`, `or`,
`not` of such.

    app:is_big
    {fn: app:over, params: {least: 4}}
    {and: [app:is_big, {not: app:is_known}]}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from msgspec import Struct


class Call(Struct, frozen=True):
    fn: str
    params: dict[str, Any] = {}


class And(Struct, frozen=True):
    parts: tuple[Predicate, ...]


class Or(Struct, frozen=True):
    parts: tuple[Predicate, ...]


class Not(Struct, frozen=True):
    part: Predicate


Predicate: TypeAlias = "Call | And | Or | Not"

EXPECTED = "a function's name, {fn, params}, or {and: […]}, {or: […]}, {not: …} of those"


def parse(written: Any) -> Predicate:
    """Raises ValueError for what is no predicate."""
    if isinstance(written, str):
        return Call(written)
    if not isinstance(written, Mapping):
        raise ValueError(f"expected {EXPECTED}")
    entry = cast("Mapping[str, Any]", written)
    if set(entry) in ({"fn"}, {"fn", "params"}):
        fn, params = entry["fn"], entry.get("params", {})
        if isinstance(fn, str) and isinstance(params, dict):
            return Call(fn, cast("dict[str, Any]", params))
    elif set(entry) == {"not"}:
        return Not(parse(entry["not"]))
    elif set(entry) in ({"and"}, {"or"}):
        ((kind, parts),) = entry.items()
        if isinstance(parts, list) and parts:
            parsed = tuple(parse(part) for part in cast("list[Any]", parts))
            return And(parsed) if kind == "and" else Or(parsed)
    raise ValueError(f"expected {EXPECTED}")
