"""`remuda work`: a worker, from handlers that it finds by name."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
from typing import Annotated

import typer

from remuda.cli.options import PEER, configured
from remuda.config import Config
from remuda.errors import BadConfig
from remuda.queue.handler import Handler
from remuda.queue.worker import run_worker


@configured(*PEER, "settle_time", "load_interval", "drain_time", "drain_deadline", "start_attempts")
def work(
    config: Config,
    handlers: Annotated[
        list[str], typer.Argument(metavar="MODULE:HANDLER…", help="Made with `remuda.handler`.")
    ],
    *,
    name: Annotated[
        str, typer.Option(help="What partitions can be pegged to across restarts.")
    ] = "",
) -> None:
    """Handle messages of queues in this process, until SIGTERM or Ctrl-C."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    sys.path.insert(0, "")
    asyncio.run(run_worker(*map(_load, handlers), name=name, config=config))


def _load(target: str) -> Handler:
    module, colon, name = target.partition(":")
    if not (module and colon and name):
        raise BadConfig(f"`{target}` does not name a handler: write it as module:handler")
    try:
        found = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise BadConfig(f"cannot import `{module}`: {error}; run from where it lies") from None
    except AttributeError:
        raise BadConfig(f"there is no `{name}` in the module `{module}`") from None
    if not isinstance(found, Handler):
        raise BadConfig(f"`{target}` is not a handler: decorate it with `remuda.handler`")
    return found
