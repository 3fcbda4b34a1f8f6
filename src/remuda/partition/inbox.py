"""What waits in a partition: for its turn, and then for its round to be durable."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from remuda.errors import Busy, RemudaError
from remuda.partition.machine import Effect, View


class Limits(Struct, frozen=True):
    """Past the first two, callers are turned away with `Busy`."""

    waiting_max: int = 4096
    """Commands that are not answered yet."""
    waiting_bytes_max: int = 64 << 20
    history_keep: int = 100_000
    """So many of the last commands are kept, and up to a quarter more."""


class Waiting:
    """A command or a look at the state, and whoever waits for the answer, if anybody does."""

    __slots__ = ("answer", "body", "kind", "look", "outcome")

    def __init__(
        self,
        kind: bytes,
        body: bytes,
        answer: asyncio.Future[Any] | None = None,
        look: Callable[[View], Any] | None = None,
    ) -> None:
        self.kind = kind
        self.body = body
        self.answer = answer
        self.look = look
        self.outcome: Any = None

    def take_look(self, look: Callable[[View], Any], view: View) -> None:
        """A reader's exception is its own: nothing was changed."""
        try:
            self.outcome = look(view)
        except Exception as error:
            self.outcome = error


class Round:
    """What is written at once, and what is to happen then."""

    def __init__(self) -> None:
        self.commands: list[bytes] = []
        self.waiting: list[Waiting] = []
        self.effects: list[tuple[str, Sequence[Effect]]] = []
        self.sent_to: set[int] = set()


class Inbox:
    """Bounded by all that is not answered yet, wherever it is."""

    def __init__(self, partition: int, limits: Limits) -> None:
        self._partition = partition
        self._limits = limits
        self._queue: deque[Waiting] = deque()
        self._count = 0
        self._bytes = 0

    def __len__(self) -> int:
        """Those that have not had their turn."""
        return len(self._queue)

    def refuse_if_full(self, size: int) -> None:
        limits = self._limits
        if self._count >= limits.waiting_max or self._bytes + size > limits.waiting_bytes_max:
            raise Busy(
                f"partition {self._partition} has {self._count} commands waiting "
                f"({self._bytes >> 20} MiB): try again a little later"
            )

    def add(self, waiting: Waiting) -> None:
        """Whatever the bounds: what a partition asks of itself is few."""
        self._note(waiting)
        self._queue.append(waiting)

    def add_first(self, waiting: Waiting) -> None:
        self._note(waiting)
        self._queue.appendleft(waiting)

    def take(self) -> Waiting:
        return self._queue.popleft()

    def take_all(self) -> list[Waiting]:
        taken = list(self._queue)
        self._queue.clear()
        return taken

    def answer(self, done: Iterable[Waiting]) -> None:
        for waiting in done:
            self._forget(waiting)
            answer, outcome = waiting.answer, waiting.outcome
            if answer is not None and not answer.done():
                if isinstance(outcome, Exception):
                    answer.set_exception(outcome)
                else:
                    answer.set_result(outcome)

    def fail(self, failed: Iterable[Waiting], reason: RemudaError) -> None:
        """Each by an error of its own."""
        for waiting in failed:
            self._forget(waiting)
            if waiting.answer is not None and not waiting.answer.done():
                waiting.answer.set_exception(type(reason)(str(reason)))

    def _note(self, waiting: Waiting) -> None:
        self._count += 1
        self._bytes += len(waiting.body)

    def _forget(self, waiting: Waiting) -> None:
        self._count -= 1
        self._bytes -= len(waiting.body)
