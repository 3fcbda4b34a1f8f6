"""Consuming on behalf of a client that is not in the cluster: this process is in the group for it.

Each delivery is a handler at work. It ends when the client says how it went; what it says is
settled when the partition has taken it. When the client is gone, its deliveries are given back, and
no attempt is counted.
"""

# pyright: basic
# The generated messages are built from mappings.

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from msgspec import Struct

from remuda.config import Config
from remuda.errors import CommandRejected, GiveUp, RemudaError
from remuda.partition.machine import Rejection
from remuda.queue.client import Queues
from remuda.queue.context import Context, Message
from remuda.queue.handler import Handler, HandlerHooks, NotHandled
from remuda.queue.translation import group_from_wire, new_message_from_wire
from remuda.queue.worker import Worker
from remuda.v1 import queues_pb2 as pb
from remuda.wire.status import status_of

AT_ONCE_MAX = 1_000
_LOOK_S = 0.5


async def consume(
    config: Config, requests: AsyncIterator[pb.ConsumeRequest]
) -> AsyncGenerator[pb.ConsumeResponse]:
    """What a client is told, as long as it listens."""
    opening = await anext(aiter(requests), None)
    if opening is None or opening.WhichOneof("step") != "join":
        raise _invalid("a stream of `Consume` begins with `join`")
    client = _Client(opening.join)
    worker = Worker(client.handler, config=config)
    await worker.start()
    client.say(pb.ConsumeResponse(joined=pb.Joined(peer=worker.id or "")))
    tasks = [
        asyncio.create_task(client.listen(requests)),
        asyncio.create_task(client.watch_for_the_end(config)),
    ]
    try:
        while (response := await client.outgoing.get()) is not None:
            yield response
    finally:
        client.go()
        for task in tasks:
            task.cancel()
        worker.finish()
        await worker.left()


class _Delivery(Struct):
    message: Message
    context: Context
    answer: asyncio.Future[None]


class _Settling(Struct):
    """What one request of the client was about, and is not settled yet."""

    id: int
    left: set[tuple[int, int]]


class _Client(HandlerHooks):
    def __init__(self, join: pb.Join) -> None:
        self.outgoing: asyncio.Queue[pb.ConsumeResponse | None] = asyncio.Queue()
        self.handler = Handler(
            self._handle,
            join.queue,
            join.group,
            concurrency=AT_ONCE_MAX,
            definition=group_from_wire(join.definition) if join.HasField("definition") else None,
            hooks=self,
        )
        self._queue = join.queue
        self._group = join.group
        self._credit = asyncio.Semaphore(max(join.credit, 0))
        self._numbers = itertools.count(1)
        self._deliveries: dict[int, _Delivery] = {}
        self._settling: dict[tuple[int, int], _Settling] = {}
        self._is_gone = False

    def say(self, response: pb.ConsumeResponse) -> None:
        self.outgoing.put_nowait(response)

    def go(self) -> None:
        """The client is gone: nobody waits for its credit or its answers any more."""
        self._is_gone = True
        for _ in range(AT_ONCE_MAX):
            self._credit.release()
        for delivery in self._deliveries.values():
            if not delivery.answer.done():
                delivery.answer.set_exception(NotHandled())

    # ── what the client says ─────────────────────────────────────────────────────────────────

    async def listen(self, requests: AsyncIterator[pb.ConsumeRequest]) -> None:
        try:
            async for request in requests:
                match request.WhichOneof("step"):
                    case "credit":
                        for _ in range(min(request.credit.more, AT_ONCE_MAX)):
                            self._credit.release()
                    case "done":
                        self._note_done(request.done)
                    case "undone":
                        self._note_undone(request.undone)
                    case _:
                        pass
        finally:
            self.outgoing.put_nowait(None)

    def _note_done(self, done: pb.Done) -> None:
        found = self._found(done.id, list(done.deliveries))
        if found is None:
            return
        for emit in done.emits:
            delivery = found.get(emit.delivery)
            if delivery is None:
                self._refuse(done.id, f"what was made of {emit.delivery} is told without it")
                return
            message = new_message_from_wire(emit.message)
            delivery.context.emit_message(emit.queue, message, tracked=not emit.untracked)
        for delivery in found.values():
            delivery.answer.set_result(None)

    def _note_undone(self, undone: pb.Undone) -> None:
        found = self._found(undone.id, [undone.delivery])
        if found is None:
            return
        error = GiveUp(undone.error) if undone.final else HandlerFailed(undone.error)
        found[undone.delivery].answer.set_exception(error)

    def _found(self, request: int, numbers: Sequence[int]) -> dict[int, _Delivery] | None:
        """The deliveries that a request is about; it is answered when all of them are settled."""
        found = {n: self._deliveries[n] for n in numbers if n in self._deliveries}
        open_ones = {n: one for n, one in found.items() if not one.answer.done()}
        if not numbers or len(open_ones) < len(set(numbers)):
            missing = sorted(set(numbers) - set(open_ones))
            self._refuse(request, f"there are no deliveries {missing}: they are settled, or void")
            return None
        places = {(one.message.part, one.message.position) for one in open_ones.values()}
        settling = _Settling(request, set(places))
        self._settling.update(dict.fromkeys(places, settling))
        return open_ones

    # ── what the group says ──────────────────────────────────────────────────────────────────

    async def _handle(self, message: Message, ctx: Context) -> None:
        await self._credit.acquire()
        if self._is_gone:
            raise NotHandled
        number = next(self._numbers)
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._deliveries[number] = _Delivery(message, ctx, answer)
        delivery = pb.Delivery(delivery=number, part=message.part, taken=_taken(message))
        self.say(pb.ConsumeResponse(deliveries=pb.Deliveries(deliveries=[delivery])))
        try:
            await answer
        finally:
            del self._deliveries[number]

    def settled(self, part: int, positions: Sequence[int], refusal: str) -> None:
        for position in positions:
            settling = self._settling.pop((part, position), None)
            if settling is None:
                continue
            if refusal:
                self._refuse(settling.id, refusal)
            else:
                settling.left.discard((part, position))
                if not settling.left:
                    self.say(pb.ConsumeResponse(settled=pb.Settled(id=settling.id)))

    def part_ended(self, part: int) -> None:
        for place in [place for place in self._settling if place[0] == part]:
            settling = self._settling.pop(place)
            self._refuse(settling.id, f"partition {part} is somebody else's now: it comes again")
        self.say(pb.ConsumeResponse(revoked=pb.Revoked(part=part)))

    async def watch_for_the_end(self, config: Config) -> None:
        """The end is a state of all partitions, whoever has them, so it is looked for."""
        async with Queues(config=config) as queues:
            while True:
                if await self._is_at_the_end(queues):
                    self.say(pb.ConsumeResponse(ended=pb.Ended()))
                    return
                await asyncio.sleep(_LOOK_S)

    async def _is_at_the_end(self, queues: Queues) -> bool:
        try:
            definition = await queues.get(self._queue)
            return definition.sealed and all(
                part.groups[self._group].ended
                for part in (await queues.stats(self._queue)).values()
            )
        except RemudaError:
            return False

    def _refuse(self, request: int, reason: str) -> None:
        status = status_of(CommandRejected(reason))
        problem = pb.Problem(code=status.number, error=status.error, message=status.message)
        self.say(pb.ConsumeResponse(settled=pb.Settled(id=request, problem=problem)))


class HandlerFailed(Exception):
    """What the client said of its own handler."""


def _taken(message: Message) -> pb.Taken:
    failures = [
        pb.Failure(at_ms=one.at_ms, attempt=one.attempt, error=one.error)
        for one in message.failures
    ]
    return pb.Taken(
        position=message.position,
        attempt=message.attempt,
        message=pb.Message(
            body=message.body,
            key=message.key,
            headers=message.headers,
            sent_ms=message.sent_ms,
            failures=failures,
        ),
    )


def _invalid(reason: str) -> CommandRejected:
    return CommandRejected(reason, Rejection.INVALID.value)
