"""`remuda log`: the cluster's log, entry by entry, and the replica as of any of them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Annotated, Any

import msgspec
import typer

from remuda.cli.options import CLUSTER, AsJson, configured
from remuda.cli.output import clock_time, console, plain, print_json
from remuda.cli.view import described, outcome, peers_table, summary
from remuda.config import Config
from remuda.log.zookeeper import ZooKeeperLog
from remuda.peer.observer import as_of, cluster_log, following, plays, start_of
from remuda.replica.fold import Played
from remuda.replica.state import Replica


@configured(*CLUSTER)
def log(
    config: Config,
    *,
    json: AsJson = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on as entries come, until Ctrl-C.")
    ] = False,
    at: Annotated[
        int | None, typer.Option(metavar="K", help="Show the replica as of entry K.")
    ] = None,
    tail: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Only the last N entries.")
    ] = None,
    void: Annotated[
        int | None,
        typer.Option(metavar="K", help="Replace entry K, which is corrupt, by one without effect."),
    ] = None,
) -> None:
    """Show the cluster's log: what was asked for, by whom, and what came of it."""
    try:
        asyncio.run(_log(config, json=json, follow=follow, at=at, tail=tail, void=void))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


async def _log(
    config: Config,
    *,
    json: bool,
    follow: bool,
    at: int | None,
    tail: int | None,
    void: int | None,
) -> None:
    async with cluster_log(config) as cluster:
        if void is not None:
            await cluster.void(void)
            _say(json, {"voided": void}, f"entry {void} is void now")
        elif at is not None:
            _show_replica(json, await as_of(cluster, at))
        else:
            end = await cluster.end()
            await _show_entries(json, cluster, end, tail)
            if follow:
                await _follow(json, cluster, end)


def _say(json: bool, value: Any, text: str) -> None:
    if json:
        print_json(value)
    else:
        console.print(text)


def _show_replica(json: bool, replica: Replica) -> None:
    if json:
        print_json({**described(replica), "replica": replica, "digest": replica.digest()})
        return
    console.print(summary(replica))
    console.print(peers_table(replica))
    console.print(f"[dim]digest {replica.digest()}[/]")


async def _show_entries(json: bool, cluster: ZooKeeperLog, end: int, tail: int | None) -> None:
    last: deque[Played] = deque(maxlen=tail)
    async for played in plays(cluster, await start_of(cluster), end):
        if tail is None:
            _show_entry(json, played)
        else:
            last.append(played)
    for played in last:
        _show_entry(json, played)


async def _follow(json: bool, cluster: ZooKeeperLog, start: int) -> None:
    async for news in following(cluster):
        if isinstance(news, Replica):
            if news.position >= start:
                gone = f"entries up to {news.position} were collected before they could be shown"
                _say(json, {"position": news.position, "collected": True}, f"[dim]{gone}[/]")
        elif news.entry.position >= start:
            _show_entry(json, news)


def _show_entry(json: bool, played: Played) -> None:
    entry = played.entry
    if json:
        print_json(
            {
                "position": entry.position,
                "id": entry.id,
                "by": entry.by,
                "at_ms": entry.stamp.at_ms,
                "command": entry.command,
                "facts": played.facts,
                "rejected": played.rejected,
            }
        )
        return
    command = msgspec.to_builtins(entry.command)
    kind = command.pop("type")
    subject = command.get("peer") or command.get("joiner") or ""
    colour = "red" if played.rejected is not None else "cyan"
    console.print(
        f"[dim]{entry.position:>6}  {clock_time(entry.stamp.at_ms)}[/]  [{colour}]{kind:<14}[/] "
        f"{plain(subject)}  [dim]by {plain(entry.by)}: {outcome(played)}[/]",
        soft_wrap=True,
    )
