"""`remuda service`: what services there are, and who serves them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from rich.table import Table

from remuda.cli.options import CLUSTER, AsJson, configured
from remuda.cli.output import console, plain, print_json
from remuda.cli.units import ServiceName, asking
from remuda.cli.view import described_service, services_table
from remuda.config import Config
from remuda.replica.pool import Pool

app = typer.Typer(no_args_is_help=True, help="List services, and show who serves one.")


@app.command(name="list")
@configured(*CLUSTER)
def list_services(config: Config, *, json: AsJson = False) -> None:
    """Show every service: members, units, and how many of them are owned."""
    replica = asking(config, lambda services: services.replica())
    if json:
        print_json([described_service(name, p) for name, p in sorted(replica.pools.items())])
        return
    if replica.pools:
        console.print(services_table(replica))
    else:
        console.print("no service yet: `remuda units add SERVICE UNIT…`")


@app.command()
@configured(*CLUSTER)
def show(config: Config, service: ServiceName, *, json: AsJson = False) -> None:
    """Show a service's members with their units and load, and the units that wait."""
    pool = asking(config, lambda services: services.pool(service))
    members, summary = _members(pool), described_service(service, pool)
    if json:
        print_json({**summary, "members": members})
        return
    console.print(
        f"[bold]{plain(service)}[/]: {summary['owned']} of {summary['units']} units owned, "
        f"balanced by {pool.balance}, handed over {summary['handoff']}",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("member", "name", "units", "load", "state"):
        table.add_column(column)
    for row in members:
        table.add_row(
            row["id"], plain(row["name"]), str(row["units"]), str(row["load"]), row["state"]
        )
    console.print(table)
    for unit, reason in summary["waiting"].items():
        console.print(f"[yellow]{plain(unit)} waits:[/] {plain(reason)}", soft_wrap=True)


def _members(pool: Pool) -> list[dict[str, Any]]:
    counts = Counter(unit.owner for unit in pool.units.values())
    return [
        {
            "id": peer,
            "name": pool.names.get(peer, ""),
            "units": counts[peer],
            "load": sum(unit.load for unit in pool.units.values() if unit.owner == peer),
            "state": "draining" if peer in pool.drains else "active",
        }
        for peer in pool.members
    ]
