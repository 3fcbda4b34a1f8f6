"""Who is told what happens to workflows in the partitions of this node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from remuda.partition.machine import Effect
from remuda.workflow.effects import DefinitionChanged, EventThrown


class Announcements:
    def __init__(self) -> None:
        self._thrown: dict[tuple[str, str], list[asyncio.Event]] = {}
        self._defined: list[Callable[[DefinitionChanged], None]] = []

    def note(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, EventThrown):
                for heard in self._thrown.get((effect.tenant, effect.run), ()):
                    heard.set()
            elif isinstance(effect, DefinitionChanged):
                for tell in self._defined:
                    tell(effect)

    def on_defined(self, tell: Callable[[DefinitionChanged], None]) -> None:
        self._defined.append(tell)

    @contextmanager
    def thrown(self, tenant: str, run: str) -> Generator[asyncio.Event]:
        """Set whenever the run throws an event."""
        heard = asyncio.Event()
        listeners = self._thrown.setdefault((tenant, run), [])
        listeners.append(heard)
        try:
            yield heard
        finally:
            listeners.remove(heard)
            if not listeners:
                del self._thrown[tenant, run]
