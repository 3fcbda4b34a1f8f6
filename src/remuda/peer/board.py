"""What peers show of their work: small values beside the log, of which only the latest counts.

    /board/<key>

The log is for what all must agree on. How far a job has come changes every second, and nobody
decides anything by it: a value that is lost or late does no harm.
"""

from __future__ import annotations

import asyncio
from urllib.parse import quote, unquote

from remuda.errors import Disconnected
from remuda.zookeeper.connection import Connection

BOARD = "/board"
_WHATEVER_VERSION = -1


class Board:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def show(self, key: str, value: bytes) -> None:
        """Put up a value in place of the one before. Not done if the connection breaks."""
        path = _path(key)
        try:
            if await self._connection.exists(path):
                await self._connection.set(path, value, _WHATEVER_VERSION)
            else:
                await self._connection.ensure(BOARD)
                await self._connection.ensure(path, value)
        except Disconnected:
            pass

    async def read(self, key: str) -> bytes | None:
        found = await self._connection.get(_path(key))
        return None if found is None else found[0]

    async def keys(self) -> list[str]:
        return [unquote(name) for name in await self._connection.list(BOARD)]

    async def take_down(self, *keys: str) -> None:
        await self._connection.delete_many([_path(key) for key in keys])

    async def changed(self, key: str) -> None:
        """When the value is another, or may be."""
        changed = asyncio.Event()
        await self._connection.exists(_path(key), changed.set)
        await changed.wait()


def _path(key: str) -> str:
    return f"{BOARD}/{quote(key, safe='')}"
