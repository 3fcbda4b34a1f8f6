"""Putting commands and questions about queues to the partitions that they are about.

Definitions are kept as they were last seen. That is safe, because every command says by which
version it was made: a partition that knows better answers `STALE`, and they are looked at again.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from remuda.errors import CommandRejected, NotServed
from remuda.partition.machine import Rejected, Rejection
from remuda.partition.route import Route
from remuda.peer.backoff import Backoff
from remuda.queue.bell import Bell
from remuda.queue.checks import check_part, parts_of
from remuda.queue.command import Command, encode_command
from remuda.queue.commands.on_definition import METADATA_PARTITION
from remuda.queue.model import QueueDef
from remuda.queue.placement import data_partition_of
from remuda.queue.questions import DefinitionOf, Question, VersionKnown, encode_question

T = TypeVar("T")

MACHINE = "queue"
_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.01, 0.5
_CHANCE = random.Random()
_UP_TO_DATE_S = 20.0
"""How long a call waits for a definition to come to a partition."""


class Errands:
    def __init__(self, route: Route, bell: Bell) -> None:
        self.route = route
        self._definitions: dict[str, QueueDef] = {}
        bell.on_defined(self._note_defined)

    # ── definitions ──────────────────────────────────────────────────────────────────────────

    async def get(self, queue: str) -> QueueDef:
        """As it is now."""
        found = await self.ask(METADATA_PARTITION, DefinitionOf(queue), QueueDef | None)
        if found is None:
            raise CommandRejected(
                f"there is no queue {queue[:120]}: create it", Rejection.NOT_FOUND.value
            )
        return self._noted(found)

    async def definition(self, queue: str, above: int = 0) -> QueueDef:
        """As it was last seen, in a version that is above one that turned out to be old."""
        known = self._definitions.get(queue)
        return known if known is not None and known.version > above else await self.get(queue)

    async def check_part(self, queue: str, part: int) -> None:
        check_part(await self.current(queue, part), part)

    def home_of(self, queue: str, part: int) -> int:
        return data_partition_of(queue, part, self.route.partitions)

    async def current(self, queue: str, part: int) -> QueueDef:
        """As it was last seen, if it has the partition; else as it is now."""
        known = await self.definition(queue)
        return known if 0 <= part < known.parts else await self.get(queue)

    # ── commands and questions ───────────────────────────────────────────────────────────────

    async def define(self, command: Command, *, repeatable: bool = True) -> QueueDef:
        return self._noted(
            await self.submit(METADATA_PARTITION, command, QueueDef, repeatable=repeatable)
        )

    async def on_parts(
        self,
        queue: str,
        part: int | None,
        command: Callable[[int, int], Command],
        answer: type[T],
        *,
        repeatable: bool = False,
    ) -> dict[int, T]:
        definition = await self.get(queue)
        parts = parts_of(definition, part)
        answers = await asyncio.gather(
            *(
                self.on_part(queue, one, definition, command, answer, repeatable=repeatable)
                for one in parts
            )
        )
        return dict(zip(parts, answers, strict=True))

    async def on_part(
        self,
        queue: str,
        part: int,
        definition: QueueDef,
        command: Callable[[int, int], Command],
        answer: type[T],
        *,
        repeatable: bool = False,
    ) -> T:
        home = self.home_of(queue, part)

        async def put() -> T:
            made = command(part, definition.version)
            return await self.submit(home, made, answer, repeatable=repeatable)

        return await self.when_it_is_there(queue, home, definition.version, put)

    async def when_it_is_there(
        self, queue: str, home: int, version: int, put: Callable[[], Awaitable[T]]
    ) -> T:
        """Again and again while the definition is on its way to the partition."""
        deadline = time.monotonic() + _UP_TO_DATE_S
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, _CHANCE)
        while True:
            try:
                return await put()
            except CommandRejected as error:
                if error.kind != Rejection.STALE.value or time.monotonic() > deadline:
                    raise
                if await self.ask(home, VersionKnown(queue), int) >= version:
                    # It was there, or has just come: this is about something else, or once more.
                    return await put()
            await asyncio.sleep(backoff.next_s())

    async def submit(
        self, partition: int, command: Command, answer: type[T], *, repeatable: bool = True
    ) -> T:
        outcome = await self.route.submit(
            partition, MACHINE, encode_command(command), repeatable=repeatable
        )
        if isinstance(outcome, Rejected):
            raise CommandRejected(outcome.reason, outcome.kind.value)
        return msgspec.msgpack.decode(outcome, type=answer)

    async def ask(self, partition: int, question: Question, answer: Any) -> Any:
        found = await self.route.ask(partition, MACHINE, encode_question(question))
        return msgspec.msgpack.decode(found, type=answer)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _noted(self, definition: QueueDef) -> QueueDef:
        known = self._definitions.get(definition.name)
        if known is None or known.version < definition.version:
            self._definitions[definition.name] = definition
        return definition

    def _note_defined(self, queue: str, version: int) -> None:
        known = self._definitions.get(queue)
        if known is not None and known.version < version:
            del self._definitions[queue]


async def until_there(look: Callable[[], Awaitable[T | None]], what: str) -> T:
    deadline = time.monotonic() + _UP_TO_DATE_S
    backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, _CHANCE)
    while (found := await look()) is None:
        if time.monotonic() > deadline:
            raise NotServed(f"{what} has not come to its place yet: try again")
        await asyncio.sleep(backoff.next_s())
    return found
