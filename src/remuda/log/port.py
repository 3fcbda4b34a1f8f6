"""What every cluster log answers."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from remuda.errors import Collected
from remuda.log.record import Record


class Origin(Struct, frozen=True):
    """What the entries up to and including `position` amount to."""

    position: int
    state: bytes


class Placed(Struct, frozen=True):
    """A record and its place in the order."""

    position: int
    record: Record


class ClusterLog(Protocol):
    async def append(self, record: Record) -> int:
        """Write one entry and answer its position."""
        ...

    async def read(self, start: int, limit: int) -> list[Placed]:
        """Up to `limit` entries from `start` on; none at the end.

        Raises Collected when `start` has been trimmed, and what `record.decode` raises when the
        very first of them cannot be read: those before a bad entry are still answered.
        """
        ...

    async def wait(self, position: int) -> None:
        """Return when the entry at `position` is there, or was."""
        ...

    async def end(self) -> int:
        """The position that the next append would get, had nobody else appended."""
        ...

    async def first(self) -> int:
        """The oldest position that may still be read."""
        ...

    async def origin(self) -> Origin | None: ...

    async def set_origin(self, origin: Origin) -> bool:
        """Move the origin forward; False if it is there or further already."""
        ...

    async def trim(self) -> int:
        """Delete what the origin covers; answers how many entries that were."""
        ...


def collected(start: int, origin: int) -> Collected:
    return Collected(
        f"entry {start} of the cluster log has been collected: "
        f"the oldest state that can be shown is that of entry {origin}",
        origin,
    )
