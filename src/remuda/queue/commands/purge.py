"""`purge`: all messages of a partition go, the delayed ones too. Dead letters stay."""

from __future__ import annotations

from msgspec import Struct

from remuda.partition.keys import number
from remuda.partition.machine import Rejected
from remuda.queue.command import OnPart
from remuda.queue.trees import cut
from remuda.queue.work import Work


class Purged(Struct, frozen=True, array_like=True):
    messages: int


class Purge(OnPart, frozen=True, tag="purge"):
    """Room is made behind it, in portions. Trees whose roots go are at an end: purged."""

    def apply(self, work: Work) -> Purged | Rejected:
        part = self.load(work)
        if isinstance(part, Rejected):
            return part
        run = part.run
        gone = run.next - run.first + run.delayed
        start = part.keys.root(run.first)
        for key, _ in list(part.state.scan(start, part.keys.end_of(start))):
            position = number(key, len(key) - 8)
            track = part.message(position).track
            assert track is not None
            cut(work, part, track.tree)
        if run.next > run.first:
            run.trimmed_ms = part.message(run.next - 1).sent_ms
        run.first = run.next
        run.delayed = 0
        run.delayed_first = run.delayed_next
        run.purged += gone
        for progress in part.every_progress():
            progress.move(run.next)
        part.arm(work.now_ms)
        work.wake(part)
        return Purged(gone)
