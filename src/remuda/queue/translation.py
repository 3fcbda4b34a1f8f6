"""Queues as they are said on the wire, and as they are said here; both ways."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from remuda.queue.commands.commit import Emit
from remuda.queue.model import (
    DeadLetter,
    Failure,
    GroupDef,
    Message,
    NewMessage,
    QueueDef,
    QueueSettings,
    RetryDef,
    Track,
)
from remuda.queue.reading import GroupStats, PartStats
from remuda.queue.takeable import Takeable, Taken
from remuda.v1 import queues_pb2 as pb

ANY_PART = -1
"""In an `Emit`: the node is to find the partition."""

_SETTINGS = tuple(name for name in QueueSettings.__struct_fields__ if name != "retry")
_GROUP_STATS = GroupStats.__struct_fields__
_PART_STATS = tuple(name for name in PartStats.__struct_fields__ if name != "groups")
_SOME_TRACK = Track("", 0, 0, 0, 0)
"""Where a message belongs in a tree is no client's business, but that it does is."""


# ── definitions ──────────────────────────────────────────────────────────────────────────────


def retry_to_wire(retry: RetryDef) -> pb.Retry:
    return pb.Retry(
        max_attempts=retry.max_attempts,
        blocks=pb.KEY if retry.blocks == "key" else pb.PARTITION,
        first_ms=retry.first_ms,
        most_ms=retry.most_ms,
        factor_percent=retry.factor_percent,
        dead_letters=retry.dead_letters,
    )


def retry_from_wire(retry: pb.Retry) -> RetryDef:
    return RetryDef(
        retry.max_attempts,
        "key" if retry.blocks == pb.KEY else "partition",
        retry.first_ms,
        retry.most_ms,
        retry.factor_percent,
        retry.dead_letters,
    )


def settings_to_wire(settings: QueueSettings) -> pb.Settings:
    given = {name: getattr(settings, name) for name in _SETTINGS}
    return pb.Settings(retry=retry_to_wire(settings.retry), **given)


def settings_from_wire(settings: pb.Settings) -> QueueSettings:
    given = {name: getattr(settings, name) for name in _SETTINGS if settings.HasField(name)}
    if settings.HasField("retry"):
        given["retry"] = retry_from_wire(settings.retry)
    return QueueSettings(**given)


def group_to_wire(group: GroupDef) -> pb.Group:
    retry = None if group.retry is None else retry_to_wire(group.retry)
    return pb.Group(from_next=group.start == "next", retry=retry)


def group_from_wire(group: pb.Group) -> GroupDef:
    retry = retry_from_wire(group.retry) if group.HasField("retry") else None
    return GroupDef("next" if group.from_next else "first", retry)


def queue_to_wire(queue: QueueDef) -> pb.Queue:
    return pb.Queue(
        name=queue.name,
        parts=queue.parts,
        settings=settings_to_wire(queue.settings),
        groups={name: group_to_wire(group) for name, group in queue.groups.items()},
        version=queue.version,
        grown=queue.grown,
        sealed=queue.sealed,
    )


def queue_from_wire(queue: pb.Queue) -> QueueDef:
    return QueueDef(
        queue.name,
        queue.parts,
        settings_from_wire(queue.settings),
        {name: group_from_wire(queue.groups[name]) for name in sorted(queue.groups)},
        queue.version,
        queue.grown,
        queue.sealed,
    )


# ── messages ─────────────────────────────────────────────────────────────────────────────────


def new_message_to_wire(message: NewMessage) -> pb.NewMessage:
    return pb.NewMessage(
        body=message.body,
        key=message.key,
        headers=message.headers,
        dedup=message.dedup,
        delay_ms=message.delay_ms,
        ttl_ms=message.ttl_ms,
        track_ms=message.track_ms,
    )


def new_message_from_wire(message: pb.NewMessage) -> NewMessage:
    return NewMessage(
        message.body,
        message.key,
        dict(message.headers) if message.headers else {},
        message.dedup,
        message.delay_ms,
        message.ttl_ms,
        message.track_ms,
    )


def message_to_wire(message: Message) -> pb.Message:
    return pb.Message(
        body=message.body,
        key=message.key,
        headers=message.headers,
        dedup=message.dedup,
        sent_ms=message.sent_ms,
        expires_ms=message.expires_ms,
        tracked=message.track is not None,
        only=message.only,
        failures=[
            pb.Failure(at_ms=one.at_ms, attempt=one.attempt, error=one.error)
            for one in message.failures
        ],
    )


def message_from_wire(message: pb.Message) -> Message:
    return Message(
        message.sent_ms,
        message.body,
        message.key,
        dict(message.headers) if message.headers else {},
        message.dedup,
        message.expires_ms,
        _SOME_TRACK if message.tracked else None,
        message.only,
        tuple(Failure(one.at_ms, one.attempt, one.error) for one in message.failures),
    )


def dead_letter_to_wire(number: int, letter: DeadLetter) -> pb.DeadLetter:
    return pb.DeadLetter(
        number=number,
        position=letter.position,
        died_ms=letter.died_ms,
        message=message_to_wire(letter.message),
    )


def dead_letter_from_wire(letter: pb.DeadLetter) -> tuple[int, DeadLetter]:
    message = message_from_wire(letter.message)
    return letter.number, DeadLetter(letter.position, letter.died_ms, message)


# ── taking ───────────────────────────────────────────────────────────────────────────────────


def batch_to_wire(batch: Takeable) -> pb.Batch:
    taken = [
        pb.Taken(position=one.position, attempt=one.attempt, message=message_to_wire(one.message))
        for one in batch.taken
    ]
    return pb.Batch(turn=batch.turn, taken=taken, ended=batch.ended)


def batch_from_wire(batch: pb.Batch) -> Takeable:
    taken = tuple(
        Taken(one.position, one.attempt, message_from_wire(one.message)) for one in batch.taken
    )
    return Takeable(taken, batch.turn, ended=batch.ended)


def ranges_to_wire(ranges: Iterable[tuple[int, int]]) -> list[pb.Range]:
    return [pb.Range(first=first, end=end) for first, end in ranges]


def emit_to_wire(emit: Emit) -> pb.Emit:
    return pb.Emit(
        by=emit.by,
        queue=emit.queue,
        part=None if emit.part == ANY_PART else emit.part,
        message=new_message_to_wire(emit.message),
        untracked=not emit.tracked,
    )


def emit_from_wire(emit: pb.Emit) -> Emit:
    return Emit(
        emit.by,
        emit.queue,
        emit.part if emit.HasField("part") else ANY_PART,
        new_message_from_wire(emit.message),
        not emit.untracked,
    )


# ── statistics ───────────────────────────────────────────────────────────────────────────────


def part_stats_to_wire(stats: PartStats) -> pb.PartStats:
    groups = {
        name: pb.GroupStats(**msgspec.structs.asdict(group)) for name, group in stats.groups.items()
    }
    return pb.PartStats(groups=groups, **{name: getattr(stats, name) for name in _PART_STATS})


def part_stats_from_wire(stats: pb.PartStats) -> PartStats:
    groups = {
        name: GroupStats(**{field: getattr(stats.groups[name], field) for field in _GROUP_STATS})
        for name in sorted(stats.groups)
    }
    return PartStats(groups=groups, **{name: getattr(stats, name) for name in _PART_STATS})
