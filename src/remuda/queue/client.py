"""Queues from a program: `async with Queues() as queues: await queues.send("orders", b"…")`.

`client_sync` has the same for programs without an event loop.
"""

# pyright: basic
# The generated stubs have no types.

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from msgspec import Struct

from remuda.config import Config, load
from remuda.errors import NotServed, RemudaError
from remuda.peer.observer import cluster_log, current
from remuda.queue.commands.replay import Replayed
from remuda.queue.consumer import Consumer
from remuda.queue.model import (
    DeadLetter,
    GroupDef,
    Message,
    NewMessage,
    Outcome,
    QueueDef,
    QueueSettings,
    RetryDef,
)
from remuda.queue.reading import PartStats
from remuda.queue.sender import Place, Sender
from remuda.queue.taking import Taking
from remuda.queue.translation import (
    dead_letter_from_wire,
    group_to_wire,
    message_from_wire,
    part_stats_from_wire,
    queue_from_wire,
    retry_to_wire,
    settings_to_wire,
)
from remuda.v1 import queues_pb2 as pb
from remuda.v1.queues_pb2_grpc import QueuesStub
from remuda.wire.dialling import Line

TRACK_S = 60.0


class Tracked(Struct, frozen=True):
    """A message that was sent as the root of a tree, and what has come of the tree."""

    place: Place
    outcome: Outcome


class Queues:
    """The queues of a cluster, through any of its nodes.

    `nodes` are addresses, host:port; without any they are looked up in the cluster that `config`
    names, or the environment if that is not given either. Calls wait, and are tried again, while
    no node can do them: for `timeout_s` at most.
    """

    def __init__(
        self,
        *nodes: str,
        config: Config | None = None,
        timeout_s: float = 30.0,
        ping_ms: int = 45_000,
    ) -> None:
        self._nodes = nodes
        self._config = config
        self._line = Line(self._find, timeout_s=timeout_s, ping_ms=ping_ms)
        self._definitions: dict[str, QueueDef] = {}
        self._sender = Sender(self._line, self._definition)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """What is being sent is not waited for."""
        await self._sender.close()
        await self._line.close()

    # ── definitions ──────────────────────────────────────────────────────────────────────────

    async def create(
        self, queue: str, parts: int = 1, settings: QueueSettings | None = None
    ) -> QueueDef:
        """To ask for what is there already changes nothing."""
        request = pb.CreateRequest(
            queue=queue, parts=parts, settings=settings_to_wire(settings or QueueSettings())
        )
        return self._noted(await self._call("Create", request))

    async def alter(
        self,
        queue: str,
        *,
        parts: int | None = None,
        settings: QueueSettings | None = None,
        if_version: int | None = None,
    ) -> QueueDef:
        request = pb.AlterRequest(
            queue=queue,
            parts=parts,
            settings=None if settings is None else settings_to_wire(settings),
            if_version=if_version,
        )
        repeatable = if_version is None
        return self._noted(await self._call("Alter", request, repeatable=repeatable))

    async def get(self, queue: str) -> QueueDef:
        return self._noted(await self._call("Get", pb.GetRequest(queue=queue)))

    async def list(self) -> list[QueueDef]:
        """All, by name."""
        found: list[QueueDef] = []
        while True:
            after = found[-1].name if found else ""
            page = await self._call("List", pb.ListRequest(after=after))
            if not page.queues:
                return found
            found += map(queue_from_wire, page.queues)

    async def seal(self, queue: str) -> QueueDef:
        """Nothing more can be sent to it; the end is reached when all of it is done."""
        return self._noted(await self._call("Seal", pb.SealRequest(queue=queue)))

    async def create_group(
        self, queue: str, group: str, definition: GroupDef | None = None
    ) -> QueueDef:
        request = pb.CreateGroupRequest(
            queue=queue, group=group, definition=group_to_wire(definition or GroupDef())
        )
        return self._noted(await self._call("CreateGroup", request))

    async def alter_group(self, queue: str, group: str, retry: RetryDef | None) -> QueueDef:
        """None: failures are handled as the queue says."""
        request = pb.AlterGroupRequest(
            queue=queue, group=group, retry=None if retry is None else retry_to_wire(retry)
        )
        return self._noted(await self._call("AlterGroup", request))

    async def drop_group(self, queue: str, group: str) -> QueueDef:
        request = pb.DropGroupRequest(queue=queue, group=group)
        return self._noted(await self._call("DropGroup", request, repeatable=False))

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    async def send(
        self,
        queue: str,
        body: bytes,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        dedup: str = "",
        delay_ms: int = 0,
        ttl_ms: int = 0,
    ) -> Place:
        """Returns when the message is durable. It is there once, whatever breaks on the way."""
        message = NewMessage(body, key, headers or {}, dedup, delay_ms, ttl_ms)
        return (await self._sender.send(queue, (message,)))[0]

    async def send_many(self, queue: str, messages: Iterable[NewMessage]) -> list[Place]:
        """Those of one partition are taken together, or none of them."""
        return await self._sender.send(queue, tuple(messages))

    async def send_tracked(
        self,
        queue: str,
        body: bytes,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        dedup: str = "",
        within_s: float = TRACK_S,
        timeout_s: float | None = None,
    ) -> Tracked:
        """Returns when the message, and all that handlers made of it, is done or has failed.

        If it is not all done `within_s`, it is handled again, as often as the queue's settings
        say. Raises `TimeoutError` after `timeout_s`; the tree goes on.
        """
        message = NewMessage(body, key, headers or {}, dedup, track_ms=round(within_s * 1000))
        place = (await self._sender.send(queue, (message,)))[0]
        return Tracked(place, await self.completed(place, timeout_s=timeout_s))

    async def completed(self, place: Place, *, timeout_s: float | None = None) -> Outcome:
        """When the tree whose root was sent to a place has ended: how."""
        if place.tree < 0:
            raise RemudaError(f"the message at {place} was not sent as the root of a tree")
        request = pb.AwaitTreeRequest(queue=place.queue, part=place.part, tree=place.tree)
        async with asyncio.timeout(timeout_s):
            while True:
                tree = await self._call("AwaitTree", request)
                if tree.outcome:
                    return tree.outcome

    async def peek(
        self, queue: str, part: int, start: int = 0, limit: int = 100
    ) -> list[tuple[int, Message]]:
        request = pb.PeekRequest(queue=queue, part=part, start=start, limit=limit)
        found = (await self._call("Peek", request)).messages
        return [(one.position, message_from_wire(one.message)) for one in found]

    async def purge(self, queue: str, part: int | None = None) -> int:
        """How many messages have gone."""
        request = pb.PurgeRequest(queue=queue, part=part)
        return (await self._call("Purge", request, repeatable=False)).messages

    async def stats(self, queue: str, part: int | None = None) -> dict[int, PartStats]:
        found = (await self._call("Stats", pb.StatsRequest(queue=queue, part=part))).parts
        return {part: part_stats_from_wire(found[part]) for part in sorted(found)}

    # ── groups ───────────────────────────────────────────────────────────────────────────────

    async def rewind(
        self,
        queue: str,
        group: str,
        *,
        to_position: int | None = None,
        to_ms: int | None = None,
        part: int | None = None,
    ) -> dict[int, int]:
        """Where the group is now, by partition."""
        request = pb.RewindRequest(
            queue=queue, group=group, part=part, position=to_position, time_ms=to_ms
        )
        found = (await self._call("Rewind", request)).positions
        return {part: found[part] for part in sorted(found)}

    async def dead_letters(
        self, queue: str, group: str, part: int, start: int = 0, limit: int = 100
    ) -> list[tuple[int, DeadLetter]]:
        """By number, oldest first."""
        request = pb.DeadLettersRequest(
            queue=queue, group=group, part=part, start=start, limit=limit
        )
        found = (await self._call("DeadLetters", request)).letters
        return [dead_letter_from_wire(letter) for letter in found]

    async def replay(
        self, queue: str, group: str, part: int, numbers: Sequence[int] = (), *, most: int = 100
    ) -> Replayed:
        """Without numbers: the oldest."""
        return await self._letters("Replay", queue, group, part, numbers, most)

    async def discard(
        self, queue: str, group: str, part: int, numbers: Sequence[int] = (), *, most: int = 100
    ) -> Replayed:
        return await self._letters("Discard", queue, group, part, numbers, most)

    def take(
        self,
        queue: str,
        part: int,
        group: str,
        epoch: int,
        *,
        credit: int = 100,
    ) -> Taking:
        """For the worker that owns a partition for a group: `async with queues.take(…) as taking`.

        See `Taking`.
        """
        return Taking(self._line, queue, part, group, epoch, credit)

    def consume(
        self, queue: str, group: str, *, credit: int = 100, definition: GroupDef | None = None
    ) -> Consumer:
        """For a program that is not in the cluster: `async with queues.consume(…) as consumer`.

        See `Consumer`. Programs that can reach ZooKeeper use a `Worker`.
        """
        return Consumer(self._line, queue, group, credit, definition)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _call(self, method: str, request: Any, *, repeatable: bool = True) -> Any:
        return await self._line.call(QueuesStub, method, request, repeatable=repeatable)

    async def _letters(
        self, method: str, queue: str, group: str, part: int, numbers: Sequence[int], most: int
    ) -> Replayed:
        request = pb.LettersRequest(queue=queue, group=group, part=part, numbers=numbers, most=most)
        answer = await self._call(method, request, repeatable=False)
        return Replayed(answer.letters, answer.left)

    def _noted(self, queue: pb.Queue) -> QueueDef:
        definition = queue_from_wire(queue)
        self._definitions[definition.name] = definition
        return definition

    async def _definition(self, queue: str, above: int) -> QueueDef:
        known = self._definitions.get(queue)
        return known if known is not None and known.version > above else await self.get(queue)

    async def _find(self) -> Sequence[str]:
        if self._nodes:
            return self._nodes
        config = self._config or load(environment=os.environ)
        deadline = time.monotonic() + self._line.timeout_s
        while True:
            async with cluster_log(config) as log:
                replica = await current(log)
            infos = [replica.peers[peer] for peer in replica.members]
            found = [info.address for info in infos if info.address]
            if found or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.2)
        if not found:
            raise NotServed("the cluster has no nodes: start one with `remuda peer`")
        return found
