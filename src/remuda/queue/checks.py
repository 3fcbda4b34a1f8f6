"""What a call about queues is refused for before it is put to any partition."""

from __future__ import annotations

from collections.abc import Sequence

from remuda.errors import CommandRejected
from remuda.partition.machine import Rejection
from remuda.queue.model import NewMessage, QueueDef, QueueSettings
from remuda.queue.placement import part_of
from remuda.queue.questions import PAGE_MAX
from remuda.wire.settings import BODY_BYTES_MAX


def invalid(reason: str) -> CommandRejected:
    return CommandRejected(reason, Rejection.INVALID.value)


def check_bodies(settings: QueueSettings) -> None:
    if settings.body_bytes_max > BODY_BYTES_MAX:
        raise invalid(
            f"body_bytes_max is {settings.body_bytes_max}, and at most {BODY_BYTES_MAX} fit one "
            "message: put large things elsewhere, and send where they are"
        )


def check_part(definition: QueueDef, part: int) -> None:
    if not 0 <= part < definition.parts:
        raise CommandRejected(
            f"queue {definition.name} has no partition {part}: it has 0 to {definition.parts - 1}",
            Rejection.NOT_FOUND.value,
        )


def check_group(definition: QueueDef, group: str) -> None:
    if group not in definition.groups:
        raise CommandRejected(
            f"queue {definition.name} has no group {group[:120]}: create the group",
            Rejection.NOT_FOUND.value,
        )


def check_keys(definition: QueueDef, part: int, messages: Sequence[NewMessage]) -> None:
    for message in messages:
        if message.key and part_of(message.key, definition.parts) != part:
            raise invalid(
                f"key {message.key[:120]!r} goes to partition "
                f"{part_of(message.key, definition.parts)} of {definition.name}, not to {part}"
            )


def parts_of(definition: QueueDef, part: int | None) -> Sequence[int]:
    if part is None:
        return range(definition.parts)
    check_part(definition, part)
    return (part,)


def page(limit: int, default: int) -> int:
    if not 0 <= limit <= PAGE_MAX:
        raise invalid(f"a page of {limit} is asked for: it can be from 1 to {PAGE_MAX}")
    return limit or default


def not_negative(what: str, value: int) -> int:
    if value < 0:
        raise invalid(f"{what} is {value}: it must be 0 or more")
    return value
