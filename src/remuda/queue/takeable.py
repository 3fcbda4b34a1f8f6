"""What the owner of a partition may take next for a group: a function of the state and the time.

- What blocks is the key: holes that are due, then what comes after the frontier and whose key has
  no hole. What blocks is the partition: the same, but nothing after a message that is to be tried
  again.
- A message that should have expired is not handed out, and what waits for it waits: the clock
  proposes its end at this very moment.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from msgspec import Struct

from remuda.partition.keys import number
from remuda.partition.machine import View
from remuda.queue.layout import (
    GroupKeys,
    PartKeys,
    known,
    part_keys,
    read_group_run,
    read_hole,
    read_message,
    read_queue_def,
    read_queue_run,
)
from remuda.queue.limits import OPEN_MAX
from remuda.queue.model import GroupRun, Message, QueueDef, QueueRun
from remuda.queue.progress import FEW_HOLES, keys_of_holes
from remuda.queue.reading import is_ended


class Taken(Struct, frozen=True, array_like=True):
    position: int
    attempt: int
    message: Message


class Takeable(Struct, frozen=True, array_like=True):
    taken: tuple[Taken, ...] = ()
    """In order of position."""
    turn: int = 0
    wake_ms: int = -1
    """When there may be more though nothing happens; -1: never."""
    ended: bool = False


def takeable(
    view: View,
    queue: str,
    part: int,
    group: str,
    *,
    now_ms: int,
    limit: int,
    held: Container[int] = (),
    after: int = -1,
) -> Takeable | None:
    """None: there is no such queue, partition or group here.

    `held` is what the owner has taken already. A reader that has seen all up to `after`, and held
    it or was not given it, may say so to save the way; when a commit has freed a key, or anything
    was rewound, failed or purged, it begins again with -1.
    """
    keys = part_keys(queue, part)
    data, defined = view.get(keys.run), view.get(known(queue))
    if data is None or defined is None:
        return None
    definition = read_queue_def(defined)
    progress = view.get(keys.group(group).run) if group in definition.groups else None
    if progress is None:
        return None
    reader = _Reader(
        view, keys, definition, read_queue_run(data), group, read_group_run(progress), now_ms
    )
    return reader.take(limit, held, after)


class _Reader:
    def __init__(
        self,
        view: View,
        keys: PartKeys,
        definition: QueueDef,
        queue_run: QueueRun,
        group: str,
        run: GroupRun,
        now_ms: int,
    ) -> None:
        self._view = view
        self._keys = keys
        self._definition = definition
        self._queue_run = queue_run
        self._group = group
        self._group_keys: GroupKeys = keys.group(group)
        self._run = run
        self._now_ms = now_ms
        self._blocked: dict[str, bool] = {}
        self._keys_of_holes: frozenset[str] | None = None

    def take(self, limit: int, held: Container[int], after: int) -> Takeable:
        run = self._run
        stops = run.retrying > 0 and self._definition.retry_of(self._group).blocks == "partition"
        found: list[Taken] = []
        sources = [self._until_retry() if stops else self._due()]
        if not stops:
            sources.append(self._from(max(run.frontier, after + 1), held))
        for source in sources:
            for taken in source:
                if len(found) >= limit:
                    break
                if taken.position not in held:
                    found.append(taken)
        found.sort(key=lambda taken: taken.position)
        ended = is_ended(self._definition, self._queue_run, run)
        return Takeable(tuple(found), run.turn, self._wake_ms(), ended)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _due(self) -> Iterator[Taken]:
        if not self._run.holes:
            return
        start, end = self._group_keys.due(self._run.due_ms), self._group_keys.due(self._now_ms + 1)
        for key, _ in self._view.scan(start, end):
            taken = self._hole(number(key, len(key) - 8))
            if not self._is_over(taken.message):
                yield taken

    def _until_retry(self) -> Iterator[Taken]:
        """Holes in order, up to the first that has failed."""
        start = self._group_keys.hole(self._run.committed)
        for key, value in self._view.scan(start, self._group_keys.hole(self._run.frontier)):
            hole = read_hole(value)
            if 0 <= hole.due_ms <= self._now_ms:
                taken = self._hole(number(key, len(key) - 8))
                if not self._is_over(taken.message):
                    yield taken
            if hole.attempts:
                return

    def _from(self, start: int, held: Container[int]) -> Iterator[Taken]:
        run, keys = self._run, self._keys
        room = OPEN_MAX - run.holes
        end = min(self._queue_run.next, run.frontier + max(room, 0))
        if start >= end:
            return
        strict = self._definition.retry_of(self._group).blocks == "partition"
        for key, value in self._view.scan(keys.message(start), keys.message(end)):
            position = number(key, len(key) - 8)
            if position in held or self._is_spent(position):
                continue
            message = read_message(value)
            if self._is_over(message):
                if strict:
                    return
                self._blocked[message.key] = True
            elif not self._is_blocked(message.key):
                yield Taken(position, 1, message)

    def _hole(self, position: int) -> Taken:
        hole = self._view.get(self._group_keys.hole(position))
        message = self._view.get(self._keys.message(position))
        assert hole is not None
        assert message is not None
        return Taken(position, read_hole(hole).attempts + 1, read_message(message))

    def _is_over(self, message: Message) -> bool:
        return 0 < message.expires_ms <= self._now_ms

    def _is_spent(self, position: int) -> bool:
        if not self._queue_run.spent:
            return False
        only = self._view.get(self._keys.spent(position))
        return only is not None and only != self._group.encode()

    def _is_blocked(self, key: str) -> bool:
        if not key:
            return False
        found = self._blocked.get(key)
        if found is None:
            found = self._blocked[key] = self._has_hole(key)
        return found

    def _has_hole(self, key: str) -> bool:
        if self._run.holes <= FEW_HOLES:
            if self._keys_of_holes is None:
                found = keys_of_holes(self._view, self._group_keys, self._run)
                self._keys_of_holes = frozenset(found if self._run.holes else ())
            return key in self._keys_of_holes
        stem = self._group_keys.of_key(key)
        start, end = (
            stem + at.to_bytes(8, "big") for at in (self._run.committed, self._run.frontier)
        )
        return any(True for _ in self._view.scan(start, end, limit=1))

    def _wake_ms(self) -> int:
        if not self._run.holes:
            return -1
        start = self._group_keys.due(self._now_ms + 1)
        for key, _ in self._view.scan(start, self._group_keys.all_due()[1], limit=1):
            return number(key, len(key) - 16)
        return -1
