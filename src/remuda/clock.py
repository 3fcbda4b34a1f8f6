"""Time, as a thing that is passed in: the simulator has one of its own."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds that only ever go forward; their zero means nothing."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since 1970: for people to read, and for timers that outlive a process.
        Nothing about who owns what is decided by it."""
        ...


class SystemClock:
    def now(self) -> float:
        return time.monotonic()

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000
