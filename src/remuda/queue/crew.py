"""Runs a handler for the partitions of a group that this process owns: a lane for each, and one
bound for all of them on how many calls are at work at once.
"""

from __future__ import annotations

import asyncio
import inspect
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from remuda.config import Config
from remuda.errors import GiveUp
from remuda.ownership.contract import StartUnit, StopUnit, UnitStopped
from remuda.peer.worker import Tell
from remuda.queue.context import Context, message_of
from remuda.queue.handler import Handler, HandlerHooks, NotHandled
from remuda.queue.lane import Lane
from remuda.queue.model import Blocks
from remuda.queue.reports import Run
from remuda.replica.pool import UnitId
from remuda.replica.state import PeerId

_OURS = str(Path(__file__).parents[1])


class Crew:
    """A `UnitWorker`. `find` says which nodes to ask for a partition."""

    def __init__(
        self, handler: Handler, config: Config, find: Callable[[str, int], Sequence[str]]
    ) -> None:
        self.handler = handler
        self._blocks: Blocks = "partition"
        self._config = config
        self._find = find
        self._is_async = inspect.iscoroutinefunction(handler.function)
        self._threads = (
            None
            if self._is_async
            else ThreadPoolExecutor(handler.concurrency, f"{handler.queue}/{handler.group}")
        )
        self._free = handler.concurrency
        self._finishing = False
        self._lanes: dict[tuple[UnitId, int], Lane] = {}
        self._turns: deque[Lane] = deque()
        self._last: dict[UnitId, asyncio.Task[None]] = {}
        self._measured_at = time.monotonic()

    # ── the peer's wishes ────────────────────────────────────────────────────────────────────

    def start_unit(self, me: PeerId, start: StartUnit, tell: Tell) -> None:
        lane = Lane(
            self.handler.queue,
            self.handler.group,
            start,
            tell,
            blocks=self._blocks,
            batch=self.handler.size,
            prefetch=self.handler.prefetch,
            cancels=self._is_async,
            attempts=self._config.start_attempts,
            patience_s=self._config.drain_deadline_s,
            find=self._find,
            on_change=self.serve,
            hooks=self.handler.hooks or HandlerHooks(),
        )
        self._lanes[start.unit, start.epoch] = lane
        self._turns.append(lane)
        task = asyncio.get_running_loop().create_task(lane.live(self._last.get(start.unit)))
        self._last[start.unit] = task
        task.add_done_callback(lambda _: self._forget(start, lane, task))

    def stop_unit(self, stop: StopUnit, tell: Tell) -> None:
        lane = self._lanes.get((stop.unit, stop.epoch))
        if lane is None:
            tell(UnitStopped(stop.pool, stop.unit, stop.epoch))
        else:
            lane.stop()

    def loads(self, pool: str) -> dict[UnitId, int]:
        """Messages a minute since the last time."""
        now = time.monotonic()
        minutes = max(now - self._measured_at, 0.001) / 60
        self._measured_at = now
        loads: dict[UnitId, int] = {}
        for (unit, _), lane in self._lanes.items():
            loads[unit] = round(lane.handled / minutes)
            lane.handled = 0
        return loads

    def abandon(self) -> None:
        """The session is, or may be, over: others may own everything that is ours."""
        for lane in list(self._lanes.values()):
            lane.abandon()

    def finish(self) -> None:
        """Begin nothing more."""
        self._finishing = True

    def set_blocks(self, blocks: Blocks) -> None:
        """What waits for a message that has failed."""
        self._blocks = blocks
        for lane in self._lanes.values():
            lane.handling.blocks = blocks

    def look_around(self) -> None:
        for lane in self._lanes.values():
            lane.look_around()

    async def ended(self) -> None:
        """When every lane has ended, and every handler that was at work."""
        await asyncio.gather(*self._last.values(), return_exceptions=True)
        if self._threads is not None:
            self._threads.shutdown(wait=False)

    @property
    def lanes(self) -> list[Lane]:
        return list(self._lanes.values())

    # ── handlers ─────────────────────────────────────────────────────────────────────────────

    def serve(self) -> None:
        """Begin what can be begun; partitions take turns."""
        idle = 0
        while self._free and not self._finishing and idle < len(self._turns):
            lane = self._turns[0]
            self._turns.rotate(-1)
            begun = lane.handling.begin(1)
            if not begun:
                idle += 1
                continue
            idle = 0
            self._begin(lane, begun[0])

    def _begin(self, lane: Lane, run: Run) -> None:
        handler = self.handler
        messages = [message_of(handler.queue, lane.part, taken) for taken in run.taken]
        context = Context(handler.queue, handler.group, messages, epoch=lane.epoch, lost=lane.lost)
        argument = messages if handler.batch else messages[0]
        self._free -= 1
        call = asyncio.get_running_loop().create_task(self._called(argument, context))
        lane.calls.add(call)
        # Not in the call itself: one that is cancelled before its first step does nothing at all.
        call.add_done_callback(partial(self._note_end, lane, run, context))

    def _note_end(self, lane: Lane, run: Run, context: Context, call: asyncio.Task[None]) -> None:
        handling = lane.handling
        lane.calls.discard(call)
        if call.cancelled():
            if lane.lost.is_set():
                handling.gave_up(run.number)
            else:
                # Not by us: what the handler awaited was cancelled, and it did not mind.
                handling.failed(run.number, "CancelledError: the handler was cancelled")
        elif (error := call.exception()) is None:
            handling.finished(run.number, context.emitted)
        elif isinstance(error, NotHandled):
            handling.gave_up(run.number)
        else:
            handling.failed(run.number, told(error), final=isinstance(error, GiveUp))
        self._free += 1
        lane.note()
        self.serve()

    async def _called(self, argument: Any, context: Context) -> None:
        if self._is_async:
            await self.handler.function(argument, context)
            return
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._threads, self.handler.function, argument, context)
        if inspect.isawaitable(answer):
            await answer

    def _forget(self, start: StartUnit, lane: Lane, task: asyncio.Task[None]) -> None:
        """Unless the unit has been started again since, maybe under the same epoch."""
        if lane in self._turns:
            self._turns.remove(lane)
        if self._lanes.get((start.unit, start.epoch)) is lane:
            del self._lanes[start.unit, start.epoch]
        if self._last.get(start.unit) is task:
            del self._last[start.unit]


def told(error: BaseException) -> str:
    """What a handler raised, and where: the last line that is not ours."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(_OURS)]
    where = ""
    if theirs:
        where = f" ({Path(theirs[-1].filename).name}:{theirs[-1].lineno}, in {theirs[-1].name})"
    return f"{type(error).__name__}: {error}{where}"
