"""Queues as a node offers them: which partitions a call is about, and how it is put to them.

Definitions are kept as they were last seen. That is safe, because every command says by which
version it was made: a partition that knows better answers `STALE`, and they are looked at again.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from remuda.errors import CommandRejected, NotServed
from remuda.partition.machine import Rejected, Rejection
from remuda.partition.route import Route
from remuda.peer.backoff import Backoff
from remuda.queue.bell import Bell
from remuda.queue.command import Command, encode_command
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
from remuda.queue.commands.send import Send, Sent
from remuda.queue.limits import wrong_message
from remuda.queue.model import (
    DeadLetter,
    GroupDef,
    Message,
    NewMessage,
    QueueDef,
    QueueSettings,
    RetryDef,
    Tree,
)
from remuda.queue.placement import data_partition_of, part_of, stable_hash
from remuda.queue.questions import (
    PAGE_MAX,
    DeadLetters,
    DefinitionOf,
    DefinitionsAfter,
    Peek,
    Question,
    StatsOf,
    TreeOf,
    VersionKnown,
    encode_question,
)
from remuda.queue.reading import PartStats
from remuda.queue.translation import ANY_PART

T = TypeVar("T")

MACHINE = "queue"
_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.01, 0.5
_UP_TO_DATE_S = 20.0
"""How long a call waits for a definition to come to a partition."""


class SentTo(Struct, frozen=True):
    """Where the messages of a call went, in their order."""

    parts: tuple[int, ...]
    positions: tuple[int, ...]
    trees: tuple[int, ...] = ()
    duplicates: int = 0


class Gateway:
    def __init__(self, route: Route, bell: Bell) -> None:
        self.route = route
        self._definitions: dict[str, QueueDef] = {}
        self._lanes = _Lanes()
        self._turn = itertools.count(random.randrange(1 << 16))
        bell.on_defined(self._note_defined)

    # ── definitions ──────────────────────────────────────────────────────────────────────────

    async def create(self, queue: str, parts: int, settings: QueueSettings) -> QueueDef:
        return await self._define(CreateQueue(queue, parts, settings))

    async def alter(
        self,
        queue: str,
        parts: int | None,
        settings: QueueSettings | None,
        if_version: int | None,
    ) -> QueueDef:
        command = AlterQueue(queue, parts, settings, if_version)
        return await self._define(command, repeatable=if_version is None)

    async def seal(self, queue: str) -> QueueDef:
        return await self._define(SealQueue(queue))

    async def create_group(self, queue: str, group: str, definition: GroupDef) -> QueueDef:
        return await self._define(CreateGroup(queue, group, definition))

    async def alter_group(self, queue: str, group: str, retry: RetryDef | None) -> QueueDef:
        return await self._define(AlterGroup(queue, group, retry))

    async def drop_group(self, queue: str, group: str) -> QueueDef:
        return await self._define(DropGroup(queue, group), repeatable=False)

    async def get(self, queue: str) -> QueueDef:
        """As it is now."""
        found = await self._ask(METADATA_PARTITION, DefinitionOf(queue), QueueDef | None)
        if found is None:
            raise CommandRejected(
                f"there is no queue {queue[:120]}: create it", Rejection.NOT_FOUND.value
            )
        return self._noted(found)

    async def definitions(self, after: str, limit: int) -> list[QueueDef]:
        question = DefinitionsAfter(after, _page(limit, PAGE_MAX))
        return await self._ask(METADATA_PARTITION, question, list[QueueDef])

    async def definition(self, queue: str, above: int = 0) -> QueueDef:
        """As it was last seen, in a version that is above one that turned out to be old."""
        known = self._definitions.get(queue)
        return known if known is not None and known.version > above else await self.get(queue)

    def home_of(self, queue: str, part: int) -> int:
        return data_partition_of(queue, part, self.route.partitions)

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    async def send(
        self,
        queue: str,
        messages: Sequence[NewMessage],
        *,
        part: int | None = None,
        producer: str = "",
        sequence: int = 0,
        version: int = 0,
    ) -> SentTo:
        """All that go to one partition are taken, or none of them."""
        definition = await self.definition(queue)
        if part is not None:
            _check_part(definition, part)
            version = version or definition.version
            if version >= definition.grown:
                _check_keys(definition, part, messages)
            sent = await self._send(queue, part, version, messages, producer, sequence)
            parts = (part,) * len(messages)
            return SentTo(parts, sent.positions, sent.trees, sent.duplicates)
        if not messages:
            raise _invalid("a batch has no messages: send at least one")
        return await self._spread(definition, messages, producer, sequence)

    async def peek(
        self, queue: str, part: int, start: int, limit: int
    ) -> list[tuple[int, Message]]:
        _check_part(await self._current(queue, part), part)
        question = Peek(queue, part, _not_negative("start", start), _page(limit, 100))
        return await self._ask(self.home_of(queue, part), question, list[tuple[int, Message]])

    async def purge(self, queue: str, part: int | None) -> int:
        def purge(one: int, version: int) -> Command:
            return Purge(queue, one, version)

        done = await self._on_parts(queue, part, purge, Purged)
        return sum(purged.messages for purged in done.values())

    async def stats(self, queue: str, part: int | None) -> dict[int, PartStats]:
        definition = await self.get(queue)
        parts = _parts(definition, part)

        async def stats(one: int) -> PartStats:
            async def look() -> PartStats | None:
                return await self._ask(
                    self.home_of(queue, one), StatsOf(queue, one), PartStats | None
                )

            return await _until_there(look, f"partition {one} of {queue}")

        return dict(zip(parts, await asyncio.gather(*map(stats, parts)), strict=True))

    async def tree(self, queue: str, part: int, tree: int) -> Tree:
        _check_part(await self._current(queue, part), part)
        question = TreeOf(queue, part, _not_negative("the tree", tree))
        found = await self._ask(self.home_of(queue, part), question, Tree | None)
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

        done = await self._on_parts(queue, part, rewind, Rewound, repeatable=True)
        return {one: rewound.position for one, rewound in done.items()}

    async def dead_letters(
        self, queue: str, group: str, part: int, start: int, limit: int
    ) -> list[tuple[int, DeadLetter]]:
        definition = await self._current(queue, part)
        _check_part(definition, part)
        _check_group(await self.get(queue), group)
        start = _not_negative("start", start)
        question = DeadLetters(queue, part, group, start, _page(limit, 100))
        return await self._ask(self.home_of(queue, part), question, list[tuple[int, DeadLetter]])

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
        _check_part(definition, part)
        _check_group(definition, group)
        return await self._on_part(queue, part, definition, attach, Attached, repeatable=True)

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
                raise _invalid(f"key {key[:120]!r} goes to partition {part} of {emit.queue}")
        elif emit.part == ANY_PART:
            part = next(self._turn) % definition.parts
        else:
            _check_part(definition, part := emit.part)
        return replace(emit, part=part)

    # ── putting commands to partitions ───────────────────────────────────────────────────────

    async def _define(self, command: Command, *, repeatable: bool = True) -> QueueDef:
        return self._noted(
            await self._submit(METADATA_PARTITION, command, QueueDef, repeatable=repeatable)
        )

    async def _on_parts(
        self,
        queue: str,
        part: int | None,
        command: Callable[[int, int], Command],
        answer: type[T],
        *,
        repeatable: bool = False,
    ) -> dict[int, T]:
        definition = await self.get(queue)
        parts = _parts(definition, part)
        answers = await asyncio.gather(
            *(
                self._on_part(queue, one, definition, command, answer, repeatable=repeatable)
                for one in parts
            )
        )
        return dict(zip(parts, answers, strict=True))

    async def _on_part(
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
            return await self._submit(home, made, answer, repeatable=repeatable)

        return await self._when_it_is_there(queue, home, definition.version, put)

    async def _when_it_is_there(
        self, queue: str, home: int, version: int, put: Callable[[], Awaitable[T]]
    ) -> T:
        """Again and again while the definition is on its way to the partition."""
        deadline = time.monotonic() + _UP_TO_DATE_S
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, random.Random())
        while True:
            try:
                return await put()
            except CommandRejected as error:
                if error.kind != Rejection.STALE.value or time.monotonic() > deadline:
                    raise
                if await self._ask(home, VersionKnown(queue), int) >= version:
                    # It was there, or has just come: this is about something else, or once more.
                    return await put()
            await asyncio.sleep(backoff.next_s())

    async def _submit(
        self, partition: int, command: Command, answer: type[T], *, repeatable: bool = True
    ) -> T:
        outcome = await self.route.submit(
            partition, MACHINE, encode_command(command), repeatable=repeatable
        )
        if isinstance(outcome, Rejected):
            raise CommandRejected(outcome.reason, outcome.kind.value)
        return msgspec.msgpack.decode(outcome, type=answer)

    async def _ask(self, partition: int, question: Question, answer: Any) -> Any:
        found = await self.route.ask(partition, MACHINE, encode_question(question))
        return msgspec.msgpack.decode(found, type=answer)

    # ── sending ──────────────────────────────────────────────────────────────────────────────

    async def _spread(
        self,
        definition: QueueDef,
        messages: Sequence[NewMessage],
        producer: str,
        sequence: int,
    ) -> SentTo:
        """Each message to where its key belongs; those without one take turns.

        A producer's turns follow from its numbers, so that what it repeats goes to where it went.
        """
        parts = [0] * len(messages)
        positions = [0] * len(messages)
        trees = [-1] * len(messages)
        duplicates = 0
        todo = list(range(len(messages)))
        turn = stable_hash(producer, str(sequence)) if producer else next(self._turn)
        while todo:
            by_part: dict[int, list[int]] = {}
            for index in todo:
                key = messages[index].key
                part = part_of(key, definition.parts) if key else (turn + index) % definition.parts
                by_part.setdefault(part, []).append(index)
            sent = await asyncio.gather(
                *(
                    self._send_or_grown(
                        definition, part, [messages[i] for i in chosen], producer, sequence
                    )
                    for part, chosen in by_part.items()
                )
            )
            grown: list[int] = []
            for (part, chosen), answer in zip(by_part.items(), sent, strict=True):
                if answer is None:
                    grown += chosen
                    continue
                duplicates += answer.duplicates
                for at, index in enumerate(chosen):
                    parts[index], positions[index] = part, answer.positions[at]
                    if answer.trees:
                        trees[index] = answer.trees[at]
            todo = sorted(grown)
            if todo:
                definition = await self.definition(definition.name, definition.version)
        told = tuple(trees) if any(tree >= 0 for tree in trees) else ()
        return SentTo(tuple(parts), tuple(positions), told, duplicates)

    async def _send_or_grown(
        self,
        definition: QueueDef,
        part: int,
        messages: Sequence[NewMessage],
        producer: str,
        sequence: int,
    ) -> Sent | None:
        """None: the queue has grown since, and they belong elsewhere."""
        name, version = definition.name, definition.version
        try:
            return await self._send(name, part, version, messages, producer, sequence)
        except CommandRejected as error:
            if error.kind == Rejection.STALE.value and (await self.get(name)).version > version:
                return None
            raise

    async def _send(
        self,
        queue: str,
        part: int,
        version: int,
        messages: Sequence[NewMessage],
        producer: str,
        sequence: int,
    ) -> Sent:
        home = self.home_of(queue, part)
        if producer:
            return await self._send_numbered(
                home, Send(queue, part, version, tuple(messages), producer, sequence)
            )
        async with self._lanes.lane(queue, part) as lane:
            return await self._send_numbered(
                home, Send(queue, part, version, tuple(messages), lane.name, lane.next())
            )

    async def _send_numbered(self, home: int, send: Send) -> Sent:
        async def put() -> Sent:
            return await self._submit(home, send, Sent)

        return await self._when_it_is_there(send.queue, home, send.version, put)

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
        _check_part(definition, part)
        named = tuple(numbers) if numbers else None

        def make(one: int, version: int) -> Command:
            return kind(queue, one, version, group, named, _page(most, 100))

        return await self._on_part(queue, part, definition, make, Replayed)

    # ── definitions that were seen ───────────────────────────────────────────────────────────

    async def _current(self, queue: str, part: int) -> QueueDef:
        """As it was last seen, if it has the partition; else as it is now."""
        known = await self.definition(queue)
        return known if 0 <= part < known.parts else await self.get(queue)

    def _noted(self, definition: QueueDef) -> QueueDef:
        known = self._definitions.get(definition.name)
        if known is None or known.version < definition.version:
            self._definitions[definition.name] = definition
        return definition

    def _note_defined(self, queue: str, version: int) -> None:
        known = self._definitions.get(queue)
        if known is not None and known.version < version:
            del self._definitions[queue]


# ── lanes ────────────────────────────────────────────────────────────────────────────────────


class _Lane:
    """A producer of this node's own, with one batch under way at a time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._sequence = 0

    def next(self) -> int:
        self._sequence += 1
        return self._sequence


class _Lanes:
    """For those who do not number what they send: so that it is there once all the same.

    A partition remembers each lane by a key, so there are only as many as were in use at once.
    """

    def __init__(self) -> None:
        self._node = uuid.uuid4().hex
        self._free: dict[tuple[str, int], list[_Lane]] = {}
        self._numbers = itertools.count()

    @asynccontextmanager
    async def lane(self, queue: str, part: int) -> AsyncGenerator[_Lane]:
        free = self._free.setdefault((queue, part), [])
        lane = free.pop() if free else _Lane(f"node-{self._node}-{next(self._numbers)}")
        try:
            yield lane
        finally:
            free.append(lane)


# ── checks ───────────────────────────────────────────────────────────────────────────────────


def _invalid(reason: str) -> CommandRejected:
    return CommandRejected(reason, Rejection.INVALID.value)


def _check_part(definition: QueueDef, part: int) -> None:
    if not 0 <= part < definition.parts:
        raise CommandRejected(
            f"queue {definition.name} has no partition {part}: it has 0 to {definition.parts - 1}",
            Rejection.NOT_FOUND.value,
        )


def _check_group(definition: QueueDef, group: str) -> None:
    if group not in definition.groups:
        raise CommandRejected(
            f"queue {definition.name} has no group {group[:120]}: create the group",
            Rejection.NOT_FOUND.value,
        )


def _check_keys(definition: QueueDef, part: int, messages: Sequence[NewMessage]) -> None:
    for message in messages:
        if message.key and part_of(message.key, definition.parts) != part:
            raise _invalid(
                f"key {message.key[:120]!r} goes to partition "
                f"{part_of(message.key, definition.parts)} of {definition.name}, not to {part}"
            )


def _parts(definition: QueueDef, part: int | None) -> Sequence[int]:
    if part is None:
        return range(definition.parts)
    _check_part(definition, part)
    return (part,)


def _page(limit: int, default: int) -> int:
    if not 0 <= limit <= PAGE_MAX:
        raise _invalid(f"a page of {limit} is asked for: it can be from 1 to {PAGE_MAX}")
    return limit or default


def _not_negative(what: str, value: int) -> int:
    if value < 0:
        raise _invalid(f"{what} is {value}: it must be 0 or more")
    return value


async def _until_there(look: Callable[[], Awaitable[T | None]], what: str) -> T:
    deadline = time.monotonic() + _UP_TO_DATE_S
    backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, random.Random())
    while (found := await look()) is None:
        if time.monotonic() > deadline:
            raise NotServed(f"{what} has not come to its place yet: try again")
        await asyncio.sleep(backoff.next_s())
    return found
