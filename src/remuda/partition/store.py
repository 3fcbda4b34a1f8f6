"""What a partition needs of its disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from remuda.errors import StaleEpoch


class Head(Struct, frozen=True):
    """How far a store is: written with every batch, and the same batch writes what it tells of."""

    epoch: int = 0
    position: int = 0
    """Of the last command that is in the state; 0 before the first."""
    at_ms: int = 0
    """The time of that command."""
    kept_from: int = 1
    """The oldest command that is still kept; one more than `position` if there is none."""


class Batch(Struct, frozen=True):
    """What one round writes. Commands stand at the positions up to the head's, one each."""

    head: Head
    commands: Sequence[bytes] = ()
    changes: Mapping[bytes, bytes | None] = {}
    """None for a key that is deleted."""


class Store(Protocol):
    @property
    def head(self) -> Head: ...

    def get(self, key: bytes) -> bytes | None: ...

    def scan(
        self, start: bytes, end: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """From `start` on and before `end`; what is committed meanwhile may be seen or not."""
        ...

    def commands(self, first: int, last: int) -> Iterator[tuple[int, bytes]]:
        """Those that are kept among the positions from `first` to `last`, both included."""
        ...

    def commit(self, batch: Batch) -> None:
        """Write all of it or nothing, and return when it is durable.

        Blocks; may be called from any thread, while others read. Raises `StaleEpoch` if a later
        owner has opened the store, `DiskFull`, or `StoreFailed`; whether the batch is there after
        one of the last two, only opening the store again can tell.
        """
        ...

    def checkpoint(self, to: Path) -> Head:
        """Make a copy at `to` that can be opened by itself; answers its head."""
        ...

    def close(self) -> None: ...


def refuse_stale(what: str, seen: int, epoch: int) -> None:
    if epoch < seen:
        raise StaleEpoch(
            f"{what} has been opened by a later owner: it is at epoch {seen}, "
            f"and epoch {epoch} may not write; ask the new owner"
        )
