"""What a user writes: a class with `start` and `stop`; and the unit that it is given."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from remuda.peer.lost import Lost

if TYPE_CHECKING:
    from remuda.service.member import Member


class Service:
    """Serve units: override `start` and `stop`, as plain or as async methods.

    Plain methods run in a thread. `stop` is called once for every unit whose `start` was called
    and did not raise. Both may be called for different units at the same time.
    """

    def start(self, unit: Unit) -> Awaitable[None] | None:
        """Begin to serve the unit, and return. What goes on and on belongs into `unit.spawn`."""

    def stop(self, unit: Unit) -> Awaitable[None] | None:
        """Cease to serve the unit; when this returns, another process may start it."""

    def on_join(self, member: Member) -> Awaitable[None] | None:
        """This process is a member of the service."""

    def on_leave(self, member: Member) -> Awaitable[None] | None:
        """This process is no member any more: it left, or its session was lost."""


class Meter:
    """Counts what a unit does: `unit.meter.mark()` for each message, request, row."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def mark(self, amount: int = 1) -> None:
        self._count += amount

    def take(self) -> int:
        """What was counted since the last time."""
        count, self._count = self._count, 0
        return count


class Unit:
    """A unit that this process owns.

    `epoch` is larger with every owner: send it along with every write, and let the store refuse a
    write with a smaller one than it has seen. `lost` is set as soon as the unit may not be served
    any more, before `stop` is called.
    """

    def __init__(self, service: str, id: str, epoch: int, on_broken: Callable[..., None]) -> None:  # noqa: A002
        self.service = service
        self.id = id
        self.epoch = epoch
        self.meter = Meter()
        self.lost = Lost()
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._on_broken = on_broken

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run this as long as the unit is ours: it is cancelled before `stop` is called. If it
        raises, the unit is stopped and started again, as if `start` had raised. A plain `start`,
        which runs in a thread, may call it too."""
        if threading.get_ident() == self._loop_thread:
            self._spawn(work)
        else:
            self._loop.call_soon_threadsafe(self._spawn, work)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)

    async def cancel_spawned(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def __repr__(self) -> str:
        return f"<unit {self.id} of {self.service}, epoch {self.epoch}>"

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_broken(self, error)
