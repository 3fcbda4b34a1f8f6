"""`drop-group`: what a group has done is forgotten, and its dead letters with it."""

from __future__ import annotations

from msgspec.structs import replace

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.commands.on_definition import OnDefinition
from remuda.queue.model import QueueDef


class DropGroup(OnDefinition, frozen=True, tag="drop-group"):
    group: str

    def alter(self, before: QueueDef) -> QueueDef | Rejected:
        if self.group not in before.groups:
            return Rejected(
                f"queue {self.queue} has no group {self.group[:120]}", Rejection.NOT_FOUND
            )
        groups = {name: group for name, group in before.groups.items() if name != self.group}
        return replace(before, groups=groups, version=before.version + 1)
