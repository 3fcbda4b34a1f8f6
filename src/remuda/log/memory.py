"""A cluster log in memory: for tests and the simulator.

The plain methods are the log; the async ones below make it a `ClusterLog`. The simulator, which
has no event loop, calls the plain ones.
"""

from __future__ import annotations

import asyncio

from remuda.log.port import Origin, Placed, collected
from remuda.log.record import Record, decode, encode


class MemoryLog:
    def __init__(self) -> None:
        self._entries: list[bytes] = []
        self._positions: dict[str, int] = {}
        self._first = 0
        self._origin: Origin | None = None
        self._grown = asyncio.Event()

    # ── the log ──────────────────────────────────────────────────────────────────────────────

    def append_now(self, record: Record) -> int:
        known = self._positions.get(record.id)
        if known is not None:
            return known
        self._entries.append(encode(record))
        position = self._positions[record.id] = self.end_now() - 1
        self._grown.set()
        self._grown = asyncio.Event()
        return position

    def read_now(self, start: int, limit: int) -> list[Placed]:
        if start < self._first:
            assert self._origin is not None
            raise collected(start, self._origin.position)
        offset = start - self._first
        placed: list[Placed] = []
        for data in self._entries[offset : offset + limit]:
            position = start + len(placed)
            placed.append(Placed(position, decode(data, position)))
        return placed

    def end_now(self) -> int:
        return self._first + len(self._entries)

    def origin_now(self) -> Origin | None:
        return self._origin

    def set_origin_now(self, origin: Origin) -> bool:
        if self._origin is not None and self._origin.position >= origin.position:
            return False
        self._origin = origin
        return True

    def trim_now(self) -> int:
        if self._origin is None:
            return 0
        count = self._origin.position + 1 - self._first
        del self._entries[:count]
        self._first += count
        return count

    # ── the port ─────────────────────────────────────────────────────────────────────────────

    async def append(self, record: Record) -> int:
        return self.append_now(record)

    async def read(self, start: int, limit: int) -> list[Placed]:
        return self.read_now(start, limit)

    async def wait(self, position: int) -> None:
        while self.end_now() <= position:
            await self._grown.wait()

    async def end(self) -> int:
        return self.end_now()

    async def first(self) -> int:
        return self._first

    async def origin(self) -> Origin | None:
        return self._origin

    async def set_origin(self, origin: Origin) -> bool:
        return self.set_origin_now(origin)

    async def trim(self) -> int:
        return self.trim_now()
