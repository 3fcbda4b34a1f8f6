"""`remuda queue send` and `remuda queue consume`: a queue at either end of a pipe."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from typing import Annotated

import typer
from rich.progress import Progress, TextColumn

from remuda.cli.options import CLUSTER, PEER, AsJson, configured
from remuda.cli.output import console, errors, plain, print_error, print_json
from remuda.cli.queue_view import described_body
from remuda.config import Config
from remuda.errors import BadConfig
from remuda.queue.client import Queues
from remuda.queue.context import Context, Message
from remuda.queue.handler import NotHandled
from remuda.queue.handler import consume as handler_of
from remuda.queue.model import NewMessage
from remuda.queue.worker import Worker

_READ_BYTES = 1024 * 1024
_LOOK_S = 0.2

QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")]


@configured(*CLUSTER)
def send(
    config: Config,
    queue: QueueName,
    body: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BODY…]", help="What to send; stdin, a line each, if not given."),
    ] = None,
    *,
    key: Annotated[str, typer.Option(help="The key of all of them.")] = "",
    keyed: Annotated[
        bool, typer.Option("--keyed", help="A line begins with its key, and a tab after it.")
    ] = False,
    header: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A header of all of them.")
    ] = None,
    delay: Annotated[float, typer.Option(metavar="SECONDS", help="Not before so long.")] = 0,
    ttl: Annotated[float, typer.Option(metavar="SECONDS", help="Not after so long.")] = 0,
    track: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Wait until each, and all made of it, is done; in this time."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Send messages: what is given, or every line of stdin that is not empty."""
    form = _Form(
        key, keyed, _headers(header or ()), _ms(delay), _ms(ttl), 0 if track is None else _ms(track)
    )
    sent, outcomes = asyncio.run(_send(config, queue, body, form))
    if json:
        print_json({"queue": queue, "sent": sent, **({"trees": outcomes} if form.track_ms else {})})
    else:
        console.print(f"{sent} messages sent to {plain(queue)}")
    undone = sum(count for outcome, count in outcomes.items() if outcome != "done")
    if undone:
        print_error(f"{undone} of {sent} trees were not done: {outcomes}")
        raise typer.Exit(1)


@configured(*PEER, "settle_time", "drain_time", "drain_deadline", "start_attempts")
def consume(
    config: Config,
    queue: QueueName,
    *,
    group: Annotated[str, typer.Option(help="The group to consume in.")] = "shell",
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many messages.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow/--until-end", help="Wait for more, or stop when all is done.")
    ] = True,
    json: AsJson = False,
) -> None:
    """Print messages, a line each; a message is done when it is printed."""
    asyncio.run(_consume(config, queue, group, limit=limit, follow=follow, json=json))


# ── sending ──────────────────────────────────────────────────────────────────────────────────


class _Form:
    """How a line becomes a message."""

    def __init__(
        self,
        key: str,
        keyed: bool,
        headers: dict[str, str],
        delay_ms: int,
        ttl_ms: int,
        track_ms: int,
    ) -> None:
        self.track_ms = track_ms
        self._key = key
        self._keyed = keyed
        self._rest = (headers, "", delay_ms, ttl_ms, track_ms)

    def messages(self, lines: Iterable[bytes]) -> list[NewMessage]:
        return [self._message(line) for line in lines if line.strip()]

    def _message(self, line: bytes) -> NewMessage:
        key, body = self._key, line
        if self._keyed:
            head, tab, body = line.partition(b"\t")
            if not tab:
                raise BadConfig(f"a line has no tab after its key: {line[:80]!r}")
            key = head.decode(errors="replace")
        return NewMessage(body, key, *self._rest)


async def _send(
    config: Config, queue: str, bodies: list[str] | None, form: _Form
) -> tuple[int, dict[str, int]]:
    sent = 0
    outcomes: dict[str, int] = {}
    async with Queues(config=config) as queues:
        with _progress() as progress:
            task = progress.add_task(queue, total=None)
            async for lines in _given(bodies) if bodies else _stdin():
                places = (
                    await queues.send_many(queue, messages)
                    if (messages := form.messages(lines))
                    else []
                )
                sent += len(places)
                progress.update(task, completed=sent)
                if form.track_ms:
                    for outcome in await asyncio.gather(*map(queues.completed, places)):
                        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return sent, outcomes


async def _given(bodies: list[str]) -> AsyncIterator[list[bytes]]:
    yield [body.encode() for body in bodies]


async def _stdin() -> AsyncIterator[list[bytes]]:
    """Lines as they come: as many at a time as are there."""
    begun = b""
    while data := await asyncio.to_thread(os.read, sys.stdin.fileno(), _READ_BYTES):
        *lines, begun = (begun + data).split(b"\n")
        yield [line.removesuffix(b"\r") for line in lines]
    yield [begun]


def _progress() -> Progress:
    """On stderr, and only for somebody who looks."""
    return Progress(
        TextColumn("{task.description}: {task.completed:,.0f} sent, {task.elapsed:.0f} s"),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )


def _headers(given: Iterable[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for header in given:
        name, equals, value = header.partition("=")
        if not equals:
            raise BadConfig(f"`{header}` is no header: write it as name=value")
        headers[name] = value
    return headers


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


# ── consuming ────────────────────────────────────────────────────────────────────────────────


class _Printer:
    """Prints until it is to stop; what could not be printed is not done."""

    def __init__(self, limit: int | None, json: bool) -> None:
        self.printed = 0
        self.pipe_is_broken = False
        self.full = asyncio.Event()
        self._limit = limit
        self._json = json

    async def handle(self, message: Message, ctx: Context) -> None:
        if self.full.is_set():
            raise NotHandled
        try:
            self._print(message)
        except BrokenPipeError:
            # Whoever read our output has seen enough.
            self.pipe_is_broken = True
            self.full.set()
            raise NotHandled from None
        self.printed += 1
        if self.printed == self._limit:
            self.full.set()

    def _print(self, message: Message) -> None:
        if self._json:
            print_json(
                {
                    "part": message.part,
                    "position": message.position,
                    "attempt": message.attempt,
                    "key": message.key,
                    "headers": dict(message.headers),
                    "sent_ms": message.sent_ms,
                    **described_body(message.body),
                }
            )
        else:
            sys.stdout.buffer.write(message.body + b"\n")
            sys.stdout.buffer.flush()


async def _consume(
    config: Config, queue: str, group: str, *, limit: int | None, follow: bool, json: bool
) -> None:
    printer = _Printer(limit, json)
    worker = Worker(handler_of(queue, printer.handle, group=group), config=config)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, printer.full.set)
    await worker.start()
    waiting = [asyncio.create_task(printer.full.wait()), asyncio.create_task(worker.left())]
    if not follow:
        waiting.append(asyncio.create_task(_until_end(config, queue, group)))
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    worker.finish()
    await worker.left()
    for task in waiting:
        task.cancel()
    if printer.pipe_is_broken:
        raise BrokenPipeError


async def _until_end(config: Config, queue: str, group: str) -> None:
    """When the group is done with all that is there; with a sealed queue, with all that ever is."""
    async with Queues(config=config) as queues:
        while True:
            definition, stats = await queues.get(queue), await queues.stats(queue)
            found = [part.groups[group] for part in stats.values() if group in part.groups]
            if len(found) == definition.parts and all(
                one.ended if definition.sealed else not one.lag for one in found
            ):
                return
            await asyncio.sleep(_LOOK_S)
