"""`remuda status`: who is here, who watches whom, and how the services do."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from remuda.cli.options import CLUSTER, AsJson, configured
from remuda.cli.output import console, print_json
from remuda.cli.view import described, peers_table, services_table, summary, waiting_lines
from remuda.config import Config
from remuda.peer.observer import cluster_log, current
from remuda.replica.invariants import check as check_replica
from remuda.replica.state import Replica


@configured(*CLUSTER)
def status(
    config: Config,
    *,
    json: AsJson = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check every invariant of the replica.")
    ] = False,
) -> None:
    """Show who is in the cluster, who watches whom, and which units wait for what."""
    replica = asyncio.run(_current(config))
    if check:
        check_replica(replica)
    if json:
        print_json(described(replica))
        return
    console.print(summary(replica))
    if replica.peers:
        console.print(peers_table(replica))
    if replica.pools:
        console.print("", services_table(replica), *waiting_lines(replica), sep="\n")
    if check:
        console.print("[green]every invariant holds[/]")


async def _current(config: Config) -> Replica:
    async with cluster_log(config) as log:
        return await current(log)
