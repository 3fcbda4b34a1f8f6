"""The reference of all options, as `docs/options.md` has it, made from the table in `config`.

python -m remuda.cli.options_doc > docs/options.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import get_args, get_type_hints

from msgspec import Meta

from remuda.config import ENVIRONMENT_PREFIX, FILE_NAME, OPTIONS, Config, Option

_UNITS = {"s": "seconds"}
_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def options_markdown() -> str:
    return "\n".join([_HEAD, *map(_section, OPTIONS.values())])


_HEAD = f"""\
# Options

An option's value is the first that is given of: its flag, its environment variable, its key in the
file, its default. The key is the option's name as it stands here.

The file is TOML: the one that `--config` or `{ENVIRONMENT_PREFIX}CONFIG` names, or `{FILE_NAME}` in
the current directory. Every verb reads the file and the environment; which flags it takes, its
`--help` says.

This page is made from the table in `remuda/config.py`, by `python -m remuda.cli.options_doc`.
"""


def _section(option: Option) -> str:
    return f"""\
## {option.name}

{option.doc}

| flag | environment | value | default | since |
|---|---|---|---|---|
| {_flags(option)} | `{option.variable}` | {_value(option)} | {_default(option)} | {option.since} |
"""


def _flags(option: Option) -> str:
    if option.type is bool:
        return f"`{option.flag}`, `--no-{option.flag[2:]}`"
    return f"`{option.flag}`"


def _value(option: Option) -> str:
    kinds = [kind for kind in get_args(option.type) or (option.type,) if kind is not type(None)]
    named = _UNITS.get(option.unit) or " or ".join(_KINDS.get(kind, f"`{kind}`") for kind in kinds)
    return ", ".join([named, *_bounds(option)])


def _bounds(option: Option) -> Iterator[str]:
    for meta in get_args(get_type_hints(Config, include_extras=True)[option.field])[1:]:
        if isinstance(meta, Meta) and meta.gt is not None:
            yield f"above {meta.gt:g}"


def _default(option: Option) -> str:
    if option.default is None:
        return "none"
    if isinstance(option.default, bool):
        return f"`{option.default}`".lower()
    return f"`{option.default}`"


if __name__ == "__main__":
    sys.stdout.write(options_markdown())
