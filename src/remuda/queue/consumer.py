"""Consuming from outside the cluster: a node is in the group on behalf of this program.

    async with queues.consume("orders", "billing") as consumer:
        async for delivery in consumer:
            …
            await consumer.done(delivery)

Messages of one key come one after another. The iteration ends when the queue is sealed and all of
it is done. If the connection breaks it raises `NotServed`: what was not settled comes again, to
whoever consumes next.
"""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from typing import Self

import grpc
import grpc.aio
from msgspec import Struct

from remuda.errors import NotServed, RemudaError
from remuda.queue.context import Message, message_of
from remuda.queue.model import GroupDef, NewMessage
from remuda.queue.takeable import Taken
from remuda.queue.translation import group_to_wire, message_from_wire, new_message_to_wire
from remuda.v1 import queues_pb2 as pb
from remuda.v1.queues_pb2_grpc import QueuesStub
from remuda.wire.dialling import Line
from remuda.wire.status import error_of, error_of_call


class Delivery(Struct, frozen=True):
    number: int
    message: Message


class Consumer:
    def __init__(
        self, line: Line, queue: str, group: str, credit: int, definition: GroupDef | None
    ) -> None:
        self._line = line
        self._queue = queue
        self._join = pb.Join(
            queue=queue,
            group=group,
            credit=credit,
            definition=None if definition is None else group_to_wire(definition),
        )
        self._ids = itertools.count(1)
        self._unsettled: dict[int, asyncio.Future[None]] = {}
        self._incoming: asyncio.Queue[Delivery | RemudaError | None] = asyncio.Queue()
        self._joined: asyncio.Future[str] | None = None
        self._call: grpc.aio.StreamStreamCall | None = None
        self._reading: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Returns when the node has joined the group; raises if it cannot."""
        channel = await self._line.channel()
        self._joined = asyncio.get_running_loop().create_future()
        self._call = QueuesStub(channel).Consume()
        self._reading = asyncio.create_task(self._read())
        await self._say(pb.ConsumeRequest(join=self._join))
        try:
            await self._joined
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """What is not settled is given back."""
        if self._call is not None:
            self._call.cancel()
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)

    async def __aiter__(self) -> AsyncIterator[Delivery]:
        while True:
            delivery = await self._incoming.get()
            if delivery is None:
                return
            if isinstance(delivery, RemudaError):
                raise delivery
            yield delivery

    async def done(
        self, *deliveries: Delivery, emits: Sequence[tuple[str, NewMessage]] = ()
    ) -> None:
        """These were handled, and what was made of the last of them is to be sent; durable when it
        returns."""
        number = next(self._ids)
        done = pb.Done(
            id=number,
            deliveries=[one.number for one in deliveries],
            emits=[
                pb.OutsideEmit(
                    delivery=deliveries[-1].number,
                    queue=queue,
                    message=new_message_to_wire(message),
                )
                for queue, message in emits
            ],
        )
        await self._ask(number, pb.ConsumeRequest(done=done), len(deliveries))

    async def failed(self, delivery: Delivery, error: str, *, final: bool = False) -> None:
        """It could not be handled: it comes again later, or is a dead letter."""
        number = next(self._ids)
        undone = pb.Undone(id=number, delivery=delivery.number, error=error, final=final)
        await self._ask(number, pb.ConsumeRequest(undone=undone), 1)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _ask(self, number: int, request: pb.ConsumeRequest, more: int) -> None:
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unsettled[number] = settled
        try:
            await self._say(request)
            await self._say(pb.ConsumeRequest(credit=pb.Credit(more=more)))
            await settled
        finally:
            del self._unsettled[number]

    async def _say(self, request: pb.ConsumeRequest) -> None:
        assert self._call is not None
        try:
            async with self._writing:
                await self._call.write(request)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            # The reader hears of it, and says why.
            return

    async def _read(self) -> None:
        assert self._call is not None
        why: RemudaError = NotServed("the node has ended the stream")
        try:
            async for response in self._call:
                self._note(response)
        except grpc.aio.AioRpcError as error:
            why = error_of_call(error)
        except asyncio.CancelledError:
            why = NotServed("this program has stopped consuming")
        assert self._joined is not None
        for waiting in (self._joined, *self._unsettled.values()):
            if not waiting.done():
                waiting.set_exception(type(why)(*why.args))
        self._incoming.put_nowait(why)

    def _note(self, response: pb.ConsumeResponse) -> None:
        match response.WhichOneof("step"):
            case "joined":
                assert self._joined is not None
                self._joined.set_result(response.joined.peer)
            case "deliveries":
                for one in response.deliveries.deliveries:
                    taken = Taken(
                        one.taken.position,
                        one.taken.attempt,
                        message_from_wire(one.taken.message),
                    )
                    message = message_of(self._queue, one.part, taken)
                    self._incoming.put_nowait(Delivery(one.delivery, message))
            case "settled":
                self._settle(response.settled)
            case "ended":
                self._incoming.put_nowait(None)
            case _:
                pass

    def _settle(self, settled: pb.Settled) -> None:
        waiting = self._unsettled.get(settled.id)
        if waiting is None or waiting.done():
            return
        if settled.HasField("problem"):
            problem = settled.problem
            waiting.set_exception(error_of(problem.code, problem.error, problem.message))
        else:
            waiting.set_result(None)
