"""`replay`: dead letters go back to the end of their partition, with their history, for the group
that they came from.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.command import OnGroup
from remuda.queue.layout import read_dead_letter
from remuda.queue.limits import BATCH_MAX, wrong_number
from remuda.queue.model import DeadLetter
from remuda.queue.part import Part
from remuda.queue.progress import Progress
from remuda.queue.work import Work


class Replayed(Struct, frozen=True, array_like=True):
    letters: int
    left: int


class OnLetters(OnGroup, frozen=True):
    numbers: tuple[int, ...] | None = None
    """None: the oldest, `most` at once."""
    most: int = 100

    def apply(self, work: Work) -> Replayed | Rejected:
        found = self.load_group(work)
        if isinstance(found, Rejected):
            return found
        part, progress = found
        count = self.most if self.numbers is None else len(self.numbers)
        wrong = wrong_number("the number of letters", count, 1, BATCH_MAX)
        if wrong is not None:
            return wrong
        letters = self._letters(part, progress)
        if isinstance(letters, Rejected):
            return letters
        for key, letter in letters.items():
            part.state.delete(key)
            progress.run.dead -= 1
            self.treat(work, part, progress, letter)
        return Replayed(len(letters), progress.run.dead)

    def treat(self, work: Work, part: Part, progress: Progress, letter: DeadLetter) -> None:
        raise NotImplementedError

    def _letters(self, part: Part, progress: Progress) -> dict[bytes, DeadLetter] | Rejected:
        keys = part.keys.group(self.group)
        if self.numbers is None:
            end = keys.dead_letter(progress.run.dead_next)
            found = part.state.scan(keys.dead_letters, end, limit=self.most)
            return {key: read_dead_letter(value) for key, value in found}
        letters: dict[bytes, DeadLetter] = {}
        for number in self.numbers:
            key = keys.dead_letter(number) if 0 <= number < progress.run.dead_next else b""
            data = part.state.get(key) if key else None
            if data is None:
                return Rejected(
                    f"group {self.group} has no dead letter {number} in partition {self.part} of "
                    f"{self.queue}: look at the list",
                    Rejection.NOT_FOUND,
                )
            letters[key] = read_dead_letter(data)
        return letters


class Replay(OnLetters, frozen=True, tag="replay"):
    """It does not expire any more: who sends it back wants it handled."""

    def treat(self, work: Work, part: Part, progress: Progress, letter: DeadLetter) -> None:
        message = replace(letter.message, sent_ms=work.now_ms, expires_ms=0, only=self.group)
        part.append(message)
        progress.run.replayed += 1
        work.wake(part)
