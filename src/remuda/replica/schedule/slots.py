"""What a node offers, and what a slot is at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from remuda.replica.schedule.demand import JobId, TaskId

SlotId: TypeAlias = str
Site: TypeAlias = str


class Slot(Struct, frozen=True, omit_defaults=True):
    """A virtual peer: one core of a node."""

    id: SlotId
    site: Site
    tags: tuple[str, ...] = ()

    def has(self, tags: tuple[str, ...]) -> bool:
        return all(tag in self.tags for tag in tags)


class Place(Struct, frozen=True, order=True):
    """The task of a job that a slot does."""

    job: JobId
    task: TaskId


Places: TypeAlias = Mapping[SlotId, Place]


class SlotMove(Struct, frozen=True):
    """None stands for no task: a slot that begins, or one that is let go."""

    slot: SlotId
    source: Place | None
    to: Place | None


def moves(before: Places, after: Places) -> tuple[SlotMove, ...]:
    """What is not as it was, by slot."""
    return tuple(
        SlotMove(slot, before.get(slot), after.get(slot))
        for slot in sorted({**before, **after})
        if before.get(slot) != after.get(slot)
    )
