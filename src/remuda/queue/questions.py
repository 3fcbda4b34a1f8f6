"""What can be asked of a partition about queues: as data, because its owner may be elsewhere."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import Struct

from remuda.errors import CommandRejected
from remuda.partition.machine import Rejection, View
from remuda.queue.layout import known, read_queue_def
from remuda.queue.model import DeadLetter, Message, QueueDef, Tree
from remuda.queue.reading import (
    PartStats,
    dead_letters,
    definition_of,
    definitions,
    part_stats,
    peek,
    tree_of,
)

# One answer is one message on the wire, and one look takes one turn in the partition.
ANSWER_BYTES_MAX = 4 * 1024 * 1024
PAGE_MAX = 1_000


class Question(Struct, frozen=True, array_like=True, tag_field="type"):
    def answer(self, view: View, now_ms: int) -> object:
        raise NotImplementedError


class DefinitionOf(Question, frozen=True, tag="definition"):
    """As asked for; to the partition that keeps definitions."""

    queue: str

    def answer(self, view: View, now_ms: int) -> QueueDef | None:
        return definition_of(view, self.queue)


class DefinitionsAfter(Question, frozen=True, tag="definitions"):
    after: str
    limit: int

    def answer(self, view: View, now_ms: int) -> list[QueueDef]:
        found: list[QueueDef] = []
        for definition in definitions(view):
            if len(found) == self.limit:
                break
            if definition.name > self.after:
                found.append(definition)
        return found


class VersionKnown(Question, frozen=True, tag="version"):
    """Of a queue's definition, as far as it has come to a partition; 0: none has."""

    queue: str

    def answer(self, view: View, now_ms: int) -> int:
        data = view.get(known(self.queue))
        return 0 if data is None else read_queue_def(data).version


class Peek(Question, frozen=True, tag="peek"):
    queue: str
    part: int
    start: int
    limit: int

    def answer(self, view: View, now_ms: int) -> list[tuple[int, Message]]:
        found: list[tuple[int, Message]] = []
        start, size = self.start, 0
        while len(found) < self.limit and size < ANSWER_BYTES_MAX:
            # A few at a time: a body may be large.
            some = peek(view, self.queue, self.part, start, min(16, self.limit - len(found)))
            if not some:
                break
            for position, message in some:
                size += len(message.body)
                if found and size > ANSWER_BYTES_MAX:
                    break
                found.append((position, message))
                start = position + 1
        return found


class DeadLetters(Question, frozen=True, tag="dead-letters"):
    queue: str
    part: int
    group: str
    start: int
    limit: int

    def answer(self, view: View, now_ms: int) -> list[tuple[int, DeadLetter]]:
        found: list[tuple[int, DeadLetter]] = []
        start, size = self.start, 0
        while len(found) < self.limit and size < ANSWER_BYTES_MAX:
            few = min(16, self.limit - len(found))
            some = dead_letters(view, self.queue, self.part, self.group, start, few)
            if not some:
                break
            for number, letter in some:
                size += len(letter.message.body)
                if found and size > ANSWER_BYTES_MAX:
                    break
                found.append((number, letter))
                start = number + 1
        return found


class TreeOf(Question, frozen=True, tag="tree"):
    queue: str
    part: int
    tree: int

    def answer(self, view: View, now_ms: int) -> Tree | None:
        return tree_of(view, self.queue, self.part, self.tree)


class StatsOf(Question, frozen=True, tag="stats"):
    queue: str
    part: int

    def answer(self, view: View, now_ms: int) -> PartStats | None:
        return part_stats(view, self.queue, self.part, now_ms)


AnyQuestion: TypeAlias = (
    DefinitionOf | DefinitionsAfter | VersionKnown | Peek | DeadLetters | TreeOf | StatsOf
)


def answered(view: View, question: bytes, now_ms: int) -> bytes:
    try:
        asked = _read(question)
    except msgspec.DecodeError as error:
        raise CommandRejected(
            f"this is no question about queues: {error}", Rejection.INVALID.value
        ) from None
    return _encode(asked.answer(view, now_ms))


def encode_question(question: Question) -> bytes:
    return _encode(question)


_encode = msgspec.msgpack.Encoder().encode
_read = msgspec.msgpack.Decoder(AnyQuestion).decode
