"""What a group has done in a partition of a queue.

All before the *frontier* is done, except for the *holes*; all from the frontier on is not, except
for what is spent. A hole is *free* when it may be taken at its due time, and *parked* while an
earlier hole has its key. A key with a hole is *blocked*: what comes later with it waits.

So nothing is done before what came earlier with the same key, however many handlers run at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from remuda.partition.keys import number
from remuda.partition.machine import View
from remuda.queue.layout import GroupKeys, encode, read_hole
from remuda.queue.model import PARKED, GroupRun, Hole

if TYPE_CHECKING:
    from remuda.queue.part import Part


# To read all of so many beats looking each key up.
FEW_HOLES = 1_000


def keys_of_holes(view: View, keys: GroupKeys, run: GroupRun) -> Iterator[str]:
    """The keys that are blocked, as often as there are holes of them."""
    for _, value in view.scan(keys.hole(run.committed), keys.hole(run.frontier)):
        key = read_hole(value).key
        if key:
            yield key


class Progress:
    __slots__ = ("_blocked", "_keys", "_part", "_saved", "_state", "freed", "group", "run")

    def __init__(self, part: Part, group: str, run: GroupRun, saved: bytes = b"") -> None:
        self.group = group
        self.run = run
        self.freed = False
        """A key that was blocked is not any more."""
        self._saved = saved
        self._blocked: Counter[str] | None = None
        self._part = part
        self._state = part.state
        self._keys = part.keys.group(group)

    def save(self) -> None:
        data = encode(self.run)
        if data != self._saved:
            self._state.put(self._keys.run, data)

    def is_done(self, position: int) -> bool:
        if position < self.run.frontier:
            return not self.run.holes or self.hole(position) is None
        return self._part.is_spent_for(self.group, position)

    def hole(self, position: int) -> Hole | None:
        data = self._state.get(self._keys.hole(position))
        return None if data is None else read_hole(data)

    # ── forward ──────────────────────────────────────────────────────────────────────────────

    def finish(self, start: int, end: int) -> int | None:
        """Messages are handled; `settle` must follow.

        Answers the first that may not be done, because an earlier one of its key is not.
        """
        run = self.run
        for position in range(start, end):
            if position == run.frontier and not run.holes and not run.passed:
                run.done += end - position
                run.frontier = end
                return None
            if not self._finish(position):
                return position
        return None

    def open(self, position: int) -> Hole | None:
        """The hole at a position; at the frontier or later, one is made. None: it is done."""
        if position < self.run.frontier:
            return self.hole(position)
        self._reach(position + 1)
        return self.hole(position)

    def postpone(self, position: int, hole: Hole) -> None:
        """Put a free hole back as it is now, to be taken at its new time."""
        before = self.hole(position)
        if before is not None:
            self._state.delete(self._keys.due(before.due_ms, position))
            self.run.retrying -= before.attempts > 0
        self.run.retrying += hole.attempts > 0
        self._put(position, hole)

    def close(self, position: int, hole: Hole) -> None:
        """A hole is done, and the next one of its key is free, if it was."""
        run = self.run
        self._state.delete(self._keys.hole(position))
        run.holes -= 1
        run.retrying -= hole.attempts > 0
        if hole.due_ms != PARKED:
            self._state.delete(self._keys.due(hole.due_ms, position))
        if not hole.key:
            return
        self._state.delete(self._keyed(hole.key, position))
        if self._blocked is not None:
            self._blocked[hole.key] -= 1
        if hole.due_ms == PARKED:
            return
        heir = self._first_of(hole.key) if self._is_blocked(hole.key) else None
        if heir is None:
            self.freed = True
            return
        parked = self.hole(heir)
        assert parked is not None
        self._put(heir, replace(parked, due_ms=self._part.now_ms))

    def expire(self, position: int) -> None:
        """A message is spent from now on."""
        if position >= self.run.frontier:
            self.run.passed += 1
        else:
            hole = self.hole(position)
            if hole is None:
                return
            self.close(position, hole)
        self.run.expired += 1
        self.settle()

    def settle(self) -> None:
        """Step over what is spent, and find the first position that is not done."""
        run, part = self.run, self._part
        while run.passed and run.frontier < part.run.next:
            if not part.is_spent_for(self.group, run.frontier):
                break
            run.frontier += 1
            run.passed -= 1
        if run.holes:
            start = self._keys.hole(run.committed)
            for key, _ in self._state.scan(start, self._keys.hole(run.frontier), limit=1):
                run.committed = number(key, len(key) - 8)
        else:
            run.committed = run.frontier
            run.due_ms = 0

    # ── anywhere ─────────────────────────────────────────────────────────────────────────────

    def move(self, position: int) -> None:
        """All before a position is done, and all from there on is not, whatever was before."""
        run = self.run
        if run.holes:
            for start, end in self._keys.working():
                for key in [key for key, _ in self._state.scan(start, end)]:
                    self._state.delete(key)
        run.turn += 1
        self._blocked = None
        run.holes = run.retrying = run.due_ms = 0
        run.frontier = run.committed = position
        run.passed = self._part.spent_for(self.group, position)
        self.settle()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _finish(self, position: int) -> bool:
        run = self.run
        if position >= run.frontier:
            self._reach(position)
            if run.passed and self._part.is_spent_for(self.group, position):
                run.passed -= 1
                run.frontier = position + 1
                return True
            if run.holes and self._is_blocked(self._part.message(position).key):
                return False
            run.frontier = position + 1
        else:
            hole = self.hole(position) if run.holes else None
            if hole is None:
                return True
            if hole.due_ms == PARKED:
                return False
            self.close(position, hole)
        run.done += 1
        return True

    def _reach(self, position: int) -> None:
        """Move the frontier; what it moves over and is not spent becomes a hole."""
        run, part = self.run, self._part
        while run.frontier < position:
            at = run.frontier
            run.frontier += 1
            if run.passed and part.is_spent_for(self.group, at):
                run.passed -= 1
                continue
            key = part.message(at).key
            parked = bool(run.holes) and self._is_blocked(key)
            run.holes += 1
            if key:
                self._state.put(self._keyed(key, at), b"")
                if self._blocked is not None:
                    self._blocked[key] += 1
            self._put(at, Hole(key, PARKED if parked else part.now_ms))

    def _put(self, position: int, hole: Hole) -> None:
        self._state.put(self._keys.hole(position), encode(hole))
        if hole.due_ms != PARKED:
            self._state.put(self._keys.due(hole.due_ms, position), b"")
            if not self.run.due_ms or hole.due_ms < self.run.due_ms:
                self.run.due_ms = hole.due_ms

    def _is_blocked(self, key: str) -> bool:
        if not key:
            return False
        if self._blocked is None:
            if self.run.holes > FEW_HOLES:
                return self._first_of(key) is not None
            self._blocked = Counter(keys_of_holes(self._state, self._keys, self.run))
        return self._blocked[key] > 0

    def _first_of(self, key: str) -> int | None:
        # A key's holes are taken first to last, so none is left before the first undone message.
        start = self._keyed(key, self.run.committed)
        for found, _ in self._state.scan(start, self._keyed(key, self._part.run.next), limit=1):
            return number(found, len(found) - 8)
        return None

    def _keyed(self, key: str, position: int) -> bytes:
        return self._keys.of_key(key) + position.to_bytes(8, "big")
