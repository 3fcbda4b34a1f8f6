"""`remuda drain`: let a peer give its units up."""

from __future__ import annotations

from typing import Annotated

import typer

from remuda.cli.options import CLUSTER, AsJson, configured
from remuda.cli.output import console, print_json
from remuda.cli.units import asking
from remuda.config import Config


@configured(*CLUSTER)
def drain(
    config: Config,
    peer: Annotated[str, typer.Argument(metavar="PEER", help="A peer's id or name.")],
    *,
    to: Annotated[int, typer.Option(min=0, help="How many units it may keep.")] = 0,
    over: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Over how long, instead of its drain time."),
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="End a drain: it takes units again.")] = False,
    json: AsJson = False,
) -> None:
    """Let a peer give up its units evenly over time, and take no others."""
    found = asking(config, lambda services: services.drain(peer, to=to, over_s=over, off=off))
    if json:
        print_json({"peer": found, "draining": not off, "to": to})
    else:
        console.print(f"{found} takes units again" if off else f"{found} drains to {to} units")
