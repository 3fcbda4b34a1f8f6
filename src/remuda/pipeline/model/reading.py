"""A job from Python, JSON or YAML: every mistake of shape in one report."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

import msgspec
import yaml
from msgspec import Struct

from remuda.errors import BadConfig
from remuda.pipeline.model.checks import check, too_many_tasks
from remuda.pipeline.model.job import (
    FlowCondition,
    Job,
    Lifecycle,
    Task,
    Trigger,
    Window,
)
from remuda.pipeline.model.problems import BadJob, Problem, nearest

_Entry: TypeAlias = type[Task | FlowCondition | Window | Trigger | Lifecycle]

# The lists of a job, the shape of their entries, and the key by which people know an entry.
_LISTS: dict[str, tuple[_Entry, str]] = {
    "catalog": (Task, "name"),
    "flow_conditions": (FlowCondition, "from"),
    "windows": (Window, "id"),
    "triggers": (Trigger, "id"),
    "lifecycles": (Lifecycle, "task"),
}


def read_job(source: Mapping[str, Any] | str | Path) -> Job:
    """From a mapping, or a `.json`, `.yaml` or `.yml` file. Raises BadJob with all problems."""
    data = _underscored(_loaded(source) if isinstance(source, str | Path) else dict(source))
    problems = [*_misshapen(data)]
    if problems:
        raise BadJob(problems)
    job = msgspec.convert(data, Job)
    problems = check(job)
    if problems:
        raise BadJob(problems)
    return job


def _loaded(source: str | Path) -> Any:
    path = Path(source)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"cannot read the job {path}: {error}") from None
    try:
        return json.loads(text) if path.suffix == ".json" else yaml.load(text, _Yaml)
    except (json.JSONDecodeError, yaml.YAMLError) as error:
        kind = "JSON" if path.suffix == ".json" else "YAML"
        raise BadConfig(f"the job {path} is not {kind}: {' '.join(str(error).split())}") from None


class _Yaml(yaml.SafeLoader):
    """As YAML 1.2 has it: `on`, `off`, `yes` and `no` are words, and `on` is a key of triggers."""


_Yaml.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Yaml.add_implicit_resolver(  # pyright: ignore[reportUnknownMemberType]
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


def _underscored(data: Any) -> Any:
    """Keys with dashes are as good as keys with underscores, at the levels that we define."""
    if not isinstance(data, Mapping):
        return data
    entries = {_key(key): value for key, value in cast("Mapping[Any, Any]", data).items()}
    for name in _LISTS:
        if isinstance(entries.get(name), list):
            entries[name] = [
                {_key(key): value for key, value in cast("Mapping[Any, Any]", entry).items()}
                if isinstance(entry, Mapping)
                else entry
                for entry in cast("list[Any]", entries[name])
            ]
    return entries


def _key(key: Any) -> str:
    return str(key).replace("-", "_")


# ── shape ────────────────────────────────────────────────────────────────────────────────────


def _misshapen(data: Any) -> list[Problem]:
    if not isinstance(data, Mapping):
        return [Problem("the job", None, f"expected a mapping, got {_kind(data)}")]
    entries = cast("Mapping[str, Any]", data)
    too_many = too_many_tasks(entries.get("catalog"))
    if too_many is not None:
        return [too_many]
    problems = _wrong_keys("the job", entries, Job, skip=frozenset(_LISTS))
    for name, (shape, known_by) in _LISTS.items():
        value = entries.get(name, [])
        if not isinstance(value, list):
            problems.append(Problem("the job", name, f"expected a list, got {_kind(value)}"))
            continue
        for number, entry in enumerate(cast("list[Any]", value), 1):
            problems += _misshapen_entry(name, number, entry, shape, known_by)
    return problems


def _misshapen_entry(
    name: str, number: int, entry: Any, shape: _Entry, known_by: str
) -> list[Problem]:
    singular = {"catalog": "catalog entry"}.get(name, name.replace("_", " ").removesuffix("s"))
    if not isinstance(entry, Mapping):
        where = f"{singular} {number}"
        return [Problem(where, None, f"expected a mapping, got {_kind(entry)}")]
    keys = cast("Mapping[str, Any]", entry)
    return _wrong_keys(f"{singular} {keys.get(known_by, number)}", keys, shape)


def _wrong_keys(
    where: str, entry: Mapping[str, Any], shape: type[Struct], skip: frozenset[str] = frozenset()
) -> list[Problem]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(shape)}
    hints = get_type_hints(shape)
    problems = [
        Problem(where, key, f"is not a key of it{nearest(key, fields)}")
        for key in entry
        if key not in fields
    ]
    for key, field in fields.items():
        if key in skip and key in entry:
            continue
        if key not in entry:
            if field.required:
                problems.append(Problem(where, key, "is missing"))
            continue
        hint = hints[field.name]
        try:
            msgspec.convert(entry[key], hint)
        except msgspec.ValidationError:
            got = f"`{entry[key]}`" if isinstance(entry[key], str) else _kind(entry[key])
            problems.append(Problem(where, key, f"expected {_expected(hint)}, got {got}"))
    return problems


def _expected(hint: Any) -> str:
    """A type in words."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(f"`{value}`" for value in get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_expected(kind) for kind in get_args(hint) if kind is not type(None))
    if get_origin(hint) is list:
        return f"a list of {_expected(get_args(hint)[0])}"
    if get_origin(hint) is tuple:
        return "a pair of task names"
    return {
        str: "text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
    }.get(hint, "a mapping")


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f"`{value}`"
