"""`seal-queue`: nothing more is sent. The end is reached when all that was sent is done."""

from __future__ import annotations

from msgspec.structs import replace

from remuda.queue.commands.on_definition import OnDefinition
from remuda.queue.model import QueueDef


class SealQueue(OnDefinition, frozen=True, tag="seal-queue"):
    def alter(self, before: QueueDef) -> QueueDef:
        if before.sealed:
            return before
        return replace(before, sealed=True, version=before.version + 1)
