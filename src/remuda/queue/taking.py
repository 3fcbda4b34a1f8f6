"""Taking messages of one partition for a group, as the worker that owns it.

    async with queues.take("orders", 3, "billing", epoch) as taking:
        async for batch in taking:
            …
            await taking.commit(batch.turn, positions)
            taking.want(len(positions))

The stream is opened anew when it breaks, with what is in the worker's hands and what was not
answered yet, so a worker notices nothing but a pause. It is over when the partition is owned under
a later epoch, or the queue or group is gone: then the iteration, and all that waits, raises
`CommandRejected`.
"""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Self

import grpc
import grpc.aio

from remuda.errors import Busy, NotServed, RemudaError
from remuda.peer.backoff import Backoff
from remuda.queue.commands.attach import Attached
from remuda.queue.commands.commit import Committed, Emit, ranges_of
from remuda.queue.commands.fail import Failed
from remuda.queue.takeable import Takeable
from remuda.queue.translation import batch_from_wire, emit_to_wire, ranges_to_wire
from remuda.v1 import queues_pb2 as pb
from remuda.v1.queues_pb2_grpc import QueuesStub
from remuda.wire.dialling import Line
from remuda.wire.status import error_of, error_of_call, nothing_happened

_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.05, 1.0
_CHANCE = random.Random()


class Taking:
    def __init__(
        self, line: Line, queue: str, part: int, group: str, epoch: int, credit: int
    ) -> None:
        self._line = line
        self._open = pb.Open(queue=queue, part=part, group=group, epoch=epoch)
        self._credit = credit
        self._held: set[int] = set()
        self._turn = -1
        self._ids = itertools.count(1)
        self._unanswered: dict[int, tuple[pb.TakeRequest, asyncio.Future[Any]]] = {}
        self._come: deque[Takeable] = deque()
        self._news = asyncio.Event()
        self._outgoing: asyncio.Queue[pb.TakeRequest] = asyncio.Queue()
        self._attached: asyncio.Future[Attached] | None = None
        self._running: asyncio.Task[None] | None = None
        self._over: RemudaError | None = None

    async def __aenter__(self) -> Self:
        """Returns when this worker is attached; raises if it cannot be."""
        self._attached = asyncio.get_running_loop().create_future()
        self._running = asyncio.create_task(self._run())
        try:
            await self._attached
        except BaseException:
            self._running.cancel()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """What was not answered yet may have happened or not."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        self._end(NotServed("this worker has stopped taking"))

    async def __aiter__(self) -> AsyncIterator[Takeable]:
        """Batches, as there is something to take and credit for it.

        A batch with another turn than before says that all that was taken under the old one is
        void. One without messages says that, or that the end is reached (`ended`).
        """
        while True:
            while self._come:
                yield self._next()
            if self._over is not None:
                raise self._over
            self._news.clear()
            await self._news.wait()

    @property
    def turn(self) -> int:
        return self._turn

    def want(self, more: int) -> None:
        """So many messages more may come."""
        self._credit += more
        self._say(pb.TakeRequest(credit=pb.Credit(more=more)))

    def release(self, positions: Iterable[int]) -> None:
        """These were taken, will not be handled, and may come again."""
        positions = list(positions)
        self._held.difference_update(positions)
        self._say(pb.TakeRequest(release=pb.Release(positions=positions)))

    async def commit(
        self, turn: int, positions: Iterable[int], emits: Sequence[Emit] = ()
    ) -> Committed:
        """These are done, and what their handlers made is on its way; durable when it returns.

        An `Emit` whose part is `ANY_PART` goes where the node finds it belongs.
        """
        number = next(self._ids)
        done = list(positions)
        commit = pb.Commit(
            id=number,
            turn=turn,
            done=ranges_to_wire(ranges_of(done)),
            emits=[emit_to_wire(emit) for emit in emits],
        )
        answer = await self._ask(number, pb.TakeRequest(commit=commit))
        self._held.difference_update(done)
        return answer

    async def fail(
        self, turn: int, position: int, attempt: int, error: str, *, final: bool = False
    ) -> Failed:
        """Its handler has raised. It comes again when its time has come, or is a dead letter."""
        number = next(self._ids)
        fail = pb.Fail(
            id=number, turn=turn, position=position, attempt=attempt, error=error, final=final
        )
        answer = await self._ask(number, pb.TakeRequest(fail=fail))
        self._held.discard(position)
        return answer

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _next(self) -> Takeable:
        """All that has come meanwhile, as one: a slow worker has few batches, not many small."""
        first = self._come.popleft()
        taken = list(first.taken)
        last = first
        while self._come and self._come[0].turn == first.turn:
            last = self._come.popleft()
            taken += last.taken
        taken.sort(key=lambda one: one.position)
        return Takeable(tuple(taken), first.turn, ended=last.ended)

    def _say(self, request: pb.TakeRequest) -> None:
        self._outgoing.put_nowait(request)

    async def _ask(self, number: int, request: pb.TakeRequest) -> Any:
        if self._over is not None:
            raise self._over
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, _CHANCE)
        while True:
            answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self._unanswered[number] = (request, answer)
            self._say(request)
            try:
                return await answer
            except Busy:
                await asyncio.sleep(backoff.next_s())
            finally:
                self._unanswered.pop(number, None)

    async def _run(self) -> None:
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, _CHANCE)
        deadline = time.monotonic() + self._line.timeout_s
        while True:
            try:
                channel = await self._line.channel()
                await self._converse(channel, backoff)
            except grpc.aio.AioRpcError as error:
                why = error_of_call(error)
                if not nothing_happened(error):
                    self._line.hang_up(channel)
            except NotServed as error:
                why = error
            is_new = self._attached is not None and not self._attached.done()
            if not isinstance(why, NotServed) or (is_new and time.monotonic() > deadline):
                self._end(why)
                return
            await asyncio.sleep(backoff.next_s())

    async def _converse(self, channel: grpc.aio.Channel, backoff: Backoff) -> None:
        """One stream, until it breaks."""
        call = QueuesStub(channel).Take()
        opening = pb.Open(credit=max(self._credit, 0), held=sorted(self._held))
        opening.MergeFrom(self._open)
        self._outgoing = asyncio.Queue()
        self._say(pb.TakeRequest(open=opening))
        for request, _ in self._unanswered.values():
            self._say(request)
        writing = asyncio.create_task(_write(call, self._outgoing))
        try:
            async for response in call:
                backoff.reset()
                self._note(response)
            raise NotServed("the node has ended the stream")
        finally:
            writing.cancel()
            call.cancel()

    def _note(self, response: pb.TakeResponse) -> None:
        match response.WhichOneof("step"):
            case "attached":
                self._note_attached(response.attached)
            case "batch":
                self._note_batch(batch_from_wire(response.batch))
            case _:
                self._note_answer(response.answer)

    def _note_attached(self, attached: pb.Attached) -> None:
        if self._attached is not None and not self._attached.done():
            self._turn = attached.turn
            self._attached.set_result(Attached(attached.turn, attached.committed, attached.next))
        elif attached.turn != self._turn:
            self.release(self._held.copy())
            self._note_batch(Takeable((), attached.turn))

    def _note_batch(self, batch: Takeable) -> None:
        if batch.turn != self._turn:
            self._held.clear()
            self._turn = batch.turn
        self._held.update(taken.position for taken in batch.taken)
        self._credit -= len(batch.taken)
        self._come.append(batch)
        self._news.set()

    def _note_answer(self, answer: pb.Answer) -> None:
        _, waiting = self._unanswered.get(answer.id, (None, None))
        if waiting is None or waiting.done():
            return
        match answer.WhichOneof("outcome"):
            case "committed":
                said = answer.committed
                waiting.set_result(Committed(said.committed, said.freed, said.ended))
            case "failed":
                waiting.set_result(Failed(answer.failed.attempts, answer.failed.retry_ms))
            case _:
                problem = answer.problem
                waiting.set_exception(error_of(problem.code, problem.error, problem.message))

    def _end(self, why: RemudaError) -> None:
        if self._over is not None:
            return
        self._over = why
        if self._attached is not None and not self._attached.done():
            self._attached.set_exception(why)
        self._news.set()
        for _, waiting in self._unanswered.values():
            if not waiting.done():
                waiting.set_exception(why)


async def _write(call: grpc.aio.StreamStreamCall, outgoing: asyncio.Queue[pb.TakeRequest]) -> None:
    while True:
        request = await outgoing.get()
        try:
            await call.write(request)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            # The reader hears of it, and says why.
            return
