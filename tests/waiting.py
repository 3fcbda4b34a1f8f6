"""Waiting for a condition with a generous deadline: the only way that tests wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

DEADLINE_S = 60.0


def wait_until(true: Callable[[], T | None], what: str, deadline_s: float = DEADLINE_S) -> T:
    """The first true answer."""
    started = time.monotonic()
    while not (answer := true()):
        if time.monotonic() - started > deadline_s:
            raise AssertionError(f"waited {deadline_s:g} s in vain until {what}")
        time.sleep(0.02)
    return answer


async def eventually(
    true: Callable[[], Awaitable[T | None]], what: str, deadline_s: float = DEADLINE_S
) -> T:
    started = time.monotonic()
    while not (answer := await true()):
        if time.monotonic() - started > deadline_s:
            raise AssertionError(f"waited {deadline_s:g} s in vain until {what}")
        await asyncio.sleep(0.02)
    return answer
