"""`fail`: a handler has raised. The message is tried again later, or is a dead letter."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from remuda.partition.machine import Rejected
from remuda.queue.care import arm_for_history
from remuda.queue.command import ByOwner, beyond, out_of_order, too_far
from remuda.queue.commands.tally import finish_tracked
from remuda.queue.layout import encode
from remuda.queue.limits import ERROR_MAX, FAILURES_MAX, wrong_number
from remuda.queue.model import PARKED, DeadLetter, Failure, Hole
from remuda.queue.part import Part
from remuda.queue.progress import Progress
from remuda.queue.trees import take_track
from remuda.queue.work import Work


class Failed(Struct, frozen=True, array_like=True):
    attempts: int
    retry_ms: int
    """When it is tried again; -1: never."""


class Fail(ByOwner, frozen=True, tag="fail"):
    """Whoever has taken later messages with its key, or in its partition if that is what waits,
    and has not begun with them, drops them: they will be there to be taken again.
    """

    position: int
    attempt: int
    """Which attempt it was, counted from 1: one that is told again counts once."""
    error: str
    jitter_permille: int = 0
    final: bool = False
    """To try again is of no use."""

    def apply(self, work: Work) -> Failed | Rejected:
        found = self.load_owned(work)
        if isinstance(found, Rejected):
            return found
        part, progress = found
        if not part.run.first <= self.position < part.run.next:
            return beyond(self.position, part)
        wrong = wrong_number("jitter_permille", self.jitter_permille, 0, 1000)
        ahead = self.position + 1 - progress.run.frontier
        wrong = wrong or (too_far(progress, ahead) if ahead > 0 else None)
        if wrong is not None:
            return wrong
        hole = progress.open(self.position)
        if hole is None:
            return Failed(self.attempt, -1)
        if hole.due_ms == PARKED:
            return out_of_order(self.position, progress)
        if self.attempt <= hole.attempts:
            return Failed(hole.attempts, hole.due_ms)
        failed = self._attempt(work, part, progress, hole)
        progress.settle()
        finish_tracked(work, part, (self.position,))
        arm_for_history(part)
        work.wake(part)
        return failed

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _attempt(self, work: Work, part: Part, progress: Progress, hole: Hole) -> Failed:
        retry = part.definition.retry_of(self.group)
        attempts = hole.attempts + 1
        failure = Failure(work.now_ms, attempts, self.error[:ERROR_MAX])
        failures = (*hole.failures, failure)[-FAILURES_MAX:]
        progress.run.failed += 1
        if self.final or (retry.max_attempts and attempts >= retry.max_attempts):
            progress.close(self.position, hole)
            if retry.dead_letters:
                self._bury(work, part, progress, failures)
            else:
                take_track(part, self.position)
                progress.run.dropped += 1
            return Failed(attempts, -1)
        due_ms = work.now_ms + retry.wait_ms(attempts, self.jitter_permille)
        new = replace(hole, due_ms=due_ms, failures=failures, attempts=attempts)
        progress.postpone(self.position, new)
        return Failed(attempts, due_ms)

    def _bury(
        self, work: Work, part: Part, progress: Progress, failures: tuple[Failure, ...]
    ) -> None:
        """What the message owes its tree, the letter owes from now on."""
        message = part.message(self.position)
        message = replace(
            message,
            track=take_track(part, self.position),
            failures=(*message.failures, *failures)[-FAILURES_MAX:],
        )
        run = progress.run
        letter = DeadLetter(self.position, work.now_ms, message)
        part.state.put(part.keys.group(self.group).dead_letter(run.dead_next), encode(letter))
        run.dead += 1
        run.dead_next += 1
        run.died += 1
