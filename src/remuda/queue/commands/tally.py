"""`tally`: something of a tree is done or made; goes to the partition of its root."""

from __future__ import annotations

from collections.abc import Iterable

from remuda.partition.machine import Rejected
from remuda.queue.command import Command, Nothing, encode_command
from remuda.queue.layout import read_track
from remuda.queue.limits import wrong_track
from remuda.queue.model import Track
from remuda.queue.part import Part
from remuda.queue.trees import add, take_track
from remuda.queue.work import Work


class Tally(Command, frozen=True, tag="tally"):
    queue: str
    part: int
    tree: int
    turn: int
    value: int
    count: int

    def apply(self, work: Work) -> Nothing | Rejected:
        wrong = wrong_track(Track(self.queue, self.part, self.tree, self.turn, self.value))
        if wrong is not None:
            return wrong
        part = work.part(self.queue, self.part)
        if part is not None:
            add(work, part, self.tree, self.turn, self.value, self.count)
        return Nothing()


class Tallies:
    """What one command has to tell trees: a line each, in order of their first mention."""

    def __init__(self) -> None:
        self._lines: dict[Track, tuple[int, int]] = {}

    def made(self, track: Track) -> None:
        self._note(track, 1)

    def finished(self, track: Track) -> None:
        self._note(track, -1)

    def tell(self, work: Work) -> None:
        for tree, (value, count) in self._lines.items():
            tally = Tally(tree.queue, tree.part, tree.tree, tree.turn, value, count)
            home = work.home_of(tree.queue, tree.part)
            if home == work.stamp.partition:
                tally.apply(work)
            else:
                work.state.send(home, encode_command(tally))

    def _note(self, track: Track, count: int) -> None:
        tree = Track(track.queue, track.part, track.tree, track.turn, 0)
        value, total = self._lines.get(tree, (0, 0))
        self._lines[tree] = (value ^ track.value, total + count)


def finish_tracked(
    work: Work, part: Part, positions: Iterable[int], tallies: Tallies | None = None
) -> None:
    """Tell their trees of those messages among these that no group still has to do."""
    if not part.run.tracked:
        return
    told = Tallies() if tallies is None else tallies
    for position in positions:
        owed = part.state.get(part.keys.tracked(position))
        if owed is not None and part.is_done_by_all(position):
            take_track(part, position)
            told.finished(read_track(owed))
    if tallies is None:
        told.tell(work)
