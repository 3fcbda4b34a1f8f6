"""Where everything lies in the state, and how it is written.

    D name                    → QueueDef     as asked for; in data partition 0 only
    d name                    → QueueDef     as known here
    l name part number        → Deliver      for a partition that is not known here yet
    p name part …             one partition of a queue:
        r                     → QueueRun
        m position            → Message
        s position            → ""|group     spent: expired, or for this group only
        x expires position    → ""           messages that will expire
        v due number          → Delayed      messages that have no position yet
        i dedup id            → Remembered
        w number              → dedup id     the window of dedup ids, oldest first
        n producer            → Producer
        a position            → Track        tracked, and not done by every group
        t tree                → Tree
        b position            → ""           roots of trees that are not done
        g group …             what a group has done in it:
            r                 → GroupRun
            o position        → Hole
            t due position    → ""           holes that may be taken, by time
            k key position    → ""           holes that have a key, by key
            z number          → DeadLetter

Values are msgpack, structs as arrays.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from remuda.partition.keys import after, key, text, u64
from remuda.queue.model import (
    DeadLetter,
    Delayed,
    GroupRun,
    Hole,
    Message,
    Producer,
    QueueDef,
    QueueRun,
    Remembered,
    Track,
    Tree,
)

PREFIX = b"q"
ASKED = PREFIX + b"D"
KNOWN = PREFIX + b"d"
LIMBO = PREFIX + b"l"
PARTS = PREFIX + b"p"

encode = msgspec.msgpack.Encoder().encode

read_message = msgspec.msgpack.Decoder(Message).decode
read_queue_run = msgspec.msgpack.Decoder(QueueRun).decode
read_group_run = msgspec.msgpack.Decoder(GroupRun).decode
read_hole = msgspec.msgpack.Decoder(Hole).decode
read_delayed = msgspec.msgpack.Decoder(Delayed).decode
read_dead_letter = msgspec.msgpack.Decoder(DeadLetter).decode
read_track = msgspec.msgpack.Decoder(Track).decode
read_tree = msgspec.msgpack.Decoder(Tree).decode
read_remembered = msgspec.msgpack.Decoder(Remembered).decode
read_producer = msgspec.msgpack.Decoder(Producer).decode

_read_queue_def = msgspec.msgpack.Decoder(QueueDef).decode


@lru_cache(maxsize=1024)
def read_queue_def(data: bytes) -> QueueDef:
    """A definition is read by every command and hardly ever changes."""
    return _read_queue_def(data)


def asked(name: str) -> bytes:
    return key(ASKED, name)


def known(name: str) -> bytes:
    return key(KNOWN, name)


def limbo(name: str, part: int) -> bytes:
    return key(LIMBO, name, part)


class GroupKeys:
    __slots__ = ("_due", "_hole", "_keyed", "dead_letters", "run", "stem")

    def __init__(self, stem: bytes) -> None:
        self.stem = stem
        self.run = stem + b"r"
        self.dead_letters = stem + b"z"
        self._hole = stem + b"o"
        self._due = stem + b"t"
        self._keyed = stem + b"k"

    def hole(self, position: int) -> bytes:
        return self._hole + u64(position)

    def due(self, due_ms: int, position: int = 0) -> bytes:
        return self._due + u64(due_ms) + u64(position)

    def all_due(self) -> tuple[bytes, bytes]:
        return self._due, after(self._due)

    def of_key(self, name: str) -> bytes:
        """What the holes of a key begin with; their position follows."""
        return self._keyed + text(name)

    def dead_letter(self, number: int) -> bytes:
        return self.dead_letters + u64(number)

    def working(self) -> tuple[tuple[bytes, bytes], ...]:
        """The ranges of all that a rewind forgets."""
        return tuple((stem, after(stem)) for stem in (self._hole, self._due, self._keyed))


class PartKeys:
    __slots__ = (
        "_dedup",
        "_delayed",
        "_expiry",
        "_group",
        "_message",
        "_root",
        "_spent",
        "_tracked",
        "_tree",
        "_window",
        "care",
        "groups",
        "producers",
        "run",
        "stem",
    )

    def __init__(self, stem: bytes) -> None:
        self.stem = stem
        self.run = stem + b"r"
        self.care = stem + b"c"
        self.producers = stem + b"n"
        """Of timers, both."""
        self.groups: dict[str, GroupKeys] = {}
        self._message = stem + b"m"
        self._spent = stem + b"s"
        self._expiry = stem + b"x"
        self._delayed = stem + b"v"
        self._dedup = stem + b"i"
        self._window = stem + b"w"
        self._tracked = stem + b"a"
        self._tree = stem + b"t"
        self._root = stem + b"b"
        self._group = stem + b"g"

    def message(self, position: int) -> bytes:
        return self._message + u64(position)

    def spent(self, position: int) -> bytes:
        return self._spent + u64(position)

    def expiry(self, expires_ms: int, position: int = 0) -> bytes:
        return self._expiry + u64(expires_ms) + u64(position)

    def delayed(self, due_ms: int, number: int = 0) -> bytes:
        return self._delayed + u64(due_ms) + u64(number)

    def dedup(self, dedup: str) -> bytes:
        return self._dedup + text(dedup)

    def window(self, number: int) -> bytes:
        return self._window + u64(number)

    def producer(self, name: str) -> bytes:
        return self.producers + text(name)

    def all_producers(self) -> tuple[bytes, bytes]:
        return self.producers, after(self.producers)

    def tracked(self, position: int) -> bytes:
        return self._tracked + u64(position)

    def tree(self, number: int) -> bytes:
        return self._tree + u64(number)

    def root(self, position: int) -> bytes:
        return self._root + u64(position)

    def end_of(self, one: bytes) -> bytes:
        """The end of the range of all of the same kind as this key."""
        return after(one[: len(self.stem) + 1])

    def group(self, name: str) -> GroupKeys:
        found = self.groups.get(name)
        if found is None:
            found = self.groups[name] = GroupKeys(self._group + text(name))
        return found


@lru_cache(maxsize=4096)
def part_keys(name: str, part: int) -> PartKeys:
    return PartKeys(key(PARTS, name, part))
