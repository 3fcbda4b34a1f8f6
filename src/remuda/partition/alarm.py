"""When a partition has to look at its timers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

# The clock may be set: a timer that is far away is looked at again after this time.
_LOOK_AGAIN_S = 60.0


class Alarm:
    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._due_ms: int | None = None
        self._handle: asyncio.TimerHandle | None = None

    def set(self, due_ms: int | None, now_ms: int) -> None:
        """For the next timer that is due, or none."""
        self.off()
        self._due_ms = due_ms
        if due_ms is not None:
            away_s = max(due_ms - now_ms, 0) / 1000
            self._handle = self._loop.call_later(min(away_s, _LOOK_AGAIN_S), self._rang)

    def off(self) -> None:
        self._due_ms = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def is_due(self, now_ms: int) -> bool:
        return self._due_ms is not None and self._due_ms <= now_ms

    @property
    def has_rung(self) -> bool:
        """And is to be set again."""
        return self._handle is None and self._due_ms is not None

    def _rang(self) -> None:
        self._handle = None
        self._ring()
