"""`define-queue`: a version of a queue's definition comes to a data partition that holds some of
its partitions, out of the outbox of the one that keeps definitions.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from remuda.partition.keys import after
from remuda.partition.machine import Rejected
from remuda.queue.command import Command, Nothing
from remuda.queue.commands.deliver import Deliver
from remuda.queue.commands.tally import finish_tracked
from remuda.queue.layout import limbo
from remuda.queue.limits import PARTS_MAX, wrong_name, wrong_number
from remuda.queue.model import GroupDef, QueueDef
from remuda.queue.placement import homes_of
from remuda.queue.trees import tracked_between
from remuda.queue.work import Work


class DefineQueue(Command, frozen=True, tag="define-queue"):
    definition: QueueDef

    def apply(self, work: Work) -> Nothing | Rejected:
        new = self.definition
        wrong = wrong_name("queue", new.name) or wrong_number("parts", new.parts, 1, PARTS_MAX)
        if wrong is not None:
            return wrong
        before = work.definition(new.name)
        if before is not None and before.version >= new.version:
            return Nothing()
        work.redefine(new)
        homes = homes_of(new.name, new.parts, work.partitions)
        for index in homes.get(work.stamp.partition, ()):
            known = work.part(new.name, index)
            part = work.new_part(new, index) if known is None else known
            groups: Mapping[str, GroupDef] = (
                {} if known is None or before is None else before.groups
            )
            for group in groups:
                if group not in new.groups:
                    part.forget(group)
            for group in new.groups:
                if group not in groups:
                    part.begin(group)
            if any(group not in new.groups for group in groups):
                finish_tracked(work, part, tracked_between(part, part.run.first, part.run.next))
            part.arm(work.now_ms)
            work.wake(part)
            _deliver_what_waits(work, new.name, index)
        return Nothing()


def _deliver_what_waits(work: Work, queue: str, index: int) -> None:
    start = limbo(queue, index)
    for key, value in list(work.state.scan(start, after(start))):
        work.state.delete(key)
        _read(value).apply(work)


_read = msgspec.msgpack.Decoder(Deliver).decode
