"""`remuda serve`: a process in a service, from a class that it finds by name."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import sys
from typing import Annotated, Literal

import typer

from remuda.cli.options import PEER, configured
from remuda.config import Config
from remuda.errors import BadConfig
from remuda.service.api import Service
from remuda.service.member import join


@configured(
    *PEER,
    "settle_time",
    "rebalance_interval",
    "load_interval",
    "drain_time",
    "drain_deadline",
    "start_attempts",
)
def serve(
    config: Config,
    service: Annotated[str, typer.Argument(metavar="SERVICE", help="The service's name.")],
    target: Annotated[str, typer.Argument(metavar="MODULE:CLASS", help="A `remuda.Service`.")],
    *,
    balance: Annotated[
        Literal["count", "load"], typer.Option(help="What members are to have alike.")
    ] = "count",
    handoff: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="Both owners serve a moving unit so long."),
    ] = None,
    name: Annotated[str, typer.Option(help="What units can be pegged to across restarts.")] = "",
) -> None:
    """Serve a service's units in this process, until SIGTERM or Ctrl-C, which drain it first."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    served = _load(target)
    asyncio.run(join(service, served, balance=balance, handoff=handoff, name=name, config=config))


def _load(target: str) -> Service:
    module, colon, name = target.partition(":")
    if not (module and colon and name):
        raise BadConfig(f"`{target}` does not name a class: write it as module:Class")
    sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise BadConfig(f"cannot import `{module}`: {error}; run from where it lies") from None
    except AttributeError:
        raise BadConfig(f"there is no `{name}` in the module `{module}`") from None
    made = found() if inspect.isclass(found) else found
    if not isinstance(made, Service):
        raise BadConfig(f"`{target}` is not a remuda.Service")
    return made
