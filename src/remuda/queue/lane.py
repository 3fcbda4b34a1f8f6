"""One partition that this worker owns for a group: a stream to its node, and handlers at work.

The stream is opened anew when it breaks, and when the partition has another node; what is in hand
stays in hand. A lane ends when it is stopped (handlers at work come to an end, and what they did is
committed), when it is abandoned (their results would be refused), or when a node says that it is of
no use: somebody else has the partition, or the group is gone.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from typing import assert_never

from remuda.errors import CommandRejected, RemudaError
from remuda.ownership.contract import StartUnit, UnitFailed, UnitStarted, UnitStopped
from remuda.partition.machine import Rejection
from remuda.peer.backoff import Backoff
from remuda.peer.lost import Lost
from remuda.peer.worker import Tell
from remuda.queue.commands.commit import Emit
from remuda.queue.group import part_of_unit
from remuda.queue.handler import HandlerHooks
from remuda.queue.handling import Handling
from remuda.queue.model import Blocks
from remuda.queue.reports import GiveBack, Report, ReportDone, ReportFailed
from remuda.queue.taking import Taking
from remuda.queue.translation import ANY_PART
from remuda.wire.dialling import Line

log = logging.getLogger("remuda.queue")

_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.02, 1.0
_PING_MS = 5_000


class Lane:
    """`await lane.live()`. `find` says where the partition's node is now; `on_change` is called
    whenever there may be something to begin. What runs in a thread cannot be cancelled."""

    def __init__(
        self,
        queue: str,
        group: str,
        start: StartUnit,
        tell: Tell,
        *,
        blocks: Blocks,
        batch: int,
        prefetch: int,
        cancels: bool,
        attempts: int,
        patience_s: float,
        find: Callable[[str, int], Sequence[str]],
        on_change: Callable[[], None],
        hooks: HandlerHooks,
    ) -> None:
        self.queue = queue
        self.part = part_of_unit(start.unit)
        self.epoch = start.epoch
        self.handling = Handling(blocks, batch=batch)
        self.lost = Lost()
        self.handled = 0
        self.calls: set[asyncio.Task[None]] = set()
        self._group = group
        self._start = start
        self._tell = tell
        self._prefetch = prefetch
        self._cancels = cancels
        self._attempts = attempts
        self._patience_s = patience_s
        self._find = find
        self._on_change = on_change
        self._hooks = hooks
        self._stopped = asyncio.Event()
        self._changed = asyncio.Event()
        self._moved = asyncio.Event()
        self._quiet = asyncio.Event()
        self._address: Sequence[str] = ()
        self._wanted = 0
        self._refusals = 0

    # ── what happened ────────────────────────────────────────────────────────────────────────

    def stop(self) -> None:
        """When this returns, nothing more is begun."""
        self.handling.close()
        self._stopped.set()
        self.note()

    def abandon(self) -> None:
        """The partition is, or may be, somebody else's: what handlers still do is in vain."""
        self.lost.set()
        self.stop()
        if self._cancels:
            for call in self.calls:
                call.cancel()
        self._quiet.set()

    def look_around(self) -> None:
        """The cluster has changed; if the partition has another node now, that is asked."""
        found = self._find(self.queue, self.part)
        if self._address and found and list(found) != list(self._address):
            self._moved.set()

    def note(self) -> None:
        """Something is to be reported, or more can be taken."""
        self._changed.set()
        if self._stopped.is_set() and self.handling.is_idle:
            self._quiet.set()

    # ── a life ───────────────────────────────────────────────────────────────────────────────

    async def live(self, previous: asyncio.Task[None] | None) -> None:
        """Lanes of one partition follow each other, even across two lives of the peer; a handler
        that could not be cancelled is waited for by the next, though the cluster is told before."""
        if previous is not None:
            await asyncio.wait([previous])
        failure = None if self._stopped.is_set() else await self._serve()
        pool, unit, epoch = self._start.pool, self._start.unit, self._start.epoch
        if failure is None:
            self._tell(UnitStopped(pool, unit, epoch))
        else:
            self.abandon()
            self._tell(UnitFailed(pool, unit, epoch, failure))
        self._hooks.part_ended(self.part)
        await asyncio.gather(*self.calls, return_exceptions=True)

    async def _serve(self) -> str | None:
        """Until it is stopped, or of no use; answers why it is not."""
        talking = asyncio.create_task(self._talk())
        stopped = asyncio.create_task(self._stopped.wait())
        await asyncio.wait([talking, stopped], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if self._stopped.is_set() and not talking.done():
            quiet = asyncio.create_task(self._quiet.wait())
            await asyncio.wait(
                [talking, quiet], timeout=self._patience_s, return_when=asyncio.FIRST_COMPLETED
            )
            quiet.cancel()
            if not self._quiet.is_set():
                self.abandon()
        talking.cancel()
        try:
            failure = await talking
            return None if self._stopped.is_set() else failure
        except asyncio.CancelledError:
            return None
        except Exception as error:
            log.exception("partition %d of %s is given up", self.part, self.queue)
            return f"{type(error).__name__}: {error}"

    async def _talk(self) -> str:
        """Streams, one after another; answers why there can be no other. A refusal may be of a
        definition that is still on its way to the partition, so one is not enough."""
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, random.Random())
        while True:
            line = Line(self._nodes, ping_ms=_PING_MS)
            try:
                await self._stream_until_moved(line, backoff)
            except CommandRejected as error:
                self._refusals += 1
                if self._refusals == self._attempts:
                    return str(error)
            except RemudaError as error:
                log.info("partition %d of %s: %s", self.part, self.queue, error)
            finally:
                await line.close()
            self.handling.cut_off()
            await asyncio.sleep(backoff.next_s())

    async def _stream_until_moved(self, line: Line, backoff: Backoff) -> None:
        """A node that was frozen does not say that the partition is not its own any more."""
        self._moved.clear()
        moved = asyncio.create_task(self._moved.wait())
        stream = asyncio.create_task(self._stream(line, backoff))
        try:
            await asyncio.wait([stream, moved], return_when=asyncio.FIRST_COMPLETED)
        finally:
            moved.cancel()
            stream.cancel()
            outcome = (await asyncio.gather(stream, return_exceptions=True))[0]
        if isinstance(outcome, Exception):
            raise outcome

    async def _stream(self, line: Line, backoff: Backoff) -> None:
        """One stream, until it breaks."""
        self._wanted = max(self._prefetch - self.handling.held, 0)
        start = self._start
        async with Taking(
            line, self.queue, self.part, self._group, start.epoch, self._wanted
        ) as taking:
            backoff.reset()
            self._refusals = 0
            self._tell(UnitStarted(start.pool, start.unit, start.epoch))
            if taking.turn != self.handling.turn:
                self.handling.void(taking.turn)
            self._changed.set()
            tasks = [
                asyncio.create_task(self._take(taking)),
                asyncio.create_task(self._report(taking)),
            ]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            for outcome in outcomes:
                if isinstance(outcome, Exception):
                    raise outcome

    async def _take(self, taking: Taking) -> None:
        async for batch in taking:
            self._wanted -= len(batch.taken)
            self.handling.arrived(batch.turn, batch.taken)
            self._changed.set()
            self._on_change()

    async def _report(self, taking: Taking) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            while (report := self.handling.report()) is not None:
                await self._tell_node(taking, report)
                self.note()
            more = self._prefetch - self.handling.held - self._wanted
            if more * 4 >= self._prefetch and not self._stopped.is_set():
                self._wanted += more
                taking.want(more)

    async def _tell_node(self, taking: Taking, report: Report) -> None:
        try:
            match report:
                case ReportDone():
                    emits = [
                        Emit(one.by, one.queue, ANY_PART, one.message, one.tracked)
                        for one in report.emits
                    ]
                    await taking.commit(report.turn, report.positions, emits)
                    self.handled += len(report.positions)
                case ReportFailed():
                    await taking.fail(
                        report.turn,
                        report.position,
                        report.attempt,
                        report.error,
                        final=report.final,
                    )
                case GiveBack():
                    taking.release(report.positions)
                case _:
                    assert_never(report)
        except CommandRejected as error:
            is_stale = error.kind == Rejection.STALE.value
            if isinstance(report, ReportDone) and (is_stale or len(report.runs) == 1):
                self._hooks.settled(self.part, report.positions, str(error))
            if is_stale:
                # The turn is over, or the epoch: to attach again tells which.
                raise
            self.handling.refused(report, str(error))
        else:
            self.handling.told(report)
            match report:
                case ReportDone():
                    self._hooks.settled(self.part, report.positions, "")
                case ReportFailed():
                    self._hooks.settled(self.part, [report.position], "")
                case GiveBack():
                    pass

    async def _nodes(self) -> Sequence[str]:
        self._address = self._find(self.queue, self.part)
        return self._address
