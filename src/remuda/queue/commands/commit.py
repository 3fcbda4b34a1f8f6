"""`commit`: handlers have returned. What they handled is done, and what they made is on its way:
both, or neither.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Set
from itertools import pairwise

from msgspec import Struct

from remuda.partition.machine import Rejected
from remuda.queue.care import arm_for_history, trim
from remuda.queue.command import ByOwner, beyond, encode_command, out_of_order, too_far
from remuda.queue.commands.deliver import Deliver, Made
from remuda.queue.commands.tally import Tallies, finish_tracked
from remuda.queue.layout import read_track
from remuda.queue.limits import (
    BATCH_MAX,
    EMITTED_BYTES_MAX,
    invalid,
    wrong_message,
    wrong_name,
    wrong_part,
)
from remuda.queue.model import NewMessage
from remuda.queue.part import Part
from remuda.queue.progress import Progress
from remuda.queue.reading import is_ended
from remuda.queue.trees import child, tracked_between
from remuda.queue.work import Work

COMMIT_MAX = 100_000
SWEPT_AT_ONCE = 256


class Emit(Struct, frozen=True, array_like=True):
    """A message that was made by the handler of the message at `by`."""

    by: int
    queue: str
    part: int
    message: NewMessage
    tracked: bool = True
    """It belongs to the tree of the one that was handled, if that has one."""


class Committed(Struct, frozen=True, array_like=True):
    committed: int
    """The first position that is not done."""
    freed: bool
    """A key waits no more: look again at what was passed over."""
    ended: bool
    """The queue is sealed, and all of this partition is done."""


class Commit(ByOwner, frozen=True, tag="commit"):
    done: tuple[tuple[int, int], ...]
    """Ranges of positions: the first, and the one after the last."""
    emits: tuple[Emit, ...] = ()

    def apply(self, work: Work) -> Committed | Rejected:
        found = self.load_owned(work)
        if isinstance(found, Rejected):
            return found
        part, progress = found
        wrong = self._wrong(part, progress)
        if wrong is not None:
            return wrong
        # What was made of a message that was done before is on its way already, or is void.
        fresh = {emit.by for emit in self.emits if not progress.is_done(emit.by)}
        for start, end in sorted(self.done):
            too_early = progress.finish(start, end)
            if too_early is not None:
                return out_of_order(too_early, progress)
        progress.settle()
        tallies = Tallies()
        self._emit(work, part, tallies, fresh)
        for start, end in self.done:
            finish_tracked(work, part, tracked_between(part, start, end), tallies)
        tallies.tell(work)
        _let_go(part, progress)
        if progress.freed:
            work.wake(part)
        ended = is_ended(part.definition, part.run, progress.run)
        return Committed(progress.run.committed, progress.freed, ended)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _wrong(self, part: Part, progress: Progress) -> Rejected | None:
        ranges = sorted(self.done)
        if not ranges or any(start >= end for start, end in ranges):
            return invalid("a commit names no message, or a range that has none")
        if any(end > start for (_, end), (start, _) in pairwise(ranges)):
            return invalid("a commit names a message twice: its ranges must not overlap")
        total = sum(end - start for start, end in ranges)
        if total > COMMIT_MAX or len(self.emits) > BATCH_MAX:
            return invalid(
                f"{total} messages and {len(self.emits)} made of them are committed at once: "
                f"{COMMIT_MAX} and {BATCH_MAX} are allowed"
            )
        least, last = ranges[0][0], ranges[-1][1] - 1
        if least < 0 or last >= part.run.next:
            return beyond(least if least < 0 else last, part)
        frontier = progress.run.frontier
        ahead = sum(end - max(start, frontier) for start, end in ranges if end > frontier)
        far = too_far(progress, max(0, last + 1 - frontier) - ahead)
        if far is not None:
            return far
        for emit in self.emits:
            before = bisect_right(ranges, (emit.by, last + 1)) - 1
            if before < 0 or emit.by >= ranges[before][1]:
                return invalid(f"what was made of {emit.by} is committed without it")
            wrong = (
                wrong_name("queue", emit.queue)
                or wrong_part(emit.part)
                or wrong_message(emit.message, EMITTED_BYTES_MAX)
            )
            if wrong is not None:
                return wrong
        return None

    def _emit(self, work: Work, part: Part, tallies: Tallies, fresh: Set[int]) -> None:
        made: dict[tuple[str, int], list[Made]] = {}
        numbers: dict[int, int] = {}
        for emit in self.emits:
            if emit.by not in fresh:
                continue
            nth = numbers.get(emit.by, 0)
            numbers[emit.by] = nth + 1
            track = None
            if emit.tracked and not emit.message.track_ms:
                parent = part.state.get(part.keys.tracked(emit.by))
                if parent is not None:
                    track = child(read_track(parent), self.group, nth)
                    tallies.made(track)
            made.setdefault((emit.queue, emit.part), []).append(Made(emit.message, track))
        for (queue, index), messages in made.items():
            delivery = Deliver(queue, index, tuple(messages))
            home = work.home_of(queue, index)
            if home == work.stamp.partition:
                delivery.apply(work)
            else:
                work.state.send(home, encode_command(delivery))


def ranges_of(positions: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Positions as a commit wants them."""
    ranges: list[tuple[int, int]] = []
    for position in sorted(set(positions)):
        if ranges and ranges[-1][1] == position:
            ranges[-1] = (ranges[-1][0], position + 1)
        else:
            ranges.append((position, position + 1))
    return tuple(ranges)


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _let_go(part: Part, progress: Progress) -> None:
    keep = part.definition.settings.keep_count
    if part.run.swept + keep < progress.run.committed:
        trim(part, SWEPT_AT_ONCE)
    arm_for_history(part)
