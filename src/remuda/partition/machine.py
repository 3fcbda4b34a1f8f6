"""What a machine is: the contract between a partition and what is folded in it.

A machine is a pure function of the state and its arguments. It knows no clock, no chance and no
world: time is in the stamp, and ids and choices are in the command, put there by its proposer.

- Every key that it writes begins with its own `prefix`; `keys` builds them so that the order of
  keys is the order that is wanted.
- A command that it rejects changes nothing: what was written before the rejection is taken back.
- An exception is a bug and stops the partition; a bad command is a `Rejected`.
- What it remembers outside of the state may only be derived from bytes that it was given, such
  as a decoded value kept by the bytes it was decoded from: that can never be stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Protocol, TypeAlias

from msgspec import Struct

Effect: TypeAlias = object
"""Data for whoever handles a machine's effects; the partition does not look at it."""


class Stamp(Struct, frozen=True):
    """Where a command stands in its partition, and when, by the clock of the owner.

    `at_ms` never goes back within a partition, whatever the clock does.
    """

    partition: int
    position: int
    at_ms: int
    epoch: int


# ── outcomes ─────────────────────────────────────────────────────────────────────────────────


class Applied(Struct, frozen=True):
    """The answer to the caller, and what is to happen in the world once this is durable."""

    answer: bytes = b""
    effects: Sequence[Effect] = ()


class Rejection(Enum):
    """Why, as far as a program can use it; each has one gRPC code."""

    INVALID = "invalid"
    NOT_FOUND = "not found"
    EXISTS = "exists"
    PRECONDITION = "precondition"
    STALE = "stale"
    OUT_OF_RANGE = "out of range"
    EXHAUSTED = "exhausted"


class Rejected(Struct, frozen=True):
    """Nothing was changed. The reason is one line for the caller: what, and what to do."""

    reason: str
    kind: Rejection = Rejection.PRECONDITION


Outcome: TypeAlias = Applied | Rejected


# ── the state ────────────────────────────────────────────────────────────────────────────────


class View(Protocol):
    """The state, to be read. Not to be kept after the call that it was given to."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """What is at `start` and on, before `end`, in order of keys; backwards on request.

        It reads as it goes: what is written or deleted ahead of it while it runs, it sees.
        Deleted keys cost time until the store has cleaned up behind them, so a scan that looks
        for the first of many should start where the last one was, not where all begin.
        """
        ...


class State(View, Protocol):
    """The state as a machine changes it: what it writes, it reads."""

    def put(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None:
        """Nothing happens if there is none."""
        ...

    def set_timer(self, at_ms: int, key: bytes, payload: bytes = b"") -> None:
        """Have `fire` called at the first tick from `at_ms` on.

        A timer of the same key is replaced. Keys of timers are the machine's own and need no
        prefix. A time that is past is due at once.
        """
        ...

    def clear_timer(self, key: bytes) -> None:
        """Nothing happens if there is none, or it has fired."""
        ...

    def send(self, partition: int, command: bytes) -> None:
        """Apply a command by the same machine in another partition, or this one, some time later.

        Exactly once, and in the order of sending for each pair of partitions. It is in the state
        until the receiver has it, so it survives whatever the command that sent it survives. The
        sender learns no answer; a rejection there is final.
        """
        ...


class Machine(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def prefix(self) -> bytes:
        """One printable byte, of no other machine: its keys begin with it. Never changes."""
        ...

    def apply(self, state: State, command: bytes, stamp: Stamp) -> Outcome:
        """Fold one command; decoding it is part of that."""
        ...

    def fire(self, state: State, key: bytes, payload: bytes, stamp: Stamp) -> Applied:
        """A timer is due. It is gone from the state already; the answer goes to nobody."""
        ...

    def opened(self, view: View) -> Iterable[Effect]:
        """The effects that the state as it stands calls for; asked when an owner opens it."""
        ...
