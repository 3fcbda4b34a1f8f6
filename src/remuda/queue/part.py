"""One partition of a queue while a command works on it: its messages and their order.

A message that is *spent* for a group counts as done though no handler has seen it: it has expired,
or it is meant for another group.
"""

from __future__ import annotations

from remuda.partition.keys import after, number
from remuda.partition.machine import State
from remuda.queue.layout import encode, part_keys, read_group_run, read_message
from remuda.queue.model import GroupRun, Message, QueueDef, QueueRun
from remuda.queue.progress import Progress

CARE = -1
"""What the timer of a partition is for, where that of a tree has the tree's number."""


class Part:
    __slots__ = ("_progress", "definition", "index", "keys", "name", "now_ms", "run", "state")

    def __init__(
        self, state: State, now_ms: int, definition: QueueDef, index: int, run: QueueRun
    ) -> None:
        self.state = state
        self.now_ms = now_ms
        self.definition = definition
        self.name = definition.name
        self.index = index
        self.run = run
        self.keys = part_keys(definition.name, index)
        self._progress: dict[str, Progress] = {}

    def save(self) -> None:
        self.state.put(self.keys.run, encode(self.run))
        for progress in self._progress.values():
            progress.save()

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    def message(self, position: int) -> Message:
        data = self.state.get(self.keys.message(position))
        if data is None:
            raise AssertionError(f"{self.name}/{self.index} has no message at {position}")
        return read_message(data)

    def append(self, message: Message) -> int:
        """Put a message at the end; the position it has from now on."""
        run = self.run
        position = run.next
        run.next = position + 1
        self.state.put(self.keys.message(position), encode(message))
        if message.expires_ms:
            run.expiring += 1
            self.state.put(self.keys.expiry(message.expires_ms, position), b"")
            self.arm(message.expires_ms)
        if message.track is not None:
            run.tracked += 1
            self.state.put(self.keys.tracked(position), encode(message.track))
        if message.only:
            self._spend_for_others(position, message.only)
        return position

    def spend(self, position: int) -> None:
        """A message has expired: for every group that was not done with it, it is done now."""
        before = self.state.get(self.keys.spent(position))
        self.run.expired += 1
        if before is None:
            self.run.spent += 1
        self.state.put(self.keys.spent(position), b"")
        for progress in self.every_progress():
            if before is None or before == progress.group.encode():
                progress.expire(position)

    def is_spent_for(self, group: str, position: int) -> bool:
        if not self.run.spent:
            return False
        only = self.state.get(self.keys.spent(position))
        return only is not None and only != group.encode()

    def spent_for(self, group: str, start: int) -> int:
        """How many messages from a position on are spent for a group."""
        if not self.run.spent:
            return 0
        found = self.state.scan(self.keys.spent(start), self.keys.spent(self.run.next))
        return sum(only != group.encode() for _, only in found)

    def is_done_by_all(self, position: int) -> bool:
        every = self.every_progress()
        return bool(every) and all(progress.is_done(position) for progress in every)

    # ── groups ───────────────────────────────────────────────────────────────────────────────

    def progress(self, group: str) -> Progress | None:
        found = self._progress.get(group)
        if found is None and group in self.definition.groups:
            data = self.state.get(self.keys.group(group).run)
            if data is None:
                return None
            found = self._progress[group] = Progress(self, group, read_group_run(data), data)
        return found

    def every_progress(self) -> list[Progress]:
        found = (self.progress(group) for group in self.definition.groups)
        return [progress for progress in found if progress is not None]

    def begin(self, group: str) -> None:
        """A new group, from the first message that is kept or from the next one that comes."""
        start = self.run.first
        if self.definition.groups[group].start == "next":
            start = self.run.next
        run = GroupRun(frontier=start, committed=start, passed=self.spent_for(group, start))
        progress = self._progress[group] = Progress(self, group, run)
        progress.settle()

    def forget(self, group: str) -> None:
        self._progress.pop(group, None)
        stem = self.keys.group(group).stem
        for key in [key for key, _ in self.state.scan(stem, after(stem))]:
            self.state.delete(key)

    # ── time ─────────────────────────────────────────────────────────────────────────────────

    def arm(self, at_ms: int) -> None:
        """See to this partition at a time, if nothing has it seen to before."""
        at_ms = max(at_ms, 1)
        if not self.run.wake_ms or at_ms < self.run.wake_ms:
            self.run.wake_ms = at_ms
            self.state.set_timer(at_ms, self.keys.care, encode((self.name, self.index, CARE)))

    def first_at(self, at_ms: int) -> int:
        """The first kept position whose message came at a time or later."""
        low, high = self.run.first, self.run.next
        while low < high:
            middle = (low + high) // 2
            if self.message(middle).sent_ms < at_ms:
                low = middle + 1
            else:
                high = middle
        return low

    def oldest_root(self) -> int | None:
        """The first kept position with the root of a tree that is not done."""
        if not self.run.trees:
            return None
        start = self.keys.root(self.run.first)
        for key, _ in self.state.scan(start, self.keys.end_of(start), limit=1):
            return number(key, len(key) - 8)
        return None

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _spend_for_others(self, position: int, only: str) -> None:
        self.run.spent += 1
        self.state.put(self.keys.spent(position), only.encode())
        for progress in self.every_progress():
            if progress.group != only:
                progress.run.passed += 1
                progress.settle()
