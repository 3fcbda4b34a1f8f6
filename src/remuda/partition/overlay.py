"""What rounds have changed, over a store that does not have it yet.

There are two layers at most: the round that is being applied, and the one before it while that
is written. Reads see the newest first and the store last. While a round is written its changes
are in the store, or not, or both here and there, and nobody can tell.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import islice
from typing import Final, Protocol

# What a layer answers for a key that it knows nothing of; None is a key that was deleted.
_ABSENT: Final = object()
# Beyond so many new keys, sorting all beats putting each in its place.
_FEW = 64


class Reads(Protocol):
    """What an overlay lies on."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(
        self, start: bytes, end: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]: ...


class Overlay:
    def __init__(self, below: Reads) -> None:
        self._below = below
        self._changes: dict[bytes, bytes | None] = {}
        self._top = _Layer(self._changes)
        self._sealed: _Layer | None = None
        self._undo: list[tuple[bytes, object]] = []

    # ── reads ────────────────────────────────────────────────────────────────────────────────

    def get(self, key: bytes) -> bytes | None:
        value = self._changes.get(key, _ABSENT)
        if value is _ABSENT:
            if self._sealed is not None:
                value = self._sealed.changes.get(key, _ABSENT)
            if value is _ABSENT:
                return self._below.get(key)
        return value  # type: ignore[return-value]

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        found = self._backward(start, end) if reverse else self._forward(start, end)
        return found if limit is None else islice(found, limit)

    # ── writes ───────────────────────────────────────────────────────────────────────────────

    def put(self, key: bytes, value: bytes) -> None:
        self._write(key, value)

    def delete(self, key: bytes) -> None:
        self._write(key, None)

    def mark(self) -> int:
        """A place to come back to. Marks are forgotten when a round is sealed."""
        return len(self._undo)

    def rollback(self, mark: int) -> None:
        """Take back every write since the mark."""
        while len(self._undo) > mark:
            key, before = self._undo.pop()
            if before is _ABSENT:
                del self._changes[key]
            else:
                self._changes[key] = before  # type: ignore[assignment]

    def settle(self) -> None:
        """What was written so far stays: it cannot be rolled back any more."""
        self._undo.clear()

    # ── rounds ───────────────────────────────────────────────────────────────────────────────

    def seal(self) -> dict[bytes, bytes | None]:
        """End the round: its changes, for the store. None means deleted.

        The next round goes on top at once; `written` must follow before the next `seal`.
        """
        if self._sealed is not None:
            raise AssertionError("a round is sealed while the one before it is not written")
        self._sealed, changes = self._top, self._changes
        self._changes = {}
        self._top = _Layer(self._changes)
        self._undo.clear()
        return changes

    def written(self) -> None:
        """The store has what was sealed."""
        self._sealed = None

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _write(self, key: bytes, value: bytes | None) -> None:
        before = self._changes.get(key, _ABSENT)
        if before is _ABSENT:
            self._top.fresh.append(key)
        self._undo.append((key, before))
        self._changes[key] = value

    def _layers(self) -> tuple[_Layer, ...]:
        return (self._top,) if self._sealed is None else (self._top, self._sealed)

    def _forward(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        layers = self._layers()
        stored = self._below.scan(start, end)
        ahead = next(stored, None)
        at = start
        while True:
            key = None if ahead is None else ahead[0]
            for layer in layers:
                candidate = layer.first(at, end)
                if candidate is not None and (key is None or candidate < key):
                    key = candidate
            if key is None:
                return
            value = self._layered(layers, key)
            if ahead is not None and ahead[0] == key:
                if value is _ABSENT:
                    value = ahead[1]
                ahead = next(stored, None)
            at = key + b"\x00"
            if isinstance(value, bytes):
                yield key, value

    def _backward(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        layers = self._layers()
        stored = self._below.scan(start, end, reverse=True)
        ahead = next(stored, None)
        before = end
        while True:
            key = None if ahead is None else ahead[0]
            for layer in layers:
                candidate = layer.last(start, before)
                if candidate is not None and (key is None or candidate > key):
                    key = candidate
            if key is None:
                return
            value = self._layered(layers, key)
            if ahead is not None and ahead[0] == key:
                if value is _ABSENT:
                    value = ahead[1]
                ahead = next(stored, None)
            before = key
            if isinstance(value, bytes):
                yield key, value

    @staticmethod
    def _layered(layers: tuple[_Layer, ...], key: bytes) -> object:
        for layer in layers:
            value = layer.changes.get(key, _ABSENT)
            if value is not _ABSENT:
                return value
        return _ABSENT


class _Layer:
    """One round's changes, and their keys in order as soon as somebody scans.

    A key that was rolled back stays in the order: whoever finds it there asks `changes`.
    """

    def __init__(self, changes: dict[bytes, bytes | None]) -> None:
        self.changes = changes
        self.fresh: list[bytes] = []
        self._order: list[bytes] = []

    def first(self, at: bytes, end: bytes) -> bytes | None:
        """The first key from `at` on, before `end`."""
        order = self._sorted()
        i = bisect_left(order, at)
        return order[i] if i < len(order) and order[i] < end else None

    def last(self, start: bytes, before: bytes) -> bytes | None:
        """The last key before `before`, from `start` on."""
        order = self._sorted()
        i = bisect_left(order, before) - 1
        return order[i] if i >= 0 and order[i] >= start else None

    def _sorted(self) -> list[bytes]:
        if self.fresh:
            if len(self.fresh) <= _FEW:
                for key in self.fresh:
                    insort(self._order, key)
            else:
                self._order.extend(self.fresh)
                self._order.sort()
            self.fresh.clear()
        return self._order
