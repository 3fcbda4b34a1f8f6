"""A queue's partition as simple lists and sets: what the real one must agree with."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Entry:
    body: str
    key: str
    sent_ms: int
    expires_ms: int = 0
    only: str = ""
    is_expired: bool = False


@dataclass
class Later:
    due_ms: int
    number: int
    entry: Entry
    ttl_ms: int


@dataclass
class ListedGroup:
    blocks: str
    max_attempts: int
    done: set[int] = field(default_factory=set[int])
    attempts: dict[int, int] = field(default_factory=dict[int, int])
    due_ms: dict[int, int] = field(default_factory=dict[int, int])
    dead: list[Entry] = field(default_factory=list[Entry])
    epoch: int = -1
    turn: int = 0


@dataclass
class Listed:
    """Nothing is ever removed from `log`; what is before `first` is gone."""

    log: list[Entry] = field(default_factory=list[Entry])
    first: int = 0
    later: list[Later] = field(default_factory=list[Later])
    ids: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    groups: dict[str, ListedGroup] = field(default_factory=dict[str, ListedGroup])
    numbers: int = 0

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def open(self, name: str) -> list[int]:
        """What a group is not done with."""
        group = self.groups[name]
        return [
            at
            for at in range(self.first, len(self.log))
            if at not in group.done
            and not self.log[at].is_expired
            and self.log[at].only in ("", name)
        ]

    def committed(self, name: str) -> int:
        return min(self.open(name), default=len(self.log))

    def is_first_of_its_key(self, name: str, position: int) -> bool:
        key = self.log[position].key
        return not key or all(self.log[at].key != key for at in self.open(name) if at < position)

    def retrying(self, name: str) -> list[int]:
        return [at for at in self.open(name) if self.groups[name].attempts.get(at)]

    # ── changing ─────────────────────────────────────────────────────────────────────────────

    def send(self, entry: Entry, now_ms: int, delay_ms: int, ttl_ms: int) -> int:
        if delay_ms:
            self.later.append(Later(now_ms + delay_ms, self.numbers, entry, ttl_ms))
            self.numbers += 1
            return -1
        entry.sent_ms = now_ms
        entry.expires_ms = now_ms + ttl_ms if ttl_ms else 0
        self.log.append(entry)
        return len(self.log) - 1

    def commit(self, name: str, positions: list[int]) -> bool:
        """False: it is refused, and nothing has changed."""
        group = self.groups[name]
        before = set(group.done)
        for position in sorted(positions):
            if position not in self.open(name):
                continue
            if not self.is_first_of_its_key(name, position):
                group.done = before
                return False
            group.done.add(position)
        return True

    def fail(self, name: str, position: int, retry_ms: int) -> None:
        group = self.groups[name]
        group.attempts[position] = group.attempts.get(position, 0) + 1
        if group.max_attempts and group.attempts[position] >= group.max_attempts:
            group.done.add(position)
            group.dead.append(self.log[position])
        else:
            group.due_ms[position] = retry_ms

    def rewind(self, name: str, position: int) -> None:
        group = self.groups[name]
        group.done = set(range(position))
        group.attempts.clear()
        group.due_ms.clear()
        group.turn += 1

    def purge(self) -> int:
        gone = len(self.log) - self.first + len(self.later)
        self.first = len(self.log)
        self.later.clear()
        for name in self.groups:
            self.rewind(name, len(self.log))
        return gone

    def tick(self, now_ms: int) -> None:
        self.later.sort(key=lambda one: (one.due_ms, one.number))
        while self.later and self.later[0].due_ms <= now_ms:
            one = self.later.pop(0)
            self.send(one.entry, now_ms, 0, one.ttl_ms)
        for entry in self.log[self.first :]:
            if 0 < entry.expires_ms <= now_ms:
                entry.is_expired = True
