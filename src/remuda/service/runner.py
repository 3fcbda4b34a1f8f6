"""Runs a service's callbacks: one run for each time that a unit is given to this process.

A run starts the unit, trying again with backoff when that fails; it restarts the unit when what
it spawned breaks; and it stops the unit when it is told to. Runs of one unit follow each other:
the next begins when the last has ended, even across two lives of the peer.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import Callable
from typing import Any

from remuda.ownership.contract import StartUnit, StopUnit, UnitFailed, UnitStarted, UnitStopped
from remuda.peer.backoff import Backoff
from remuda.peer.worker import Tell
from remuda.replica.pool import UnitId
from remuda.replica.state import PeerId
from remuda.service.api import Service, Unit

# A unit that has run for so long has proven itself: its next failure is the first again.
_PROVEN_S = 60.0

OnError = Callable[[Unit, str, BaseException], None]


class ServiceRunner:
    """A `UnitWorker` for one service."""

    def __init__(self, service: Service, attempts: int, on_error: OnError) -> None:
        self._service = service
        self._attempts = attempts
        self._on_error = on_error
        self._runs: dict[tuple[UnitId, int], _Run] = {}
        self._last: dict[UnitId, asyncio.Task[None]] = {}
        self._measured_at = time.monotonic()

    def start_unit(self, me: PeerId, start: StartUnit, tell: Tell) -> None:
        run = _Run(self._service, start, tell, self._attempts, self._on_error)
        self._runs[start.unit, start.epoch] = run
        task = asyncio.get_running_loop().create_task(run.live(self._last.get(start.unit)))
        self._last[start.unit] = task
        task.add_done_callback(lambda _: self._forget(start, run, task))

    def stop_unit(self, stop: StopUnit, tell: Tell) -> None:
        run = self._runs.get((stop.unit, stop.epoch))
        if run is None:
            tell(UnitStopped(stop.pool, stop.unit, stop.epoch))
        else:
            run.stop()

    def loads(self, pool: str) -> dict[UnitId, int]:
        """A minute's worth of what each meter counted since the last time."""
        now = time.monotonic()
        minutes = max(now - self._measured_at, 0.001) / 60
        self._measured_at = now
        return {
            unit: round(run.unit.meter.take() / minutes) for (unit, _), run in self._runs.items()
        }

    @property
    def units(self) -> list[Unit]:
        """Those that are being served, by id."""
        running = [run.unit for run in self._runs.values() if run.serves]
        return sorted(running, key=lambda unit: unit.id)

    async def ended(self) -> None:
        """When every run has ended."""
        await asyncio.gather(*self._last.values(), return_exceptions=True)

    def _forget(self, start: StartUnit, run: _Run, task: asyncio.Task[None]) -> None:
        """Unless the unit has been started again since, maybe under the same epoch."""
        if self._runs.get((start.unit, start.epoch)) is run:
            del self._runs[start.unit, start.epoch]
        if self._last.get(start.unit) is task:
            del self._last[start.unit]


class _Run:
    def __init__(
        self, service: Service, start: StartUnit, tell: Tell, attempts: int, on_error: OnError
    ) -> None:
        self.unit = Unit(start.pool, start.unit, start.epoch, self._broke)
        self.serves = False
        self._service = service
        self._tell = tell
        self._attempts = attempts
        self._on_error = on_error
        self._broken = asyncio.Event()

    def stop(self) -> None:
        self.unit.lost.set()

    async def live(self, previous: asyncio.Task[None] | None) -> None:
        unit = self.unit
        if previous is not None:
            await asyncio.wait([previous])
        backoff = Backoff(0.2, 10.0, random.Random())
        failures, reason = 0, ""
        while not unit.lost.is_set() and failures < self._attempts:
            if failures:
                await _first(unit.lost, asyncio.sleep(backoff.next_s()))
                if unit.lost.is_set():
                    break
            began = time.monotonic()
            error = await self._serve()
            if error is None:
                break
            reason = f"{type(error).__name__}: {error}"
            if time.monotonic() - began > _PROVEN_S:
                failures = 0
                backoff.reset()
            failures += 1
        if failures >= self._attempts and not unit.lost.is_set():
            self._tell(UnitFailed(unit.service, unit.id, unit.epoch, reason))
        else:
            self._tell(UnitStopped(unit.service, unit.id, unit.epoch))

    async def _serve(self) -> BaseException | None:
        """Start, serve until the unit is lost or breaks, stop; what broke it, if anything did."""
        self._broken.clear()
        self._error: BaseException | None = None
        starting = asyncio.ensure_future(called(self._service.start, self.unit))
        await _first(self.unit.lost, starting)
        if not starting.done() and inspect.iscoroutinefunction(self._service.start):
            # A thread cannot be cancelled: a plain `start` is waited for.
            starting.cancel()
        try:
            await starting
        except asyncio.CancelledError as error:
            if not self.unit.lost.is_set():
                # Not by us: what `start` awaited was cancelled, and it did not mind.
                self._on_error(self.unit, "start", error)
                await self.unit.cancel_spawned()
                return error
        except Exception as error:
            self._on_error(self.unit, "start", error)
            await self.unit.cancel_spawned()
            return error
        else:
            if not self.unit.lost.is_set():
                self.serves = True
                self._tell(UnitStarted(self.unit.service, self.unit.id, self.unit.epoch))
                await _first(self.unit.lost, self._broken.wait())
        self.serves = False
        await self.unit.cancel_spawned()
        try:
            await called(self._service.stop, self.unit)
        except Exception as error:
            self._on_error(self.unit, "stop", error)
        return None if self.unit.lost.is_set() else self._error

    def _broke(self, unit: Unit, error: BaseException) -> None:
        self._on_error(unit, "run", error)
        self._error = error
        self._broken.set()


async def called(callback: Callable[..., Any], *arguments: Any) -> None:
    """An async callback in the loop, a plain one in a thread."""
    if inspect.iscoroutinefunction(callback):
        await callback(*arguments)
        return
    answer = await asyncio.to_thread(callback, *arguments)
    if inspect.isawaitable(answer):
        await answer


async def _first(lost: Any, other: Any) -> None:
    """Wait for either; what is not a future of the caller's is cancelled."""
    waiting = asyncio.ensure_future(_awaited(lost))
    second = asyncio.ensure_future(other)
    await asyncio.wait([waiting, second], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if second is not other:
        second.cancel()


async def _awaited(lost: Any) -> None:
    await lost
