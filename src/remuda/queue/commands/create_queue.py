"""`create-queue`: a queue of n partitions. To ask for what is there already changes nothing."""

from __future__ import annotations

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.commands.on_definition import OnDefinition
from remuda.queue.limits import PARTS_MAX, wrong_name, wrong_number, wrong_settings
from remuda.queue.model import QueueDef, QueueSettings


class CreateQueue(OnDefinition, frozen=True, tag="create-queue"):
    parts: int
    settings: QueueSettings = QueueSettings()

    def change(self, before: QueueDef | None) -> QueueDef | Rejected:
        wrong = (
            wrong_name("queue", self.queue)
            or wrong_number("the number of partitions", self.parts, 1, PARTS_MAX)
            or wrong_settings(self.settings)
        )
        if wrong is not None:
            return wrong
        if before is None:
            return QueueDef(self.queue, self.parts, self.settings)
        if (before.parts, before.settings) == (self.parts, self.settings):
            return before
        return Rejected(
            f"there is a queue {self.queue} with other settings or {before.parts} partitions: "
            "alter it, or take another name",
            Rejection.EXISTS,
        )
