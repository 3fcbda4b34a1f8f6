"""A handler's work on messages, and what is reported of it to their partition."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from remuda.queue.model import NewMessage
from remuda.queue.takeable import Taken

EMITS_MAX = 1_000
EMITTED_BYTES_MAX = 1024 * 1024
COMMITTED_MAX = 10_000


class Emitted(Struct, frozen=True):
    """What a handler has made of the message at `by`."""

    by: int
    queue: str
    message: NewMessage
    tracked: bool = True


class Run(Struct, frozen=True):
    """A handler's work: one message, or as many as it takes at once, in order of position."""

    number: int
    turn: int
    taken: tuple[Taken, ...]


class Done(Struct, frozen=True):
    positions: tuple[int, ...]
    emits: tuple[Emitted, ...] = ()


class ReportDone(Struct, frozen=True):
    turn: int
    runs: tuple[Done, ...]

    @property
    def positions(self) -> list[int]:
        return [position for run in self.runs for position in run.positions]

    @property
    def emits(self) -> list[Emitted]:
        return [emit for run in self.runs for emit in run.emits]


class ReportFailed(Struct, frozen=True):
    turn: int
    position: int
    attempt: int
    error: str
    final: bool = False


class GiveBack(Struct, frozen=True):
    """These were not begun, and can be taken again."""

    positions: tuple[int, ...]


Report: TypeAlias = ReportDone | ReportFailed | GiveBack
