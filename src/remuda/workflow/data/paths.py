# JSON is of any shape.
# pyright: basic
"""JSONPath and LHPath: reading and writing inside a value.

A JSONPath is `$` and steps: `.name`, `['name']`, `[3]`, `[-1]`, `[*]` or `.*`, `[1:3]`, `..name`,
and at the end `.length()`. Read, a path that leads nowhere is null; one that may match several
places (`*`, a slice, `..`) is an array. Written, it must say one place, and objects that are
missing on the way are made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct

from remuda.workflow.errors import BadValue


class Step(Struct, frozen=True):
    """One step: to a key or an index, to a slice, to all, to a key at any depth, or the length."""

    kind: Literal["at", "slice", "all", "deep", "length"]
    at: str | int = ""
    start: int | None = None
    stop: int | None = None


_STEP = re.compile(
    r"""
      (?P<length>\.length\(\)$)
    | \.\.(?P<deep>[^.\[\]()*'"\s]+)
    | (?P<all>\.\*|\[\*\])
    | \.(?P<name>[^.\[\]()*'"\s]+)
    | \['(?P<single>[^']*)'\]
    | \["(?P<double>[^"]*)"\]
    | \[(?P<index>-?\d+)\]
    | \[(?P<start>-?\d*):(?P<stop>-?\d*)\]
    """,
    re.VERBOSE,
)


@lru_cache(maxsize=4096)
def parse_path(path: str) -> tuple[Step, ...]:
    if not path.startswith("$"):
        raise BadValue(f"JSONPath {path!r} does not begin with $")
    steps: list[Step] = []
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise BadValue(f"JSONPath {path!r} cannot be read from {path[position:]!r} on")
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    found = match.groupdict()
    if found["length"]:
        return Step("length")
    if found["deep"]:
        return Step("deep", found["deep"])
    if found["all"]:
        return Step("all")
    if found["index"] is not None:
        return Step("at", int(found["index"]))
    if found["stop"] is not None:
        return Step("slice", start=_bound(found["start"]), stop=_bound(found["stop"]))
    name = next(found[key] for key in ("name", "single", "double") if found[key] is not None)
    return Step("at", name)


def _bound(text: str) -> int | None:
    return int(text) if text else None


def keys_path(keys: Sequence[str | int]) -> tuple[Step, ...]:
    """The steps of an LHPath, whose selectors are keys and indexes."""
    return tuple(Step("at", key) for key in keys)


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def read(data: Any, steps: Sequence[Step]) -> Any:
    """What the path leads to in data; None where it leads nowhere."""
    found = [data]
    several = False
    for step in steps:
        if step.kind == "length":
            return _length(found if several else found[0] if found else None)
        several = several or step.kind != "at"
        found = [place for parent in found for place in _places(parent, step)]
    if several:
        return found
    return found[0] if found else None


def _places(data: Any, step: Step) -> Iterator[Any]:
    match step.kind:
        case "at":
            yield from _at(data, step.at)
        case "all":
            if isinstance(data, list):
                yield from data
            elif isinstance(data, Mapping):
                yield from data.values()
        case "slice":
            if isinstance(data, list):
                yield from data[step.start : step.stop]
        case _:
            yield from _deep(data, step.at)


def _at(data: Any, key: str | int) -> Iterator[Any]:
    if isinstance(data, list):
        if isinstance(key, int) and -len(data) <= key < len(data):
            yield data[key]
    elif isinstance(data, Mapping) and str(key) in data:
        yield data[str(key)]


def _deep(data: Any, key: str | int) -> Iterator[Any]:
    if isinstance(data, Mapping):
        if key in data:
            yield data[key]
        for inner in data.values():
            yield from _deep(inner, key)
    elif isinstance(data, list):
        for inner in data:
            yield from _deep(inner, key)


def _length(data: Any) -> int | None:
    return len(data) if isinstance(data, str | list | Mapping) else None


# ── writing ──────────────────────────────────────────────────────────────────────────────────


def written(data: Any, steps: Sequence[Step], new: Any) -> Any:
    """The data with `new` at the place that the path says; the rest is shared with the old."""
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    if step.kind != "at":
        raise BadValue("only a path that says one place can be written to")
    if isinstance(data, list):
        return _list_written(data, step.at, rest, new)
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise BadValue(f"there is no {step.at!r} in a {type(data).__name__}")
    return {**data, str(step.at): written(data.get(str(step.at)), rest, new)}


def _list_written(data: list[Any], index: str | int, rest: Sequence[Step], new: Any) -> list[Any]:
    if not isinstance(index, int) or not -len(data) <= index <= len(data):
        raise BadValue(f"there is no place {index!r} in an array of {len(data)}")
    copy = list(data)
    if index == len(data):
        copy.append(written(None, rest, new))
    else:
        copy[index] = written(data[index], rest, new)
    return copy
