"""Tests that are coroutines."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

Fixtures = ParamSpec("Fixtures")


def staged(play: Callable[Fixtures, Coroutine[Any, Any, None]]) -> Callable[Fixtures, None]:
    """Run it in an event loop of its own; fixtures are passed on."""

    @functools.wraps(play)
    def test(*arguments: Fixtures.args, **fixtures: Fixtures.kwargs) -> None:
        asyncio.run(play(*arguments, **fixtures))

    return test
