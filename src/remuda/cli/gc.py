"""`remuda gc`: replace the log so far by what it amounts to."""

from __future__ import annotations

import asyncio

from remuda.cli.options import CLUSTER, AsJson, configured
from remuda.cli.output import console, print_json
from remuda.config import Config
from remuda.peer.observer import cluster_log, collect


@configured(*CLUSTER)
def gc(config: Config, *, json: AsJson = False) -> None:
    """Collect the cluster's log: keep what it amounts to, and delete its entries."""
    position, trimmed = asyncio.run(_collect(config))
    if json:
        print_json({"position": position, "trimmed": trimmed})
    else:
        console.print(f"the log now begins at entry {position}: {trimmed:,} entries were trimmed")


async def _collect(config: Config) -> tuple[int, int]:
    async with cluster_log(config) as log:
        return await collect(log)
