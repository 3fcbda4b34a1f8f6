"""`attach`: a worker that has come to own a partition for a group says so before it takes.

From then on whoever owned it under an older epoch can commit nothing, so what the new owner takes
is all that is not done.
"""

from __future__ import annotations

from msgspec import Struct

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.command import OnGroup
from remuda.queue.limits import invalid
from remuda.queue.work import Work


class Attached(Struct, frozen=True, array_like=True):
    turn: int
    committed: int
    next: int


class Attach(OnGroup, frozen=True, tag="attach"):
    epoch: int

    def apply(self, work: Work) -> Attached | Rejected:
        found = self.load_group(work)
        if isinstance(found, Rejected):
            return found
        part, progress = found
        if self.epoch < 0:
            return invalid(f"{self.epoch} is no epoch: it must be 0 or more")
        if self.epoch < progress.run.epoch:
            return Rejected(
                f"partition {self.part} of {self.queue} is owned for {self.group} at epoch "
                f"{progress.run.epoch}, and {self.epoch} is older: somebody else has it now",
                Rejection.STALE,
            )
        if self.epoch > progress.run.epoch:
            progress.run.epoch = self.epoch
            work.wake(part)
        return Attached(progress.run.turn, progress.run.committed, part.run.next)
