"""`discard`: dead letters go for good. If they belong to a tree, its root will come again."""

from __future__ import annotations

from remuda.queue.commands.replay import OnLetters
from remuda.queue.model import DeadLetter
from remuda.queue.part import Part
from remuda.queue.progress import Progress
from remuda.queue.work import Work


class Discard(OnLetters, frozen=True, tag="discard"):
    def treat(self, work: Work, part: Part, progress: Progress, letter: DeadLetter) -> None:
        progress.run.dropped += 1
