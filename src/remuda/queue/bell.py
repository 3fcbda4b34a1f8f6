"""Who is to be woken when something has happened to a queue in a partition of this node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from remuda.partition.machine import Effect
from remuda.queue.effects import QueueDefined, TreeEnded, Woken


class Bell:
    def __init__(self) -> None:
        self._takers: dict[tuple[str, int], list[Callable[[], None]]] = {}
        self._trees: dict[tuple[str, int, int], list[asyncio.Event]] = {}
        self._defined: list[Callable[[str, int], None]] = []

    def ring(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Woken):
                for wake in self._takers.get((effect.queue, effect.part), ()):
                    wake()
            elif isinstance(effect, TreeEnded):
                for ended in self._trees.get((effect.queue, effect.part, effect.tree), ()):
                    ended.set()
            elif isinstance(effect, QueueDefined):
                for note in self._defined:
                    note(effect.queue, effect.version)

    def on_defined(self, note: Callable[[str, int], None]) -> None:
        self._defined.append(note)

    @contextmanager
    def waking(self, queue: str, part: int, wake: Callable[[], None]) -> Generator[None]:
        """Have `wake` called whenever there may be something to take."""
        listeners = self._takers.setdefault((queue, part), [])
        listeners.append(wake)
        try:
            yield
        finally:
            listeners.remove(wake)
            if not listeners:
                del self._takers[queue, part]

    @contextmanager
    def tree(self, queue: str, part: int, tree: int) -> Generator[asyncio.Event]:
        """Set when the tree ends."""
        ended = asyncio.Event()
        listeners = self._trees.setdefault((queue, part, tree), [])
        listeners.append(ended)
        try:
            yield ended
        finally:
            listeners.remove(ended)
            if not listeners:
                del self._trees[queue, part, tree]
