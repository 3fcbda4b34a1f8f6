"""`remuda units`: the units of a service."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar

import typer
from rich.table import Table

from remuda.cli.options import CLUSTER, AsJson, configured
from remuda.cli.output import console, plain, print_json
from remuda.config import Config
from remuda.service.control import Control, control, described_units

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="Add, remove, list and peg the units of a service.")

ServiceName = Annotated[str, typer.Argument(metavar="SERVICE", help="The service's name.")]
UnitName = Annotated[str, typer.Argument(metavar="UNIT", help="The unit's id.")]
UnitNames = Annotated[
    list[str], typer.Argument(metavar="UNIT…", help="Ids; `-` reads them from stdin, a line each.")
]


def asking(config: Config, question: Callable[[Control], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        async with control(config) as services:
            return await question(services)

    return asyncio.run(run())


@app.command()
@configured(*CLUSTER)
def add(config: Config, service: ServiceName, units: UnitNames, *, json: AsJson = False) -> None:
    """Add units to a service; those that are there already stay as they are."""
    names = _from_stdin(units)
    added = asking(config, lambda services: services.add_units(service, names))
    if json:
        print_json({"service": service, "added": added, "known": len(set(names)) - added})
    else:
        known = len(set(names)) - added
        note = f"; {known} were there already" if known else ""
        console.print(f"{plain(service)} has {added} more units{note}")


@app.command()
@configured(*CLUSTER)
def rm(config: Config, service: ServiceName, units: UnitNames, *, json: AsJson = False) -> None:
    """Remove units; their owners stop them."""
    removed = asking(config, lambda services: services.remove_units(service, _from_stdin(units)))
    if json:
        print_json({"service": service, "removed": removed})
    else:
        console.print(f"{plain(service)} has {removed} units less")


@app.command(name="list")
@configured(*CLUSTER)
def list_units(config: Config, service: ServiceName, *, json: AsJson = False) -> None:
    """Show each unit: its owner, epoch, load, peg and state."""
    rows = described_units(service, asking(config, lambda services: services.pool(service)))
    if json:
        print_json(rows)
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("unit", "owner", "epoch", "load", "peg", "state"):
        table.add_column(column, justify="right" if column in ("epoch", "load") else "left")
    for row in rows:
        owned = row["state"] == "owned"
        state = row["state"] if row["reason"] is None else f"{row['state']}: {row['reason']}"
        table.add_row(
            plain(row["id"]),
            row["owner"] or "",
            str(row["epoch"]) if row["owner"] else "",
            str(row["load"]),
            plain(row["peg"] or ""),
            f"[{'green' if owned else 'yellow'}]{plain(state)}[/]",
        )
    console.print(table)


@app.command()
@configured(*CLUSTER)
def peg(
    config: Config,
    service: ServiceName,
    unit: UnitName,
    peer: Annotated[str, typer.Argument(metavar="PEER", help="A peer's id or name.")],
    *,
    json: AsJson = False,
) -> None:
    """Peg a unit to one peer: it goes there, and only there."""
    waits = asking(config, lambda services: services.peg(service, unit, peer))
    if json:
        print_json({"service": service, "unit": unit, "peg": peer, "waits": waits})
    else:
        note = f"; it waits: {waits}" if waits else ""
        console.print(plain(f"{unit} is pegged to {peer}{note}"), soft_wrap=True)


@app.command()
@configured(*CLUSTER)
def unpeg(config: Config, service: ServiceName, unit: UnitName, *, json: AsJson = False) -> None:
    """Let a unit go to any member again."""
    asking(config, lambda services: services.unpeg(service, unit))
    if json:
        print_json({"service": service, "unit": unit, "peg": None})
    else:
        console.print(plain(f"{unit} is free to move"))


def _from_stdin(units: list[str]) -> list[str]:
    if units != ["-"]:
        return units
    return [line.strip() for line in sys.stdin if line.strip()]
