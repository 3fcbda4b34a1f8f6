"""Until when a driver may commit."""

from __future__ import annotations

import time


class Lease:
    """Given by the peer, a few seconds at a time; extended by one thread, asked by any."""

    def __init__(self) -> None:
        self._until = 0.0

    def extend(self, until: float) -> None:
        self._until = max(self._until, until)

    @property
    def holds(self) -> bool:
        return time.monotonic() < self._until
