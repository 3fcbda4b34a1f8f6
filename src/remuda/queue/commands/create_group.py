"""`create-group`: a group that is to have every message. The same again changes nothing."""

from __future__ import annotations

from msgspec.structs import replace

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.commands.on_definition import OnDefinition
from remuda.queue.limits import GROUPS_MAX, wrong_group
from remuda.queue.model import GroupDef, QueueDef


class CreateGroup(OnDefinition, frozen=True, tag="create-group"):
    group: str
    definition: GroupDef = GroupDef()

    def alter(self, before: QueueDef) -> QueueDef | Rejected:
        wrong = wrong_group(self.group, self.definition)
        if wrong is not None:
            return wrong
        known = before.groups.get(self.group)
        if known == self.definition:
            return before
        if known is not None:
            return Rejected(
                f"group {self.group} of {self.queue} consumes with other settings: use the same "
                "in all of its workers, or another group",
            )
        if len(before.groups) >= GROUPS_MAX:
            return Rejected(
                f"queue {self.queue} has {GROUPS_MAX} groups and may not have more: drop one",
                Rejection.EXHAUSTED,
            )
        groups = dict(sorted({**before.groups, self.group: self.definition}.items()))
        return replace(before, groups=groups, version=before.version + 1)
