"""Sending from a client: in order, in batches, and once.

There is a lane for each partition of a queue. While a batch of a lane is under way, what is sent
meanwhile gathers for the next one; so a single message goes at once, and many go together. Batches
are numbered by lane: one whose answer was lost is sent again, and is there once.
"""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import asyncio
import itertools
import random
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import grpc
import grpc.aio
from msgspec import Struct

from remuda.errors import Busy, CommandRejected, NotServed, RemudaError
from remuda.partition.machine import Rejection
from remuda.peer.backoff import Backoff
from remuda.queue.model import NewMessage, QueueDef
from remuda.queue.placement import part_of
from remuda.queue.translation import new_message_to_wire
from remuda.v1 import queues_pb2 as pb
from remuda.v1.queues_pb2_grpc import QueuesStub
from remuda.wire.dialling import Line
from remuda.wire.settings import BATCH_BYTES, BODY_BYTES_MAX
from remuda.wire.status import error_of, error_of_call

_MESSAGES_MAX = 1_000
_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.02, 1.0
_CHANCE = random.Random()

Definition = Callable[[str, int], Awaitable[QueueDef]]
"""Of a queue, in a version above the one that is given."""


class Place(Struct, frozen=True):
    """Where a message is. `position` is -1 as long as it is delayed, `tree` if it is no root."""

    queue: str
    part: int
    position: int
    tree: int = -1


class Sender:
    def __init__(self, line: Line, definition: Definition) -> None:
        self._line = line
        self._definition = definition
        self._lanes: dict[tuple[str, int], _Lane] = {}
        self._turn = itertools.count(random.randrange(1 << 16))
        self._name = uuid.uuid4().hex
        self._stream = _Stream(line)

    async def send(self, queue: str, messages: Sequence[NewMessage]) -> list[Place]:
        _check_sizes(messages)
        places: list[Place | None] = [None] * len(messages)
        todo = list(range(len(messages)))
        deadline = time.monotonic() + self._line.timeout_s
        version = 0
        while todo:
            definition = await self._definition(queue, version)
            again: list[int] = []
            chunks = self._chunks(definition, messages, todo)
            outcomes = await asyncio.gather(
                *(
                    self._lane(queue, part).put([messages[i] for i in chosen], definition, deadline)
                    for part, chosen in chunks
                ),
                return_exceptions=True,
            )
            for (_, chosen), outcome in zip(chunks, outcomes, strict=True):
                if isinstance(outcome, _Grown) and time.monotonic() < deadline:
                    again += chosen
                    version = definition.version
                elif isinstance(outcome, BaseException):
                    raise outcome
                else:
                    for index, place in zip(chosen, outcome, strict=True):
                        places[index] = place
            todo = again
        return [place for place in places if place is not None]

    async def close(self) -> None:
        for lane in self._lanes.values():
            lane.stop()
        await self._stream.close()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _chunks(
        self, definition: QueueDef, messages: Sequence[NewMessage], which: Sequence[int]
    ) -> list[tuple[int, list[int]]]:
        """By partition, in order, none longer than a batch may be."""
        by_part: dict[int, list[int]] = {}
        for index in which:
            key = messages[index].key
            turn = part_of(key, definition.parts) if key else next(self._turn) % definition.parts
            by_part.setdefault(turn, []).append(index)
        return [
            (part, chunk)
            for part, chosen in sorted(by_part.items())
            for chunk in _cut(messages, chosen)
        ]

    def _lane(self, queue: str, part: int) -> _Lane:
        lane = self._lanes.get((queue, part))
        if lane is None:
            lane = self._lanes[queue, part] = _Lane(self._stream, self._name, queue, part)
        return lane


def _cut(messages: Sequence[NewMessage], chosen: Sequence[int]) -> list[list[int]]:
    chunks: list[list[int]] = [[]]
    size = 0
    for index in chosen:
        size += len(messages[index].body)
        if chunks[-1] and (len(chunks[-1]) == _MESSAGES_MAX or size > BATCH_BYTES):
            chunks.append([])
            size = len(messages[index].body)
        chunks[-1].append(index)
    return chunks


def _check_sizes(messages: Sequence[NewMessage]) -> None:
    """What is too long for any queue is not worth the way."""
    for message in messages:
        if len(message.body) > BODY_BYTES_MAX:
            raise CommandRejected(
                f"a message has a body of {len(message.body)} bytes, and {BODY_BYTES_MAX} fit the "
                "wire: put large things elsewhere, and send where they are",
                Rejection.EXHAUSTED.value,
            )


class _Grown(RemudaError):
    """The queue has more partitions than the sender knew of: choose again."""


class _Chunk:
    """What one caller sends to one partition."""

    __slots__ = ("answer", "deadline", "messages", "size", "version")

    def __init__(
        self,
        messages: Sequence[NewMessage],
        version: int,
        deadline: float,
        answer: asyncio.Future[list[Place]],
    ) -> None:
        self.messages = messages
        self.version = version
        self.deadline = deadline
        self.answer = answer
        self.size = sum(len(message.body) for message in messages)


class _Lane:
    def __init__(self, stream: _Stream, producer: str, queue: str, part: int) -> None:
        self._stream = stream
        self._producer = producer
        self._queue = queue
        self._part = part
        self._sequence = 0
        self._waiting: deque[_Chunk] = deque()
        self._task: asyncio.Task[None] | None = None

    async def put(
        self, messages: Sequence[NewMessage], definition: QueueDef, deadline: float
    ) -> list[Place]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Place]] = loop.create_future()
        self._waiting.append(_Chunk(messages, definition.version, deadline, answer))
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._work())
        return await answer

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        for chunk in self._waiting:
            chunk.answer.cancel()

    async def _work(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            try:
                await self._deliver(batch)
            except asyncio.CancelledError:
                for chunk in batch:
                    chunk.answer.cancel()
                raise

    def _next_batch(self) -> list[_Chunk]:
        batch: list[_Chunk] = []
        count = size = 0
        while self._waiting:
            chunk = self._waiting[0]
            count += len(chunk.messages)
            size += chunk.size
            if batch and (count > _MESSAGES_MAX or size > BATCH_BYTES):
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _deliver(self, batch: list[_Chunk]) -> None:
        try:
            answer = await self._send(batch)
        except CommandRejected as error:
            if error.kind != Rejection.STALE.value and len(batch) > 1:
                # One caller's mistake is not the others': each by itself.
                for chunk in batch:
                    await self._deliver([chunk])
                return
            _fail(batch, _Grown(str(error)) if error.kind == Rejection.STALE.value else error)
        except Exception as error:
            _fail(batch, error)
        else:
            self._tell(batch, answer)

    async def _send(self, batch: list[_Chunk]) -> pb.SendResponse:
        """Until it is answered, or the first caller's time is over."""
        self._sequence += 1
        request = pb.SendRequest(
            queue=self._queue,
            part=self._part,
            messages=[new_message_to_wire(one) for chunk in batch for one in chunk.messages],
            producer=self._producer,
            sequence=self._sequence,
            version=min(chunk.version for chunk in batch),
        )
        deadline = min(chunk.deadline for chunk in batch)
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, _CHANCE)
        while True:
            try:
                return await self._stream.send(request, deadline)
            except (NotServed, Busy):
                if time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(backoff.next_s())

    def _tell(self, batch: list[_Chunk], answer: pb.SendResponse) -> None:
        at = 0
        for chunk in batch:
            end = at + len(chunk.messages)
            trees = answer.trees[at:end] if answer.trees else itertools.repeat(-1)
            found = zip(answer.positions[at:end], trees, strict=False)
            places = [Place(self._queue, self._part, position, tree) for position, tree in found]
            if not chunk.answer.done():
                chunk.answer.set_result(places)
            at = end


def _fail(batch: list[_Chunk], error: Exception) -> None:
    for chunk in batch:
        if not chunk.answer.done():
            chunk.answer.set_exception(error)


class _Stream:
    """Requests up, answers down, by id; opened when it is needed, and anew when it broke."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._ids = itertools.count()
        self._pending: dict[int, asyncio.Future[pb.SendResponse]] = {}
        self._call: grpc.aio.StreamStreamCall | None = None
        self._reading: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    async def send(self, request: pb.SendRequest, deadline: float) -> pb.SendResponse:
        """Raises `NotServed` if the stream breaks: whether it has happened is open."""
        number = next(self._ids)
        answer: asyncio.Future[pb.SendResponse] = asyncio.get_running_loop().create_future()
        async with self._lock:
            call = await self._opened(deadline)
            self._pending[number] = answer
            try:
                await call.write(pb.SendStreamRequest(id=number, send=request))
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
                self._pending.pop(number, None)
                self._call = None
                raise NotServed(f"the connection to the node broke: {error}") from None
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.001)):
                return await answer
        except TimeoutError:
            raise NotServed(
                f"no answer to what was sent to {request.queue} in time: it may be there or not"
            ) from None
        finally:
            self._pending.pop(number, None)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        if self._call is not None:
            self._call.cancel()

    async def _opened(self, deadline: float) -> grpc.aio.StreamStreamCall:
        call = self._call
        if call is None:
            channel = await self._line.channel(deadline)
            call = self._call = QueuesStub(channel).SendStream()
            self._reading = asyncio.create_task(self._read(channel, call))
        return call

    async def _read(self, channel: grpc.aio.Channel, call: grpc.aio.StreamStreamCall) -> None:
        why: RemudaError = NotServed("the node has ended the stream")
        try:
            async for response in call:
                self._note(response)
        except grpc.aio.AioRpcError as error:
            why = error_of_call(error)
        if self._call is call:
            self._call = None
        self._line.hang_up(channel)
        for answer in list(self._pending.values()):
            if not answer.done():
                answer.set_exception(NotServed(str(why)))

    def _note(self, response: pb.SendStreamResponse) -> None:
        answer = self._pending.get(response.id)
        if answer is None or answer.done():
            return
        if response.WhichOneof("outcome") == "sent":
            answer.set_result(response.sent)
        else:
            problem = response.problem
            answer.set_exception(error_of(problem.code, problem.error, problem.message))
