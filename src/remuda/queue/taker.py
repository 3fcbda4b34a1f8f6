"""Handing out a partition's messages to the worker that owns it for a group; at its owner.

What was handed out is known here and nowhere else: it is forgotten with the stream. Nothing is
looked for on a timer: something has happened, there is new credit, or a retry's time has come.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from remuda.clock import Clock, SystemClock
from remuda.errors import CommandRejected, NotServed
from remuda.partition.machine import Rejected, Rejection
from remuda.partition.runtime import Partition
from remuda.queue.bell import Bell
from remuda.queue.command import Command, encode_command
from remuda.queue.commands.commit import Commit, Committed, Emit
from remuda.queue.commands.fail import Fail, Failed
from remuda.queue.errands import MACHINE
from remuda.queue.takeable import Takeable, takeable
from remuda.wire.settings import BATCH_BYTES

CREDIT_MAX = 10_000
_AT_ONCE_MAX = 512

T = TypeVar("T")
Push: TypeAlias = Callable[[Takeable], None]


class Taker:
    """`run` hands out until it is cancelled, or raises why it cannot go on."""

    def __init__(
        self,
        partition: Partition,
        bell: Bell,
        queue: str,
        part: int,
        group: str,
        epoch: int,
        *,
        turn: int,
        credit: int,
        held: Iterable[int],
        push: Push,
        clock: Clock | None = None,
    ) -> None:
        self._partition = partition
        self._bell = bell
        self._queue = queue
        self._part = part
        self._group = group
        self._epoch = epoch
        self._turn = turn
        self._credit = 0
        self._held = set(held)
        self._after = -1
        self._push = push
        self._clock = clock or SystemClock()
        self._woken = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._told_end = False
        self._body_bytes = 1
        self.grant(credit)

    async def run(self) -> None:
        ended = asyncio.create_task(self._partition.ended())
        taking = asyncio.create_task(self._hand_out())
        try:
            await asyncio.wait([ended, taking], return_when=asyncio.FIRST_COMPLETED)
            if taking.done():
                await taking
            raise NotServed(str(await ended))
        finally:
            taking.cancel()
            ended.cancel()
            if self._alarm is not None:
                self._alarm.cancel()

    def grant(self, more: int) -> None:
        if more < 0 or self._credit + more > CREDIT_MAX:
            raise CommandRejected(
                f"a credit of {more} more is given: it must be 0 or more, and {CREDIT_MAX} in all",
                Rejection.INVALID.value,
            )
        self._credit += more
        self._woken.set()

    def release(self, positions: Iterable[int]) -> None:
        self._held.difference_update(positions)
        self._look_again()

    async def commit(
        self, turn: int, done: Sequence[tuple[int, int]], emits: Sequence[Emit]
    ) -> Committed:
        command = Commit(
            self._queue, self._part, 0, self._group, self._epoch, turn, tuple(done), tuple(emits)
        )
        committed = await self._submit(command, Committed)
        for start, end in done:
            self._held.difference_update(range(start, end))
        if committed.freed:
            self._look_again()
        if committed.ended:
            self._woken.set()
        return committed

    async def fail(
        self, turn: int, position: int, attempt: int, error: str, *, final: bool
    ) -> Failed:
        command = Fail(
            self._queue,
            self._part,
            0,
            self._group,
            self._epoch,
            turn,
            position,
            attempt,
            error,
            random.randint(0, 1000),
            final,
        )
        failed = await self._submit(command, Failed)
        self._held.discard(position)
        self._look_again()
        return failed

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _hand_out(self) -> None:
        with self._bell.waking(self._queue, self._part, self._woken.set):
            while True:
                await self._woken.wait()
                self._woken.clear()
                if self._credit:
                    await self._take()

    async def _take(self) -> None:
        limit = min(self._credit, _AT_ONCE_MAX, max(1, BATCH_BYTES // self._body_bytes))
        after = self._after if self._held else -1
        found = await self._partition.read(
            lambda view: takeable(
                view,
                self._queue,
                self._part,
                self._group,
                now_ms=self._clock.wall_ms(),
                limit=limit,
                held=self._held,
                after=after,
            )
        )
        if found is None:
            raise CommandRejected(
                f"queue {self._queue} has no group {self._group} any more",
                Rejection.NOT_FOUND.value,
            )
        self._note(found, limit)

    def _note(self, found: Takeable, limit: int) -> None:
        is_news = found.turn != self._turn
        if is_news:
            self._turn = found.turn
            self._held.clear()
            self._look_again()
        if found.taken and is_news:
            # It was looked for past what is void now.
            found = Takeable((), found.turn, found.wake_ms, found.ended)
        if found.taken:
            self._told_end = False
            self._hold(found)
            if len(found.taken) == limit:
                self._woken.set()
        if found.taken or is_news or (found.ended and not self._told_end):
            self._told_end = found.ended
            self._push(found)
        self._set_alarm(found.wake_ms)

    def _hold(self, found: Takeable) -> None:
        positions = [taken.position for taken in found.taken]
        self._held.update(positions)
        self._after = max(self._after, positions[-1])
        self._credit -= len(positions)
        size = sum(len(taken.message.body) for taken in found.taken)
        self._body_bytes = max(1, size // len(positions))

    def _look_again(self) -> None:
        self._after = -1
        self._woken.set()

    def _set_alarm(self, wake_ms: int) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if wake_ms >= 0:
            wait_s = max(0.0, (wake_ms - self._clock.wall_ms()) / 1000)
            self._alarm = asyncio.get_running_loop().call_later(wait_s, self._look_again)

    async def _submit(self, command: Command, answer: type[T]) -> T:
        outcome = await self._partition.submit(MACHINE, encode_command(command))
        if isinstance(outcome, Rejected):
            raise CommandRejected(outcome.reason, outcome.kind.value)
        return msgspec.msgpack.decode(outcome, type=answer)
