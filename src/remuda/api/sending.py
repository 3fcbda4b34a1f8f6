"""Sending, as it comes over the wire: one batch, or a stream of them."""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TypeAlias

import grpc
import grpc.aio

from remuda.api.calls import first_of
from remuda.queue.gateway import Gateway
from remuda.queue.translation import new_message_from_wire
from remuda.v1 import queues_pb2 as pb
from remuda.wire.status import status_of

Requests: TypeAlias = AsyncIterator[pb.SendStreamRequest]

_UNDER_WAY_MAX = 64


async def sent(gateway: Gateway, request: pb.SendRequest) -> pb.SendResponse:
    answer = await gateway.send(
        request.queue,
        [new_message_from_wire(message) for message in request.messages],
        part=request.part if request.HasField("part") else None,
        producer=request.producer,
        sequence=request.sequence,
        version=request.version,
    )
    return pb.SendResponse(
        parts=answer.parts,
        positions=answer.positions,
        trees=answer.trees,
        duplicates=answer.duplicates,
    )


async def send_stream(
    gateway: Gateway, requests: Requests, context: grpc.aio.ServicerContext
) -> None:
    """Batches to one partition follow each other; so do those that name none, by queue."""
    with first_of():
        async with asyncio.TaskGroup() as group:
            await _Stream(gateway, context, group).read(requests)


class _Stream:
    def __init__(
        self, gateway: Gateway, context: grpc.aio.ServicerContext, group: asyncio.TaskGroup
    ) -> None:
        self._gateway = gateway
        self._context = context
        self._group = group
        self._room = asyncio.Semaphore(_UNDER_WAY_MAX)
        self._writing = asyncio.Lock()
        self._last: dict[tuple[str, int], asyncio.Task[None]] = {}

    async def read(self, requests: Requests) -> None:
        async for request in requests:
            await self._room.acquire()
            send = request.send
            lane = (send.queue, send.part if send.HasField("part") else -1)
            task = self._group.create_task(self._send(lane, request, self._last.get(lane)))
            self._last[lane] = task

    async def _send(
        self,
        lane: tuple[str, int],
        request: pb.SendStreamRequest,
        previous: asyncio.Task[None] | None,
    ) -> None:
        try:
            if previous is not None:
                await asyncio.wait([previous])
            response = await self._outcome(request)
            async with self._writing:
                await self._context.write(response)
        finally:
            self._room.release()
            if self._last.get(lane) is asyncio.current_task():
                del self._last[lane]

    async def _outcome(self, request: pb.SendStreamRequest) -> pb.SendStreamResponse:
        try:
            answer = await sent(self._gateway, request.send)
        except Exception as error:
            return pb.SendStreamResponse(id=request.id, problem=problem_of(error))
        return pb.SendStreamResponse(id=request.id, sent=answer)


def problem_of(error: Exception) -> pb.Problem:
    status = status_of(error)
    return pb.Problem(code=status.number, error=status.error, message=status.message)
