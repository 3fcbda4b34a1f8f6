"""Queues as a node offers them: which partitions a call is about, and how it is put to them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from remuda.errors import CommandRejected
from remuda.partition.machine import Rejection
from remuda.partition.route import Route
from remuda.queue.bell import Bell
from remuda.queue.checks import (
    check_bodies,
    check_group,
    check_part,
    invalid,
    not_negative,
    page,
    parts_of,
)
from remuda.queue.command import Command
from remuda.queue.commands.alter_group import AlterGroup
from remuda.queue.commands.alter_queue import AlterQueue
from remuda.queue.commands.attach import Attach, Attached
from remuda.queue.commands.commit import Emit
from remuda.queue.commands.create_group import CreateGroup
from remuda.queue.commands.create_queue import CreateQueue
from remuda.queue.commands.discard import Discard
from remuda.queue.commands.drop_group import DropGroup
from remuda.queue.commands.on_definition import METADATA_PARTITION
from remuda.queue.commands.purge import Purge, Purged
from remuda.queue.commands.replay import Replay, Replayed
from remuda.queue.commands.rewind import Rewind, Rewound
from remuda.queue.commands.seal_queue import SealQueue
from remuda.queue.errands import Errands, until_there
from remuda.queue.limits import wrong_message
from remuda.queue.model import (
    DeadLetter,
    GroupDef,
    Message,
    QueueDef,
    QueueSettings,
    RetryDef,
    Tree,
)
from remuda.queue.placement import part_of
from remuda.queue.questions import (
    PAGE_MAX,
    DeadLetters,
    DefinitionsAfter,
    Peek,
    StatsOf,
    TreeOf,
)
from remuda.queue.reading import PartStats
from remuda.queue.spreading import Spreader
from remuda.queue.translation import ANY_PART


class Gateway(Errands):
    def __init__(self, route: Route, bell: Bell) -> None:
        super().__init__(route, bell)
        self._spreader = Spreader(self)
        self.send = self._spreader.send

    # ── definitions ──────────────────────────────────────────────────────────────────────────

    async def create(self, queue: str, parts: int, settings: QueueSettings) -> QueueDef:
        check_bodies(settings)
        return await self.define(CreateQueue(queue, parts, settings))

    async def alter(
        self,
        queue: str,
        parts: int | None,
        settings: QueueSettings | None,
        if_version: int | None,
    ) -> QueueDef:
        if settings is not None:
            check_bodies(settings)
        command = AlterQueue(queue, parts, settings, if_version)
        return await self.define(command, repeatable=if_version is None)

    async def seal(self, queue: str) -> QueueDef:
        return await self.define(SealQueue(queue))

    async def create_group(self, queue: str, group: str, definition: GroupDef) -> QueueDef:
        return await self.define(CreateGroup(queue, group, definition))

    async def alter_group(self, queue: str, group: str, retry: RetryDef | None) -> QueueDef:
        return await self.define(AlterGroup(queue, group, retry))

    async def drop_group(self, queue: str, group: str) -> QueueDef:
        return await self.define(DropGroup(queue, group), repeatable=False)

    async def definitions(self, after: str, limit: int) -> list[QueueDef]:
        question = DefinitionsAfter(after, page(limit, PAGE_MAX))
        return await self.ask(METADATA_PARTITION, question, list[QueueDef])

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    async def peek(
        self, queue: str, part: int, start: int, limit: int
    ) -> list[tuple[int, Message]]:
        await self.check_part(queue, part)
        question = Peek(queue, part, not_negative("start", start), page(limit, 100))
        return await self.ask(self.home_of(queue, part), question, list[tuple[int, Message]])

    async def purge(self, queue: str, part: int | None) -> int:
        def purge(one: int, version: int) -> Command:
            return Purge(queue, one, version)

        done = await self.on_parts(queue, part, purge, Purged)
        return sum(purged.messages for purged in done.values())

    async def stats(self, queue: str, part: int | None) -> dict[int, PartStats]:
        definition = await self.get(queue)
        parts = parts_of(definition, part)

        async def stats(one: int) -> PartStats:
            async def look() -> PartStats | None:
                return await self.ask(
                    self.home_of(queue, one), StatsOf(queue, one), PartStats | None
                )

            return await until_there(look, f"partition {one} of {queue}")

        return dict(zip(parts, await asyncio.gather(*map(stats, parts)), strict=True))

    async def tree(self, queue: str, part: int, tree: int) -> Tree:
        await self.check_part(queue, part)
        question = TreeOf(queue, part, not_negative("the tree", tree))
        found = await self.ask(self.home_of(queue, part), question, Tree | None)
        if found is None:
            raise CommandRejected(
                f"partition {part} of {queue} knows no tree {tree}: there was none, or its "
                "outcome has been kept for long enough",
                Rejection.NOT_FOUND.value,
            )
        return found

    # ── groups ───────────────────────────────────────────────────────────────────────────────

    async def rewind(
        self,
        queue: str,
        group: str,
        part: int | None,
        *,
        to_position: int | None = None,
        to_ms: int | None = None,
    ) -> dict[int, int]:
        def rewind(one: int, version: int) -> Command:
            return Rewind(queue, one, version, group, to_position, to_ms)

        done = await self.on_parts(queue, part, rewind, Rewound, repeatable=True)
        return {one: rewound.position for one, rewound in done.items()}

    async def dead_letters(
        self, queue: str, group: str, part: int, start: int, limit: int
    ) -> list[tuple[int, DeadLetter]]:
        definition = await self.get(queue)
        check_part(definition, part)
        check_group(definition, group)
        start = not_negative("start", start)
        question = DeadLetters(queue, part, group, start, page(limit, 100))
        return await self.ask(self.home_of(queue, part), question, list[tuple[int, DeadLetter]])

    async def replay(
        self, queue: str, group: str, part: int, numbers: Sequence[int], most: int
    ) -> Replayed:
        return await self._letters(Replay, queue, group, part, numbers, most)

    async def discard(
        self, queue: str, group: str, part: int, numbers: Sequence[int], most: int
    ) -> Replayed:
        return await self._letters(Discard, queue, group, part, numbers, most)

    async def attach(self, queue: str, part: int, group: str, epoch: int) -> Attached:
        def attach(one: int, version: int) -> Command:
            return Attach(queue, one, version, group, epoch)

        definition = await self.definition(queue)
        if group not in definition.groups or part >= definition.parts:
            definition = await self.get(queue)
        check_part(definition, part)
        check_group(definition, group)
        return await self.on_part(queue, part, definition, attach, Attached, repeatable=True)

    async def resolved(self, emits: Sequence[Emit]) -> tuple[Emit, ...]:
        """Each with its partition, and within the limits of the queue that it goes to."""
        return tuple([await self._resolved(emit) for emit in emits])

    async def _resolved(self, emit: Emit) -> Emit:
        definition = await self.definition(emit.queue)
        wrong = wrong_message(emit.message, definition.settings.body_bytes_max)
        if wrong is not None:
            raise CommandRejected(wrong.reason, wrong.kind.value)
        key = emit.message.key
        if key:
            part = part_of(key, definition.parts)
            if emit.part not in (ANY_PART, part):
                raise invalid(f"key {key[:120]!r} goes to partition {part} of {emit.queue}")
        elif emit.part == ANY_PART:
            part = self._spreader.next_turn() % definition.parts
        else:
            check_part(definition, part := emit.part)
        return replace(emit, part=part)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _letters(
        self,
        kind: type[Replay] | type[Discard],
        queue: str,
        group: str,
        part: int,
        numbers: Sequence[int],
        most: int,
    ) -> Replayed:
        definition = await self.get(queue)
        check_part(definition, part)
        named = tuple(numbers) if numbers else None

        def make(one: int, version: int) -> Command:
            return kind(queue, one, version, group, named, page(most, 100))

        return await self.on_part(queue, part, definition, make, Replayed)
