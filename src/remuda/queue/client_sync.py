"""Queues for programs without an event loop: `with SyncQueues() as queues: queues.send(…)`.

The same as `Queues`, call by call; the event loop runs in a thread of its own. May be used from
several threads at once.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar

from remuda.config import Config
from remuda.queue.client import TRACK_S, Queues, Tracked
from remuda.queue.commands.replay import Replayed
from remuda.queue.model import (
    DeadLetter,
    GroupDef,
    Message,
    NewMessage,
    QueueDef,
    QueueSettings,
    RetryDef,
)
from remuda.queue.reading import PartStats
from remuda.queue.sender import Place

T = TypeVar("T")


class SyncQueues:
    """What each call does is said at `Queues`."""

    def __init__(self, *nodes: str, config: Config | None = None, timeout_s: float = 30.0) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="remuda-queues", daemon=True
        )
        self._thread.start()
        self._queues = self._run(_made(nodes, config, timeout_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self._run(self._queues.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # ── definitions ──────────────────────────────────────────────────────────────────────────

    def create(self, queue: str, parts: int = 1, settings: QueueSettings | None = None) -> QueueDef:
        return self._run(self._queues.create(queue, parts, settings))

    def alter(
        self,
        queue: str,
        *,
        parts: int | None = None,
        settings: QueueSettings | None = None,
        if_version: int | None = None,
    ) -> QueueDef:
        return self._run(
            self._queues.alter(queue, parts=parts, settings=settings, if_version=if_version)
        )

    def get(self, queue: str) -> QueueDef:
        return self._run(self._queues.get(queue))

    def seal(self, queue: str) -> QueueDef:
        return self._run(self._queues.seal(queue))

    def create_group(self, queue: str, group: str, definition: GroupDef | None = None) -> QueueDef:
        return self._run(self._queues.create_group(queue, group, definition))

    def alter_group(self, queue: str, group: str, retry: RetryDef | None) -> QueueDef:
        return self._run(self._queues.alter_group(queue, group, retry))

    def drop_group(self, queue: str, group: str) -> QueueDef:
        return self._run(self._queues.drop_group(queue, group))

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    def send(
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
        return self._run(
            self._queues.send(
                queue,
                body,
                key=key,
                headers=headers,
                dedup=dedup,
                delay_ms=delay_ms,
                ttl_ms=ttl_ms,
            )
        )

    def send_many(self, queue: str, messages: Iterable[NewMessage]) -> list[Place]:
        return self._run(self._queues.send_many(queue, messages))

    def send_tracked(
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
        return self._run(
            self._queues.send_tracked(
                queue,
                body,
                key=key,
                headers=headers,
                dedup=dedup,
                within_s=within_s,
                timeout_s=timeout_s,
            )
        )

    def peek(
        self, queue: str, part: int, start: int = 0, limit: int = 100
    ) -> list[tuple[int, Message]]:
        return self._run(self._queues.peek(queue, part, start, limit))

    def purge(self, queue: str, part: int | None = None) -> int:
        return self._run(self._queues.purge(queue, part))

    def stats(self, queue: str, part: int | None = None) -> dict[int, PartStats]:
        return self._run(self._queues.stats(queue, part))

    # ── groups ───────────────────────────────────────────────────────────────────────────────

    def rewind(
        self,
        queue: str,
        group: str,
        *,
        to_position: int | None = None,
        to_ms: int | None = None,
        part: int | None = None,
    ) -> dict[int, int]:
        return self._run(
            self._queues.rewind(queue, group, to_position=to_position, to_ms=to_ms, part=part)
        )

    def dead_letters(
        self, queue: str, group: str, part: int, start: int = 0, limit: int = 100
    ) -> list[tuple[int, DeadLetter]]:
        return self._run(self._queues.dead_letters(queue, group, part, start, limit))

    def replay(
        self, queue: str, group: str, part: int, numbers: Sequence[int] = (), *, most: int = 100
    ) -> Replayed:
        return self._run(self._queues.replay(queue, group, part, numbers, most=most))

    def discard(
        self, queue: str, group: str, part: int, numbers: Sequence[int] = (), *, most: int = 100
    ) -> Replayed:
        return self._run(self._queues.discard(queue, group, part, numbers, most=most))

    def list(self) -> list[QueueDef]:
        return self._run(self._queues.list())

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()


async def _made(nodes: Sequence[str], config: Config | None, timeout_s: float) -> Queues:
    """In the loop that it is used in."""
    return Queues(*nodes, config=config, timeout_s=timeout_s)
