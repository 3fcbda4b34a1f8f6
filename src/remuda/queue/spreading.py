"""Sending at a node: each message to where it belongs, in batches that are there once."""

from __future__ import annotations

import asyncio
import itertools
import random
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from remuda.errors import CommandRejected
from remuda.partition.machine import Rejection
from remuda.queue.checks import check_keys, check_part, invalid
from remuda.queue.commands.send import Send, Sent
from remuda.queue.errands import Errands
from remuda.queue.model import NewMessage, QueueDef
from remuda.queue.placement import part_of, stable_hash


class SentTo(Struct, frozen=True):
    """Where the messages of a call went, in their order."""

    parts: tuple[int, ...]
    positions: tuple[int, ...]
    trees: tuple[int, ...] = ()
    duplicates: int = 0


class Spreader:
    def __init__(self, errands: Errands) -> None:
        self._errands = errands
        self._lanes = _Lanes()
        self._turn = itertools.count(random.randrange(1 << 16))

    def next_turn(self) -> int:
        """For those without a key, who take turns."""
        return next(self._turn)

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
        definition = await self._errands.definition(queue, version - 1)
        if part is not None:
            check_part(definition, part)
            if version > definition.version or version < 0:
                raise invalid(f"queue {queue} has no version {version}: look at it again")
            version = version or definition.version
            if version >= definition.grown:
                check_keys(definition, part, messages)
            sent = await self._send(queue, part, version, messages, producer, sequence)
            parts = (part,) * len(messages)
            return SentTo(parts, sent.positions, sent.trees, sent.duplicates)
        if not messages:
            raise invalid("a batch has no messages: send at least one")
        return await self._spread(definition, messages, producer, sequence)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

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
        turn = stable_hash(producer, str(sequence)) if producer else self.next_turn()
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
                definition = await self._errands.definition(definition.name, definition.version)
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
            if (
                error.kind == Rejection.STALE.value
                and (await self._errands.get(name)).version > version
            ):
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
        home = self._errands.home_of(queue, part)
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
            return await self._errands.submit(home, send, Sent)

        return await self._errands.when_it_is_there(send.queue, home, send.version, put)


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
