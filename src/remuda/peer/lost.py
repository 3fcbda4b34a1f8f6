"""How code that serves a unit learns that it may not any more, in a task or in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from typing import Any


class Lost:
    """Set when the unit is not ours any more: `await unit.lost`, or in a thread, `lost.wait()`."""

    def __init__(self) -> None:
        self._thread = threading.Event()
        self._task = asyncio.Event()

    def is_set(self) -> bool:
        return self._thread.is_set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """For plain code in a thread; True if the unit is lost."""
        return self._thread.wait(timeout_s)

    def __await__(self) -> Generator[Any, None, bool]:
        return self._task.wait().__await__()

    def set(self) -> None:
        self._thread.set()
        self._task.set()
