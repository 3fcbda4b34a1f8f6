"""Reaching a cluster from outside: some node of it, and another one when that is gone."""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import grpc
import grpc.aio

from remuda.errors import NotServed, RemudaError, Uncertain
from remuda.peer.backoff import Backoff
from remuda.wire.settings import client_options
from remuda.wire.status import error_of_call, is_broken, nothing_happened

Find: TypeAlias = Callable[[], Awaitable[Sequence[str]]]
"""The addresses of nodes, asked anew whenever none of those that are known answers."""

_READY_S = 2.0
_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.05, 1.0
_CHANCE = random.Random()


class Line:
    """`await line.call(stub_class, "Send", request)`, whichever node answers."""

    def __init__(self, find: Find, *, timeout_s: float = 30.0, ping_ms: int = 45_000) -> None:
        self.timeout_s = timeout_s
        self._find = find
        self._ping_ms = ping_ms
        self._known: list[str] = []
        self._address = ""
        self._channel: grpc.aio.Channel | None = None
        self._dialling = asyncio.Lock()

    async def call(self, stub: Any, method: str, request: Any, *, repeatable: bool = True) -> Any:
        """Tried again while no node can do it, until the time is over.

        What is not `repeatable` is asked again only if it has certainly not happened.
        """
        deadline = time.monotonic() + self.timeout_s
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, _CHANCE)
        while True:
            channel = await self.channel(deadline)
            left_s = max(deadline - time.monotonic(), 0.001)
            try:
                return await getattr(stub(channel), method)(request, timeout=left_s)
            except grpc.aio.AioRpcError as error:
                self._judge(channel, error, repeatable)
                if time.monotonic() + _BACKOFF_MOST_S > deadline:
                    raise error_of_call(error) from None
            await asyncio.sleep(backoff.next_s())

    async def channel(self, deadline: float | None = None) -> grpc.aio.Channel:
        """To a node that answers; raises `NotServed` when there is none in time."""
        if deadline is None:
            deadline = time.monotonic() + self.timeout_s
        async with self._dialling:
            while self._channel is None:
                await self._dial(deadline)
        return self._channel

    def hang_up(self, channel: grpc.aio.Channel) -> None:
        """The node at its other end is gone, or of no use: the next call goes to another."""
        if self._channel is channel:
            self._channel = None
            self._known = [one for one in self._known if one != self._address]
            _close_later(channel)

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _judge(
        self, channel: grpc.aio.Channel, error: grpc.aio.AioRpcError, repeatable: bool
    ) -> None:
        """Returns if it is to be tried again."""
        if nothing_happened(error):
            return
        if not is_broken(error):
            raise error_of_call(error) from None
        self.hang_up(channel)
        if not repeatable:
            raise Uncertain(
                f"the connection broke before the answer came ({error.details()}): look whether "
                "it has happened"
            ) from None

    async def _dial(self, deadline: float) -> None:
        if not self._known:
            self._known = list(await self._addresses())
            random.shuffle(self._known)
        for address in list(self._known):
            channel = grpc.aio.insecure_channel(address, options=client_options(self._ping_ms))
            try:
                async with asyncio.timeout(_READY_S):
                    await channel.channel_ready()
            except TimeoutError:
                await channel.close()
                self._known.remove(address)
            else:
                self._address, self._channel = address, channel
                return
        if time.monotonic() > deadline:
            raise NotServed("no node of the cluster answers: is one running?")
        await asyncio.sleep(_BACKOFF_FIRST_S)

    async def _addresses(self) -> Sequence[str]:
        try:
            return await self._find()
        except RemudaError as error:
            raise NotServed(f"no node of the cluster can be found: {error}") from error


def _close_later(channel: grpc.aio.Channel) -> None:
    """Calls that are under way on it have a moment to end by themselves."""
    task = asyncio.get_running_loop().create_task(channel.close(1.0))
    _closing.add(task)
    task.add_done_callback(_closing.discard)


_closing: set[asyncio.Task[None]] = set()
