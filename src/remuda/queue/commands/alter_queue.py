"""`alter-queue`: other settings, or more partitions. Messages stay where they are."""

from __future__ import annotations

from msgspec.structs import replace

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.commands.on_definition import OnDefinition
from remuda.queue.limits import PARTS_MAX, wrong_number, wrong_settings
from remuda.queue.model import QueueDef, QueueSettings


class AlterQueue(OnDefinition, frozen=True, tag="alter-queue"):
    parts: int | None = None
    settings: QueueSettings | None = None
    if_version: int | None = None

    def alter(self, before: QueueDef) -> QueueDef | Rejected:
        if self.if_version not in (None, before.version):
            return Rejected(
                f"queue {self.queue} is at version {before.version}, not {self.if_version}: "
                "look at it again",
                Rejection.STALE,
            )
        parts = before.parts if self.parts is None else self.parts
        settings = before.settings if self.settings is None else self.settings
        wrong = wrong_number("the number of partitions", parts, 1, PARTS_MAX) or wrong_settings(
            settings
        )
        if wrong is not None:
            return wrong
        if parts < before.parts:
            return Rejected(
                f"queue {self.queue} has {before.parts} partitions and may only grow: "
                f"{parts} are fewer"
            )
        if (parts, settings) == (before.parts, before.settings):
            return before
        version = before.version + 1
        grown = version if parts > before.parts else before.grown
        return replace(before, parts=parts, settings=settings, version=version, grown=grown)
