"""`rewind`: a group begins again at a position or time, or goes on from a later one.

Afterwards all before it is done and all from there on is not, whatever was before. What a worker
had taken is void: its turn is over.
"""

from __future__ import annotations

from msgspec import Struct

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.care import arm_for_history
from remuda.queue.command import OnGroup, beyond
from remuda.queue.commands.tally import finish_tracked
from remuda.queue.limits import invalid
from remuda.queue.part import Part
from remuda.queue.trees import tracked_between
from remuda.queue.work import Work


class Rewound(Struct, frozen=True, array_like=True):
    position: int
    turn: int


class Rewind(OnGroup, frozen=True, tag="rewind"):
    to_position: int | None = None
    to_ms: int | None = None

    def apply(self, work: Work) -> Rewound | Rejected:
        found = self.load_group(work)
        if isinstance(found, Rejected):
            return found
        part, progress = found
        target = self._target(part)
        if isinstance(target, Rejected):
            return target
        skipped = tracked_between(part, progress.run.committed, target)
        progress.move(target)
        finish_tracked(work, part, skipped)
        arm_for_history(part)
        work.wake(part)
        return Rewound(target, progress.run.turn)

    def _target(self, part: Part) -> int | Rejected:
        run = part.run
        if (self.to_position is None) == (self.to_ms is None):
            return invalid("a rewind goes to a position or to a time: give one of them")
        if self.to_position is not None:
            if self.to_position > run.next or self.to_position < 0:
                return beyond(self.to_position, part)
            if self.to_position < run.first:
                return _gone(part, f"position {self.to_position}")
            return self.to_position
        assert self.to_ms is not None
        if self.to_ms <= run.trimmed_ms:
            return _gone(part, f"the time {self.to_ms}")
        return part.first_at(self.to_ms)


def _gone(part: Part, what: str) -> Rejected:
    return Rejected(
        f"{what} is before the history that partition {part.index} of {part.name} keeps: it begins "
        f"at position {part.run.first}",
        Rejection.OUT_OF_RANGE,
    )
