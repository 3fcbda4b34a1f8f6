"""What a user writes: a function for the messages of a queue, and how it is to be called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

from remuda.errors import BadConfig
from remuda.queue.model import GroupDef, RetryDef

CONCURRENCY_MAX = 10_000
PREFETCH = 100


class NotHandled(Exception):
    """Raised by a handler that could not do its work through no fault of the message: it is given
    back, and no attempt is counted."""


class HandlerHooks:
    """What happens after a handler has returned; every method does nothing until overridden."""

    def settled(self, part: int, positions: Sequence[int], refusal: str) -> None:
        """What was handled is committed, or told to have failed; or that was refused, and why."""

    def part_ended(self, part: int) -> None:
        """The partition is not this worker's any more: what is not settled by now never is."""


class Handler(Struct, frozen=True):
    """A function that handles messages for a group. In tests, call it as that function."""

    function: Callable[..., Any]
    queue: str
    group: str
    concurrency: int = 1
    batch: int = 0
    """0: a message at a time; otherwise a list of so many at the most."""
    prefetch: int = PREFETCH
    definition: GroupDef | None = None
    """What the group must be; None: what it is, or the usual if it is not there."""
    hooks: HandlerHooks | None = None

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    @property
    def size(self) -> int:
        """How many messages a call takes at the most."""
        return max(self.batch, 1)


def handler(
    queue: str,
    *,
    group: str,
    concurrency: int = 1,
    batch: int = 0,
    prefetch: int = PREFETCH,
    start: Literal["first", "next"] | None = None,
    retry: RetryDef | None = None,
) -> Callable[[Callable[..., Any]], Handler]:
    """Make a function the handler of a queue's messages for a group.

    It is called as `handle(message, ctx)`, or with `batch=n` as `handle(messages, ctx)`, and may
    be plain (it then runs in a thread) or async. When it returns, the message is done; when it
    raises, the message is tried again later, and in the end it is a dead letter.

    Up to `concurrency` calls run at once in a process, never two for messages with one key. Each
    partition keeps up to `prefetch` messages at hand. `start` and `retry` are the group's, and
    must be the same wherever they are given.
    """
    return lambda function: consume(
        queue,
        function,
        group=group,
        concurrency=concurrency,
        batch=batch,
        prefetch=prefetch,
        start=start,
        retry=retry,
    )


def consume(
    queue: str,
    function: Callable[..., Any],
    *,
    group: str,
    concurrency: int = 1,
    batch: int = 0,
    prefetch: int = PREFETCH,
    start: Literal["first", "next"] | None = None,
    retry: RetryDef | None = None,
) -> Handler:
    """`handler`, for a function that is there already."""
    _expect(queue, "concurrency", concurrency, 1)
    _expect(queue, "batch", batch, 0)
    _expect(queue, "prefetch", prefetch, 1)
    definition = None
    if start is not None or retry is not None:
        definition = GroupDef(start or "first", retry)
    return Handler(function, queue, group, concurrency, batch, prefetch, definition)


def _expect(queue: str, what: str, value: int, least: int) -> None:
    if not least <= value <= CONCURRENCY_MAX:
        raise BadConfig(
            f"a handler of {queue} cannot have a {what} of {value}: it is from {least} to "
            f"{CONCURRENCY_MAX}"
        )
