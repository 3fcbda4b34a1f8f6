"""`remuda queue`: queues, what is in them, and who works on them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar

import typer

from remuda.cli import queue_pipe
from remuda.cli.options import CLUSTER, AsJson, configured
from remuda.cli.output import clock_time, console, plain, print_json
from remuda.cli.queue_view import (
    described_letter,
    described_message,
    described_parts,
    described_queue,
    described_settings,
    shown_age,
    shown_body,
    table_of,
)
from remuda.config import Config
from remuda.errors import BadConfig
from remuda.peer.observer import cluster_log, current
from remuda.queue.client import Queues
from remuda.queue.model import Blocks, DeadLetter, QueueDef, QueueSettings, RetryDef
from remuda.replica.state import Replica

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="Make, fill, empty and look at queues.")
app.command()(queue_pipe.send)
app.command()(queue_pipe.consume)

QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")]
GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")]
OnePart = Annotated[int | None, typer.Option("--part", help="Only this partition of the queue.")]

_PAGE = 500


def asking(config: Config, question: Callable[[Queues], Awaitable[T]]) -> T:
    async def run() -> T:
        async with Queues(config=config) as queues:
            return await question(queues)

    return asyncio.run(run())


@app.command()
@configured(*CLUSTER)
def create(
    config: Config,
    queue: QueueName,
    *,
    parts: Annotated[int, typer.Option(help="How many partitions.")] = 4,
    max_attempts: Annotated[
        int, typer.Option(help="How often a message is tried; 0: for ever.")
    ] = RetryDef().max_attempts,
    blocks: Annotated[
        Blocks, typer.Option(help="What waits for a message that has failed.")
    ] = "partition",
    backlog_max: Annotated[
        int, typer.Option(help="How many may wait in a partition; 0: any number.")
    ] = 0,
    body_max: Annotated[
        int, typer.Option(metavar="BYTES", help="How long a body may be.")
    ] = QueueSettings().body_bytes_max,
    ttl: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long a message lives; 0: for ever.")
    ] = 0,
    json: AsJson = False,
) -> None:
    """Make a queue. To make one that is there already, and is the same, changes nothing."""
    settings = QueueSettings(
        body_bytes_max=body_max,
        backlog_max=backlog_max,
        retry=RetryDef(max_attempts, blocks),
        ttl_ms=round(ttl * 1000),
    )
    made = asking(config, lambda queues: queues.create(queue, parts, settings))
    _say(json, made, f"{queue} has {made.parts} partitions")


@app.command()
@configured(*CLUSTER)
def grow(
    config: Config,
    queue: QueueName,
    parts: Annotated[int, typer.Argument(metavar="PARTS", help="How many partitions.")],
    *,
    json: AsJson = False,
) -> None:
    """Give a queue more partitions; what is in it stays where it is."""
    grown = asking(config, lambda queues: queues.alter(queue, parts=parts))
    _say(json, grown, f"{queue} has {grown.parts} partitions")


@app.command()
@configured(*CLUSTER)
def seal(config: Config, queue: QueueName, *, json: AsJson = False) -> None:
    """Take nothing more: whoever consumes it comes to an end."""
    sealed = asking(config, lambda queues: queues.seal(queue))
    _say(json, sealed, f"{queue} is sealed")


@app.command(name="list")
@configured(*CLUSTER)
def list_queues(config: Config, *, json: AsJson = False) -> None:
    """Show every queue: how much waits, and how far its groups are behind."""

    async def ask(queues: Queues) -> list[dict[str, Any]]:
        return [described_queue(one, await queues.stats(one.name)) for one in await queues.list()]

    rows = asking(config, ask)
    if json:
        print_json(rows)
        return
    if not rows:
        console.print("no queue yet: `remuda queue create NAME`")
        return
    table = table_of("queue", "parts", "depth", "delayed", "sent", "groups", numbers=_NUMBERS)
    for row in rows:
        groups = ", ".join(f"{name} ({group['lag']})" for name, group in row["groups"].items())
        name = plain(row["name"]) + (" [dim]sealed[/]" if row["sealed"] else "")
        counts = (str(row[column]) for column in ("parts", "depth", "delayed", "sent"))
        table.add_row(name, *counts, plain(groups))
    console.print(table)


@app.command()
@configured(*CLUSTER)
def show(config: Config, queue: QueueName, *, json: AsJson = False) -> None:
    """Show a queue's partitions, and each group: lag, retries, dead letters, who works on it."""

    async def ask(queues: Queues) -> tuple[QueueDef, dict[str, Any], list[dict[str, Any]]]:
        definition, stats = await queues.get(queue), await queues.stats(queue)
        parts = described_parts(await _replica(config), definition, stats)
        return definition, described_queue(definition, stats), parts

    definition, told, parts = asking(config, ask)
    if json:
        print_json({**told, "settings": described_settings(definition), "partitions": parts})
        return
    sealed = ", sealed" if definition.sealed else ""
    console.print(
        f"[bold]{plain(queue)}[/]: {definition.parts} partitions, {told['depth']} messages wait, "
        f"{told['delayed']} are delayed, {told['sent']} were sent{sealed}",
        soft_wrap=True,
    )
    columns = ("group", "part", "lag", "oldest", "retrying", "dead", "done", "owner")
    table = table_of(*columns, numbers=_NUMBERS)
    for group in told["groups"]:
        for part in parts:
            one = part["groups"].get(group)
            if one is not None:
                table.add_row(
                    plain(group),
                    str(part["part"]),
                    str(one["lag"]),
                    shown_age(one["oldest_ms"]),
                    *(str(one[column]) for column in ("retrying", "dead", "done")),
                    part["owners"][group] or "[yellow]nobody[/]",
                )
    if told["groups"]:
        console.print(table)
    else:
        console.print("no group yet: it comes with its first worker")


@app.command()
@configured(*CLUSTER)
def peek(
    config: Config,
    queue: QueueName,
    *,
    part: Annotated[int, typer.Option(help="The partition.")] = 0,
    start: Annotated[int, typer.Option(help="The first position to show.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 10,
    json: AsJson = False,
) -> None:
    """Look at messages, whoever is done with them; nothing changes."""
    found = asking(config, lambda queues: queues.peek(queue, part, start, limit))
    if json:
        print_json([described_message(position, message) for position, message in found])
        return
    table = table_of("position", "sent", "key", "body", numbers=_NUMBERS)
    for position, message in found:
        sent = clock_time(message.sent_ms)
        table.add_row(str(position), sent, plain(message.key), shown_body(message.body))
    console.print(table)


@app.command()
@configured(*CLUSTER)
def purge(config: Config, queue: QueueName, *, part: OnePart = None, json: AsJson = False) -> None:
    """Throw away all messages of a queue; dead letters stay."""
    gone = asking(config, lambda queues: queues.purge(queue, part))
    if json:
        print_json({"queue": queue, "purged": gone})
    else:
        console.print(f"{gone} messages of {plain(queue)} are gone")


@app.command()
@configured(*CLUSTER)
def rewind(
    config: Config,
    queue: QueueName,
    group: GroupName,
    *,
    position: Annotated[int | None, typer.Option(help="The position to begin again at.")] = None,
    time: Annotated[
        datetime | None, typer.Option(help="The time to begin again at, as on this machine.")
    ] = None,
    part: OnePart = None,
    json: AsJson = False,
) -> None:
    """Let a group begin again at a position or time, or go on from a later one."""
    if (position is None) == (time is None):
        raise BadConfig("a rewind goes to a position or to a time: give --position or --time")
    to_ms = None if time is None else round(time.timestamp() * 1000)
    found = asking(
        config,
        lambda queues: queues.rewind(queue, group, to_position=position, to_ms=to_ms, part=part),
    )
    if json:
        print_json({"queue": queue, "group": group, "positions": found})
        return
    for index, at in found.items():
        console.print(f"{plain(group)} goes on at {at} in partition {index} of {plain(queue)}")


@app.command()
@configured(*CLUSTER)
def dead(
    config: Config,
    queue: QueueName,
    group: GroupName,
    *,
    part: OnePart = None,
    limit: Annotated[int, typer.Option(min=1, help="How many of a partition to show.")] = 100,
    json: AsJson = False,
) -> None:
    """Show dead letters: what failed for the last time, and why."""

    async def ask(queues: Queues) -> list[tuple[int, int, DeadLetter]]:
        return [
            (index, number, letter)
            for index in await _parts(queues, queue, part)
            for number, letter in await queues.dead_letters(queue, group, index, limit=limit)
        ]

    found = asking(config, ask)
    if json:
        print_json([described_letter(*one) for one in found])
        return
    if not found:
        console.print(f"no dead letters of {plain(group)} in {plain(queue)}")
        return
    table = table_of("part", "number", "died", "tries", "key", "body", "error", numbers=_NUMBERS)
    for index, number, letter in found:
        failures = letter.message.failures
        table.add_row(
            str(index),
            str(number),
            clock_time(letter.died_ms),
            str(len(failures)),
            plain(letter.message.key),
            shown_body(letter.message.body),
            plain(failures[-1].error if failures else ""),
        )
    console.print(table)


@app.command()
@configured(*CLUSTER)
def replay(
    config: Config,
    queue: QueueName,
    group: GroupName,
    *,
    part: OnePart = None,
    number: Annotated[
        list[int] | None, typer.Option(help="Only the letter with this number; with --part.")
    ] = None,
    discard: Annotated[bool, typer.Option("--discard", help="Throw them away instead.")] = False,
    json: AsJson = False,
) -> None:
    """Send dead letters back to their group, all of them or some."""
    if number and part is None:
        raise BadConfig("letters are numbered by partition: say which one with --part")

    async def ask(queues: Queues) -> int:
        treat = queues.discard if discard else queues.replay
        count = 0
        for index in await _parts(queues, queue, part):
            left = 1
            while left:
                # Numbers go in one call; without them, the oldest, until none is left.
                done = await treat(queue, group, index, number or (), most=_PAGE)
                count += done.letters
                left = 0 if number else done.left
        return count

    count = asking(config, ask)
    if json:
        print_json({"queue": queue, "group": group, "letters": count, "discarded": discard})
    else:
        fate = "are thrown away" if discard else "are sent back"
        console.print(f"{count} dead letters of {plain(group)} {fate}")


# ── inside ───────────────────────────────────────────────────────────────────────────────────

_NUMBERS = (
    "parts", "part", "depth", "delayed", "sent", "lag", "retrying", "dead", "done", "position",
    "number", "tries",
)  # fmt: skip


async def _parts(queues: Queues, queue: str, part: int | None) -> list[int]:
    return list(range((await queues.get(queue)).parts)) if part is None else [part]


async def _replica(config: Config) -> Replica:
    async with cluster_log(config) as log:
        return await current(log)


def _say(json: bool, queue: QueueDef, text: str) -> None:
    if json:
        print_json(queue_as_data(queue))
    else:
        console.print(plain(text))


def queue_as_data(queue: QueueDef) -> dict[str, Any]:
    return {
        "name": queue.name,
        "parts": queue.parts,
        "version": queue.version,
        "sealed": queue.sealed,
        "groups": sorted(queue.groups),
    }
