"""What the commands on definitions share. They go to data partition 0, which has the only copy
that changes; every change is a new version, and is sent to all partitions that it is about.
"""

from __future__ import annotations

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.command import Command, encode_command
from remuda.queue.commands.define_queue import DefineQueue
from remuda.queue.effects import QueueDefined
from remuda.queue.layout import asked, encode, read_queue_def
from remuda.queue.limits import invalid
from remuda.queue.model import QueueDef
from remuda.queue.placement import homes_of
from remuda.queue.work import Work

METADATA_PARTITION = 0


class OnDefinition(Command, frozen=True):
    queue: str

    def apply(self, work: Work) -> QueueDef | Rejected:
        if work.stamp.partition != METADATA_PARTITION:
            return invalid(f"definitions are kept in partition {METADATA_PARTITION}: ask it")
        data = work.state.get(asked(self.queue))
        before = None if data is None else read_queue_def(data)
        after = self.change(before)
        if not isinstance(after, Rejected) and after is not before:
            work.state.put(asked(self.queue), encode(after))
            for home in homes_of(after.name, after.parts, work.partitions):
                work.state.send(home, encode_command(DefineQueue(after)))
            work.effect(QueueDefined(after.name, after.version))
        return after

    def change(self, before: QueueDef | None) -> QueueDef | Rejected:
        """The definition from now on: the one before, if nothing is to change."""
        if before is None:
            return Rejected(f"there is no queue {self.queue[:120]}: create it", Rejection.NOT_FOUND)
        return self.alter(before)

    def alter(self, before: QueueDef) -> QueueDef | Rejected:
        raise NotImplementedError
