"""Flags made from the table of options: a verb names those that it takes."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from remuda.config import ENVIRONMENT_PREFIX, FILE_NAME, OPTIONS, Option, load

T = TypeVar("T")

# What every verb that speaks to a cluster takes.
CLUSTER = (
    "zookeeper",
    "data",
    "zookeeper_auth",
    "zookeeper_tls",
    "zookeeper_tls_ca",
    "zookeeper_tls_cert",
    "zookeeper_tls_key",
    "zookeeper_tls_verify",
    "connect_timeout",
)

# What every verb that runs peers takes as well.
PEER = (
    *CLUSTER,
    "session_timeout",
    "join_timeout",
    "leave_timeout",
    "ack_timeout",
    "gc_entries",
    "check_invariants",
)

# What every verb that runs Spark drivers takes.
DRIVER = ("jobs", "spark_master", "spark_conf", "driver_memory")

# What every verb that runs peers with slots takes as well.
SLOTS = ("slots", "tags", "spares", *DRIVER)

# What every verb that runs nodes takes as well.
NODE = (
    "partitions",
    "history_keep",
    "grpc_host",
    "grpc_port",
    "route_timeout",
    "settle_time",
    "drain_time",
    "drain_deadline",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def configured(*names: str) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Give a verb, whose first argument is the `Config`, a flag for each of these options."""

    def decorate(verb: Callable[..., T]) -> Callable[..., T]:
        _, *others = inspect.signature(verb, eval_str=True).parameters.values()

        @functools.wraps(verb)
        def wrapped(*, config_file: Path | None = None, **given: Any) -> T:
            flags = {name: given.pop(name) for name in names}
            config = load(flags, os.environ, _file(config_file))
            return verb(config, **given)

        parameters = [*others, *map(_parameter, names), _FILE]
        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
        return wrapped

    return decorate


def _parameter(name: str) -> inspect.Parameter:
    option = OPTIONS[name]
    doc = option.doc + _default_of(option)
    flags = [option.flag]
    if option.type is bool:
        flags = [f"{option.flag}/--no-{option.flag[2:]}"]
    unit = {"s": "SECONDS", "mb": "MEGABYTES"}.get(option.unit)
    # Typed as text where a value is expected: `config` converts and refuses, for every source
    # of a value alike.
    kind = bool | None if option.type is bool else str | None
    annotation = Annotated[
        kind, typer.Option(*flags, help=doc, metavar=unit, rich_help_panel="Cluster options")
    ]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


_FILE = inspect.Parameter(
    "config_file",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        typer.Option(
            "--config",
            help=f"A file of options [default: {FILE_NAME} here, if there is one]",
            envvar=f"{ENVIRONMENT_PREFIX}CONFIG",
            rich_help_panel="Cluster options",
        ),
    ],
)


def _file(given: Path | None) -> Path | None:
    if given is not None:
        return given
    here = Path(FILE_NAME)
    return here if here.exists() else None


def _default_of(option: Option) -> str:
    if option.default is None or option.type is bool:
        return ""
    return f" [default: {option.default}]"
