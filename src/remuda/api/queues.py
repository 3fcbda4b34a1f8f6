"""`remuda.v1.Queues`: calls are read, put to the gateway, and answered."""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

import grpc
import grpc.aio

from remuda.api.sending import send_stream, sent
from remuda.api.taking import Takings
from remuda.queue.gateway import Gateway
from remuda.queue.translation import (
    dead_letter_to_wire,
    group_from_wire,
    message_to_wire,
    part_stats_to_wire,
    queue_to_wire,
    retry_from_wire,
    settings_from_wire,
)
from remuda.v1 import queues_pb2 as pb

Context: TypeAlias = grpc.aio.ServicerContext
Consume: TypeAlias = Callable[[AsyncIterator[pb.ConsumeRequest]], AsyncIterator[pb.ConsumeResponse]]
"""Being in a group on behalf of a client outside: its requests, and what it is told."""


# ruff: noqa: N802
class QueuesService:
    def __init__(self, gateway: Gateway, takings: Takings, consume: Consume | None = None) -> None:
        self._gateway = gateway
        self._takings = takings
        self._consume = consume

    # ── definitions ──────────────────────────────────────────────────────────────────────────

    async def Create(self, request: pb.CreateRequest, _: Context) -> pb.Queue:
        settings = settings_from_wire(request.settings)
        return queue_to_wire(await self._gateway.create(request.queue, request.parts, settings))

    async def Alter(self, request: pb.AlterRequest, _: Context) -> pb.Queue:
        altered = await self._gateway.alter(
            request.queue,
            _given(request, "parts"),
            settings_from_wire(request.settings) if request.HasField("settings") else None,
            _given(request, "if_version"),
        )
        return queue_to_wire(altered)

    async def Get(self, request: pb.GetRequest, _: Context) -> pb.Queue:
        return queue_to_wire(await self._gateway.get(request.queue))

    async def List(self, request: pb.ListRequest, _: Context) -> pb.ListResponse:
        found = await self._gateway.definitions(request.after, request.limit)
        return pb.ListResponse(queues=map(queue_to_wire, found))

    async def Seal(self, request: pb.SealRequest, _: Context) -> pb.Queue:
        return queue_to_wire(await self._gateway.seal(request.queue))

    async def CreateGroup(self, request: pb.CreateGroupRequest, _: Context) -> pb.Queue:
        definition = group_from_wire(request.definition)
        return queue_to_wire(
            await self._gateway.create_group(request.queue, request.group, definition)
        )

    async def AlterGroup(self, request: pb.AlterGroupRequest, _: Context) -> pb.Queue:
        retry = retry_from_wire(request.retry) if request.HasField("retry") else None
        return queue_to_wire(await self._gateway.alter_group(request.queue, request.group, retry))

    async def DropGroup(self, request: pb.DropGroupRequest, _: Context) -> pb.Queue:
        return queue_to_wire(await self._gateway.drop_group(request.queue, request.group))

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    async def Send(self, request: pb.SendRequest, _: Context) -> pb.SendResponse:
        return await sent(self._gateway, request)

    async def SendStream(self, requests: Any, context: Context) -> None:
        await send_stream(self._gateway, requests, context)

    async def Peek(self, request: pb.PeekRequest, _: Context) -> pb.PeekResponse:
        found = await self._gateway.peek(request.queue, request.part, request.start, request.limit)
        return pb.PeekResponse(
            messages=[
                pb.Positioned(position=position, message=message_to_wire(message))
                for position, message in found
            ]
        )

    async def Purge(self, request: pb.PurgeRequest, _: Context) -> pb.PurgeResponse:
        messages = await self._gateway.purge(request.queue, _given(request, "part"))
        return pb.PurgeResponse(messages=messages)

    async def Stats(self, request: pb.StatsRequest, _: Context) -> pb.StatsResponse:
        found = await self._gateway.stats(request.queue, _given(request, "part"))
        return pb.StatsResponse(
            parts={part: part_stats_to_wire(stats) for part, stats in found.items()}
        )

    async def AwaitTree(self, request: pb.AwaitTreeRequest, context: Context) -> pb.Tree:
        return await self._takings.tree(request, context)

    # ── groups ───────────────────────────────────────────────────────────────────────────────

    async def Rewind(self, request: pb.RewindRequest, _: Context) -> pb.RewindResponse:
        to = request.WhichOneof("to")
        positions = await self._gateway.rewind(
            request.queue,
            request.group,
            _given(request, "part"),
            to_position=request.position if to == "position" else None,
            to_ms=request.time_ms if to == "time_ms" else None,
        )
        return pb.RewindResponse(positions=positions)

    async def DeadLetters(self, request: pb.DeadLettersRequest, _: Context) -> Any:
        found = await self._gateway.dead_letters(
            request.queue, request.group, request.part, request.start, request.limit
        )
        return pb.DeadLettersResponse(
            letters=[dead_letter_to_wire(number, letter) for number, letter in found]
        )

    async def Replay(self, request: pb.LettersRequest, _: Context) -> pb.LettersResponse:
        replayed = await self._gateway.replay(
            request.queue, request.group, request.part, request.numbers, request.most
        )
        return pb.LettersResponse(letters=replayed.letters, left=replayed.left)

    async def Discard(self, request: pb.LettersRequest, _: Context) -> pb.LettersResponse:
        discarded = await self._gateway.discard(
            request.queue, request.group, request.part, request.numbers, request.most
        )
        return pb.LettersResponse(letters=discarded.letters, left=discarded.left)

    async def Take(self, requests: Any, context: Context) -> None:
        await self._takings.take(requests, context)

    async def Consume(self, requests: Any, context: Context) -> None:
        if self._consume is None:
            await context.abort(
                grpc.StatusCode.UNIMPLEMENTED, "this node consumes for nobody: use Take"
            )
            return
        async for response in self._consume(requests):
            await context.write(response)


def _given(request: Any, field: str) -> int | None:
    return getattr(request, field) if request.HasField(field) else None
