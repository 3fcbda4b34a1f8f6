"""`remuda up`: a cluster on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from remuda.cli.detach import detach_up
from remuda.cli.live import Lines, Screen
from remuda.cli.options import NODE, PEER, SLOTS, AsJson, configured
from remuda.cli.output import console
from remuda.cli.view import outcome
from remuda.config import Config
from remuda.errors import RemudaError
from remuda.peer.local import LocalCluster
from remuda.peer.observer import cluster_log, following
from remuda.replica.state import Replica


@configured(*PEER, *SLOTS, *NODE, "zookeeper_port")
def up(
    config: Config,
    *,
    json: AsJson = False,
    peers: Annotated[int, typer.Option(min=0, help="How many peers to run.")] = 3,
    detach: Annotated[
        bool, typer.Option("--detach", help="Return when the cluster is up; end it by `down`.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(hidden=True, help="Where to tell what happens, once up.")
    ] = None,
) -> None:
    """Run a cluster on this machine: an embedded ZooKeeper and some peers."""
    if detach:
        detach_up(config, peers, json=json)
        return
    with LocalCluster(config) as cluster:
        for _ in range(peers):
            cluster.start_peer()
        asyncio.run(watch_over(cluster, _lines(cluster, output, json=json)))


def _lines(cluster: LocalCluster, output: Path | None, *, json: bool) -> Lines:
    if output is not None:
        return Lines(Console(file=output.open("a", buffering=1), width=200, highlight=False))
    if json or not console.is_terminal:
        return Lines(console, json=json)
    return Screen(console, f"ZooKeeper at {cluster.address}; Ctrl-C ends the cluster")


async def watch_over(cluster: LocalCluster, lines: Lines) -> None:
    """Until told to stop: tell what the log says, and look after the processes."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    with lines.shown():
        lines.tell(f"ZooKeeper at {cluster.address}", event="zookeeper", address=cluster.address)
        telling = asyncio.create_task(tell_log(cluster.config, lines))
        while not stop.is_set():
            for happened in cluster.tend():
                lines.tell(happened, event="process")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 0.2)
        telling.cancel()
        lines.tell("the cluster stops", event="stop")


async def tell_log(config: Config, lines: Lines) -> None:
    """Every entry as it comes, for ever."""
    told = -1
    while True:
        try:
            async with cluster_log(config) as log:
                async for news in following(log):
                    replica = news if isinstance(news, Replica) else news.replica
                    lines.show(replica)
                    if not isinstance(news, Replica) and replica.position > told:
                        lines.tell(outcome(news), event="entry", position=replica.position)
                    told = max(told, replica.position)
        except RemudaError:
            # The first peer has yet to lay the log out, or ZooKeeper is being started again.
            await asyncio.sleep(0.2)
