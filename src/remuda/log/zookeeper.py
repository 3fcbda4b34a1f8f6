"""The cluster log on ZooKeeper.

    /log/e-0000000042     entry 42, a persistent sequential znode
    /origin               which origin counts, and the oldest entry that may exist
    /origins/42-…-000     that origin's state in parts, as one znode holds 1 MiB

Positions have no gaps, because `/log` has no other children: ZooKeeper numbers sequential
znodes by how many children were ever made. The same count, read from `/log`'s own stat, is the
end of the log, so nothing ever lists its children.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from typing import Self

import msgspec
from msgspec import Raw, Struct

from remuda.errors import (
    AppendUncertain,
    Collected,
    CorruptEntry,
    Disconnected,
    MissingEntry,
)
from remuda.log.port import Origin, Placed, collected
from remuda.log.record import Record, decode, encode
from remuda.zookeeper.connection import Connection, no_cluster

LOG = "/log"
ORIGIN = "/origin"
ORIGINS = "/origins"

_PART_BYTES = 900_000
_TRIM_BATCH = 500
# A multi-read's answer is held in memory whole: the window shrinks when entries are large.
_WINDOW_MIN, _WINDOW_MAX = 8, 512
_ANSWER_BYTES_MAX = 8_000_000


class _Pointer(Struct, frozen=True):
    """What `/origin` holds. Before the first gc there is no origin, and entry 0 is the first."""

    parts: tuple[str, ...] = ()
    position: int = -1
    first: int = 0


class ZooKeeperLog:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._window = 64
        # Entries below this were there before any append that is under way now.
        self._end_seen = 0

    @classmethod
    async def open(cls, connection: Connection) -> Self:
        """The log below the connection's chroot; laid out when it is new."""
        await connection.ensure(LOG)
        await connection.ensure(ORIGINS)
        await connection.ensure(ORIGIN, msgspec.json.encode(_Pointer()))
        return await cls.find(connection)

    @classmethod
    async def find(cls, connection: Connection) -> Self:
        """The log that is there; nothing is written."""
        if not await connection.exists(ORIGIN):
            raise no_cluster(connection.address)
        log = cls(connection)
        log._end_seen = await log.end()
        return log

    # ── entries ──────────────────────────────────────────────────────────────────────────────

    async def append(self, record: Record) -> int:
        data = encode(record)
        search_from = self._end_seen
        while True:
            try:
                path = await self._connection.create(f"{LOG}/e-", data, sequence=True)
            except Disconnected:
                position = await self._find(record.id, search_from)
                if position is None:
                    continue
            else:
                position = int(path[-10:])
            self._end_seen = max(self._end_seen, position + 1)
            return position

    async def read(self, start: int, limit: int) -> list[Placed]:
        found = await self._fetch(start, limit)
        if not found and await self._should_be_there(start):
            found = await self._fetch(start, limit)
            if not found and await self._should_be_there(start):
                raise MissingEntry(
                    f"entry {start} of the cluster log was deleted by somebody else than "
                    "`remuda gc`: restore the znode from a backup of ZooKeeper"
                )
        placed: list[Placed] = []
        for position, data in enumerate(found, start):
            try:
                placed.append(Placed(position, decode(data, position)))
            except Exception:
                if not placed:
                    raise
                break
        self._end_seen = max(self._end_seen, start + len(placed))
        return placed

    async def wait(self, position: int) -> None:
        while True:
            changed = asyncio.Event()
            there, pointer, end = await asyncio.gather(
                self._connection.exists(_entry(position), changed.set),
                self._pointer(),
                self.end(),
            )
            if there or position <= pointer.position or position < end:
                return
            await changed.wait()

    async def end(self) -> int:
        return (await self._connection.children(LOG)).created

    async def first(self) -> int:
        return (await self._pointer()).first

    async def void(self, position: int) -> None:
        """Put a command that does nothing in the place of an entry that no build can read."""
        answer = await self._connection.get(_entry(position))
        if answer is None:
            raise MissingEntry(f"there is no entry {position} in the cluster log to void")
        data, version = answer
        try:
            record = decode(data, position)
        except CorruptEntry:
            nothing = Record(f"void-{position}", "operator", 0, Raw(b'{"type":"void"}'))
            await self._connection.set(_entry(position), encode(nothing), version)
        else:
            raise CorruptEntry(
                f"entry {position} is not corrupt: {bytes(record.command)[:80]!r} by {record.by}; "
                "only an entry that cannot be read may be voided"
            )

    # ── origin ───────────────────────────────────────────────────────────────────────────────

    async def origin(self) -> Origin | None:
        while True:
            pointer = await self._pointer()
            if not pointer.parts:
                return None
            parts = await self._connection.get_many([f"{ORIGINS}/{part}" for part in pointer.parts])
            whole = [part for part in parts if part is not None]
            if len(whole) == len(pointer.parts):
                return Origin(pointer.position, zlib.decompress(b"".join(whole)))
            # Replaced between the two reads: the pointer names a newer one by now.

    async def set_origin(self, origin: Origin) -> bool:
        packed = zlib.compress(origin.state, level=1)
        chunks = [packed[i : i + _PART_BYTES] for i in range(0, len(packed), _PART_BYTES)]
        # Two writers of one position write the same parts: the state is a pure function of it.
        names = tuple(f"{origin.position}-{i:03}" for i in range(len(chunks)))
        if (await self._pointer()).position >= origin.position:
            return False
        for name, chunk in zip(names, chunks, strict=True):
            await self._connection.ensure(f"{ORIGINS}/{name}", chunk)
        while True:
            pointer, version = await self._versioned_pointer()
            if pointer.position >= origin.position:
                return False
            moved = _Pointer(names, origin.position, pointer.first)
            if await self._move_pointer(moved, version):
                return True

    async def trim(self) -> int:
        pointer = await self._pointer()
        gone = range(pointer.first, pointer.position + 1)
        for i in range(0, len(gone), _TRIM_BATCH):
            await self._connection.delete_many([_entry(p) for p in gone[i : i + _TRIM_BATCH]])
        await self._delete_old_parts(pointer)
        await self._advance_first(pointer.position + 1)
        return len(gone)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _fetch(self, start: int, limit: int) -> Sequence[bytes]:
        """The raw entries from `start` on, up to the first that is not there."""
        count = min(limit, self._window)
        answers = await self._connection.get_many([_entry(start + i) for i in range(count)])
        found: list[bytes] = []
        for answer in answers:
            if answer is None:
                break
            found.append(answer)
        if sum(map(len, found)) > _ANSWER_BYTES_MAX:
            self._window = max(_WINDOW_MIN, self._window // 2)
        else:
            self._window = min(_WINDOW_MAX, self._window * 2)
        return found

    async def _should_be_there(self, position: int) -> bool:
        pointer, end = await asyncio.gather(self._pointer(), self.end())
        if position <= pointer.position:
            raise collected(position, pointer.position)
        return position < end

    async def _find(self, record_id: str, start: int) -> int | None:
        """Where an append that was cut off has put its entry, if it did.

        Within one session this is final: requests that an old connection left behind are either
        done before the sync, or refused because the session has moved on.
        """
        await self._connection.settled()
        await self._connection.sync(LOG)
        end = await self.end()
        position = start
        try:
            while position < end:
                placed = await self.read(position, _WINDOW_MAX)
                for one in placed:
                    if one.record.id == record_id:
                        return one.position
                position += len(placed)
        except Collected:
            raise AppendUncertain(
                "the connection broke during an append, and a gc has since collected the part of "
                "the log that would tell whether it was written: look at the cluster's state "
                "before trying again"
            ) from None
        return None

    async def _pointer(self) -> _Pointer:
        return (await self._versioned_pointer())[0]

    async def _versioned_pointer(self) -> tuple[_Pointer, int]:
        answer = await self._connection.get(ORIGIN)
        if answer is None:
            raise MissingEntry(
                f"{ORIGIN} is gone from the cluster's znodes: restore it from a backup of ZooKeeper"
            )
        return msgspec.json.decode(answer[0], type=_Pointer), answer[1]

    async def _advance_first(self, first: int) -> None:
        while True:
            pointer, version = await self._versioned_pointer()
            if pointer.first >= first:
                return
            moved = _Pointer(pointer.parts, pointer.position, first)
            if await self._move_pointer(moved, version):
                return

    async def _move_pointer(self, moved: _Pointer, version: int) -> bool:
        try:
            return await self._connection.set(ORIGIN, msgspec.json.encode(moved), version)
        except Disconnected:
            return await self._pointer() == moved

    async def _delete_old_parts(self, pointer: _Pointer) -> None:
        """Those of older origins only: a newer one may be on its way."""
        names = await self._connection.list(ORIGINS)
        old = [name for name in names if int(name.split("-")[0]) < pointer.position]
        await self._connection.delete_many([f"{ORIGINS}/{name}" for name in old])


def _entry(position: int) -> str:
    return f"{LOG}/e-{position:010}"
