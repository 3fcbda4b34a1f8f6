"""`remuda plan` and `remuda rebalance`: what would move, and making it move now."""

from __future__ import annotations

from rich.table import Table

from remuda.cli.options import CLUSTER, AsJson, configured
from remuda.cli.output import console, plain, print_json
from remuda.cli.units import ServiceName, asking
from remuda.config import Config
from remuda.ownership.plan import Plan


@configured(*CLUSTER)
def plan(config: Config, service: ServiceName, *, json: AsJson = False) -> None:
    """Show what would move, from where to where, and why. Nothing is moved."""
    _show(asking(config, lambda services: services.plan(service)), json)


@configured(*CLUSTER)
def rebalance(config: Config, service: ServiceName, *, json: AsJson = False) -> None:
    """Move units now, without waiting for the members to settle; try failed units again."""
    planned = asking(config, lambda services: services.rebalance(service))
    if not json:
        console.print(f"{plain(service)} rebalances: {len(planned.moves)} units move")
    _show(planned, json)


def _show(planned: Plan, json: bool) -> None:
    if json:
        moves = [
            {"unit": m.unit, "from": m.source, "to": m.to, "cause": m.cause, "reason": m.reason}
            for m in planned.moves
        ]
        print_json({"moves": moves, "waiting": planned.waiting})
        return
    if not planned.moves and not planned.waiting:
        console.print("nothing would move: the service is balanced")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("unit", "from", "to", "why"):
        table.add_column(column)
    for move in planned.moves:
        to = move.to or "[yellow]nowhere[/]"
        table.add_row(plain(move.unit), move.source or "", to, plain(move.reason))
    for unit, reason in planned.waiting.items():
        table.add_row(plain(unit), "", "[yellow]waits[/]", plain(reason))
    console.print(table)
