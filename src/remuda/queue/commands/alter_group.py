"""`alter-group`: a group handles failures otherwise from now on. How far it is, it stays."""

from __future__ import annotations

from msgspec.structs import replace

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.commands.on_definition import OnDefinition
from remuda.queue.limits import wrong_retry
from remuda.queue.model import QueueDef, RetryDef


class AlterGroup(OnDefinition, frozen=True, tag="alter-group"):
    group: str
    retry: RetryDef | None = None
    """None: the queue's."""

    def alter(self, before: QueueDef) -> QueueDef | Rejected:
        group = before.groups.get(self.group)
        if group is None:
            return Rejected(
                f"queue {self.queue} has no group {self.group[:120]}", Rejection.NOT_FOUND
            )
        wrong = None if self.retry is None else wrong_retry(self.retry)
        if wrong is not None:
            return wrong
        if group.retry == self.retry:
            return before
        groups = {**before.groups, self.group: replace(group, retry=self.retry)}
        return replace(before, groups=groups, version=before.version + 1)
