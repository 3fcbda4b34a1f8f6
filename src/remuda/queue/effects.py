"""What happens in the world when a command is durable. Hints: a lost one is found by asking."""

from __future__ import annotations

from msgspec import Struct

from remuda.queue.model import Outcome


class Woken(Struct, frozen=True):
    """There may be something to take in a partition, or something that was taken is void."""

    queue: str
    part: int


class TreeEnded(Struct, frozen=True):
    queue: str
    part: int
    tree: int
    outcome: Outcome


class QueueDefined(Struct, frozen=True):
    """A queue is new or has changed: here is its version."""

    queue: str
    version: int
