"""Tasks meet workers: what waits in the partitions of this node, and the polls that wait for it.

Both are in memory, in order of arrival, by TaskDef. What is here are hints: a task is a worker's
when its claim is durable, and only one claim of an attempt can be. A task whose claim comes too
late is passed over. Partitions say what waits when they are opened, so nothing needs to be kept.

Workers poll every node that they know of, and learn of a new one a while after it has come. What
waits at a node where nobody asks for it is therefore told to the others, whose polls may claim it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
from littlehorse.model.service_pb2 import ScheduledTask
from msgspec import Struct

from remuda.errors import Busy, NotServed, RemudaError
from remuda.partition.machine import Effect, Rejected
from remuda.partition.route import Route
from remuda.workflow.commands import ClaimTask, UnclaimTask, encode
from remuda.workflow.effects import TaskScheduled

log = logging.getLogger("remuda.workflow")

MACHINE = "workflow"

_BUSY_S = 0.05
_OFFER_MAX = 1_000


class Sort(NamedTuple):
    """Tasks that the same workers do."""

    tenant: str
    task_def: str


class Waiting(NamedTuple):
    """A task that waits for a worker."""

    partition: int
    run: str
    guid: str


class Claim(NamedTuple):
    """A task that is a worker's by now, in the state as well."""

    sort: Sort
    waiting: Waiting
    worker: str
    task: ScheduledTask


class Offer(Struct, frozen=True, array_like=True):
    """What waits at a node where nobody asks for it."""

    tenant: str
    task_def: str
    waiting: list[Waiting]


class Dispatch:
    """`tell` is given what the other nodes should hear."""

    def __init__(self, route: Route, tell: Callable[[bytes], None]) -> None:
        self._route = route
        self._tell = tell
        self._streams: Counter[Sort] = Counter()
        self._tasks: dict[Sort, deque[Waiting]] = {}
        self._polls: dict[Sort, deque[asyncio.Future[Waiting]]] = {}
        self._under_way: set[asyncio.Task[Any]] = set()

    # ── what partitions say ──────────────────────────────────────────────────────────────────

    def note(self, partition: int, effects: Sequence[Effect]) -> None:
        unasked: dict[Sort, list[Waiting]] = {}
        for effect in effects:
            if isinstance(effect, TaskScheduled):
                sort = Sort(effect.tenant, effect.task_def)
                waiting = Waiting(partition, effect.run, effect.guid)
                self._offer(sort, waiting)
                if not self._streams[sort]:
                    unasked.setdefault(sort, []).append(waiting)
        for sort, tasks in unasked.items():
            for first in range(0, len(tasks), _OFFER_MAX):
                some = tasks[first : first + _OFFER_MAX]
                self._tell(_encode(Offer(sort.tenant, sort.task_def, some)))

    def hear(self, note: bytes) -> None:
        """Of another node: what waits there."""
        offer = _decode(note)
        sort = Sort(offer.tenant, offer.task_def)
        if self._streams[sort]:
            for waiting in offer.waiting:
                self._offer(sort, waiting)

    def forget(self, partition: int) -> None:
        """Whoever opens it next says what waits in it."""
        for sort, tasks in list(self._tasks.items()):
            kept = deque(one for one in tasks if one.partition != partition)
            if kept:
                self._tasks[sort] = kept
            else:
                del self._tasks[sort]

    # ── what workers ask ─────────────────────────────────────────────────────────────────────

    @contextmanager
    def asking(self, sort: Sort) -> Generator[None]:
        """As long as a worker has a stream here on which it asks for these tasks."""
        self._streams[sort] += 1
        try:
            yield
        finally:
            self._streams[sort] -= 1
            if not self._streams[sort]:
                del self._streams[sort]

    async def claim(self, sort: Sort, worker: str, version: str) -> Claim | None:
        """The next task, when its claim is durable; None if nobody knows whether it is.

        If the caller is cancelled while a claim is being written, that claim is undone.
        """
        while True:
            waiting = await self._next(sort)
            claiming = self._begin(self._claimed(sort, waiting, worker, version))
            try:
                outcome = await asyncio.shield(claiming)
            except asyncio.CancelledError:
                claiming.add_done_callback(self._undo_late)
                raise
            except NotServed:
                continue
            except RemudaError as error:
                log.warning("a claim of task %s was lost: %s", waiting.guid, error)
                return None
            if outcome is not None:
                return outcome

    def undo(self, claim: Claim) -> None:
        """Its worker was gone before it was told: another one may have the attempt."""
        self._begin(self._undone(claim))

    async def settled(self) -> None:
        """When all that was begun has come to its end."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _offer(self, sort: Sort, waiting: Waiting, *, first: bool = False) -> None:
        polls = self._polls.get(sort)
        while polls:
            poll = polls.popleft()
            if not poll.done():
                poll.set_result(waiting)
                return
        tasks = self._tasks.setdefault(sort, deque())
        if first:
            tasks.appendleft(waiting)
        else:
            tasks.append(waiting)

    async def _next(self, sort: Sort) -> Waiting:
        tasks = self._tasks.get(sort)
        if tasks:
            waiting = tasks.popleft()
            if not tasks:
                del self._tasks[sort]
            return waiting
        poll: asyncio.Future[Waiting] = asyncio.get_running_loop().create_future()
        polls = self._polls.setdefault(sort, deque())
        polls.append(poll)
        try:
            return await poll
        except asyncio.CancelledError:
            if poll.done() and not poll.cancelled():
                self._offer(sort, poll.result(), first=True)
            elif poll in polls:
                polls.remove(poll)
            raise
        finally:
            if not polls and self._polls.get(sort) is polls:
                del self._polls[sort]

    async def _claimed(
        self, sort: Sort, waiting: Waiting, worker: str, version: str
    ) -> Claim | None:
        """None if the task does not wait any more."""
        command = encode(ClaimTask(sort.tenant, waiting.run, waiting.guid, worker, version))
        answer = await self._submitted(waiting.partition, command)
        if isinstance(answer, Rejected):
            return None
        return Claim(sort, waiting, worker, ScheduledTask.FromString(answer))

    async def _submitted(self, partition: int, command: bytes) -> bytes | Rejected:
        while True:
            home = self._route.here(partition)
            try:
                if home is not None:
                    return await home.submit(MACHINE, command)
                return await self._route.submit(partition, MACHINE, command, repeatable=False)
            except Busy:
                await asyncio.sleep(_BUSY_S)

    async def _undone(self, claim: Claim) -> None:
        waiting = claim.waiting
        command = UnclaimTask(
            claim.sort.tenant,
            waiting.run,
            waiting.guid,
            claim.task.attempt_number,
            claim.worker,
        )
        try:
            await self._route.submit(waiting.partition, MACHINE, encode(command))
        except RemudaError as error:
            log.warning("task %s is left to its time-out: %s", waiting.guid, error)

    def _undo_late(self, claiming: asyncio.Task[Claim | None]) -> None:
        if claiming.cancelled() or claiming.exception() is not None:
            return
        claim = claiming.result()
        if claim is not None:
            self.undo(claim)

    def _begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Offer).decode
