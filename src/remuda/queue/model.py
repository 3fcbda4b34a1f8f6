"""What a queue is and what is in it. A definition is what somebody asked for; a run is what has
come of it in one partition: `QueueDef` and `QueueRun`, `GroupDef` and `GroupRun`.

Definitions and messages never change once made. Runs and trees are the working copies of one
command: read, changed and written back by it, and kept by nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

Blocks: TypeAlias = Literal["partition", "key"]
Outcome: TypeAlias = Literal["done", "failed", "purged"]

MIB = 1024 * 1024
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


# ── definitions ──────────────────────────────────────────────────────────────────────────────


class RetryDef(Struct, frozen=True, array_like=True):
    """What becomes of a message whose handler fails."""

    max_attempts: int = 5
    """0: for ever."""
    blocks: Blocks = "partition"
    """What waits for it: all that comes after it, or only what has its key."""
    first_ms: int = 1_000
    most_ms: int = 5 * MINUTE_MS
    factor_percent: int = 200
    dead_letters: bool = True
    """Off: what has failed for the last time is dropped, and counted."""

    def wait_ms(self, attempt: int, jitter_permille: int) -> int:
        """Between half and all of a length that grows by the factor up to the most."""
        whole_ms = self.first_ms
        for _ in range(attempt - 1):
            if whole_ms >= self.most_ms:
                break
            whole_ms = whole_ms * self.factor_percent // 100
        return min(whole_ms, self.most_ms) * (1000 + jitter_permille) // 2000


class QueueSettings(Struct, frozen=True, array_like=True):
    body_bytes_max: int = MIB
    keep_count: int = 100_000
    """How many messages that every group is done with a partition keeps, to be rewound to."""
    keep_ms: int = DAY_MS
    """How long it keeps them, from when they were sent."""
    backlog_max: int = 0
    """How many messages may wait in a partition for the slowest group; 0: any number."""
    retry: RetryDef = RetryDef()
    dedup_ms: int = 5 * MINUTE_MS
    dedup_count: int = 100_000
    ttl_ms: int = 0
    """How long a message lives that says nothing of it; 0: for ever."""
    producer_keep_ms: int = 7 * DAY_MS
    """How long a silent producer is remembered at least, so that what it repeats adds nothing."""
    tree_replays_max: int = 16
    tree_keep_ms: int = 60 * MINUTE_MS
    """How long the outcome of a tree can be asked for."""


class GroupDef(Struct, frozen=True, array_like=True):
    start: Literal["first", "next"] = "first"
    """Where it begins in a partition that is older than it: at what is kept, or at what comes."""
    retry: RetryDef | None = None
    """None: the queue's."""


class QueueDef(Struct, frozen=True, array_like=True):
    name: str
    parts: int
    settings: QueueSettings = QueueSettings()
    groups: Mapping[str, GroupDef] = {}
    version: int = 1
    grown: int = 1
    """The version in which the number of partitions last changed."""
    sealed: bool = False

    def retry_of(self, group: str) -> RetryDef:
        return self.groups[group].retry or self.settings.retry


# ── messages ─────────────────────────────────────────────────────────────────────────────────


class Track(Struct, frozen=True, array_like=True):
    """The place of a message in a tree: whose tree, which time round, and its own value."""

    queue: str
    part: int
    tree: int
    turn: int
    value: int


class Failure(Struct, frozen=True, array_like=True):
    at_ms: int
    attempt: int
    error: str


class NewMessage(Struct, frozen=True, array_like=True):
    """A message as it is sent."""

    body: bytes
    key: str = ""
    headers: Mapping[str, str] = {}
    dedup: str = ""
    delay_ms: int = 0
    ttl_ms: int = 0
    """0: as the queue says."""
    track_ms: int = 0
    """The root of a tree that is to be done in this time; 0: not a root."""


class Message(Struct, frozen=True, array_like=True):
    """A message as it is kept, at a position of its partition."""

    sent_ms: int
    """When it came to its position: for a delayed message, when its time had come."""
    body: bytes
    key: str = ""
    headers: Mapping[str, str] = {}
    dedup: str = ""
    expires_ms: int = 0
    track: Track | None = None
    only: str = ""
    """The one group that it is for: a dead letter comes back to the group that it came from."""
    failures: tuple[Failure, ...] = ()


class Delayed(Struct, frozen=True, array_like=True):
    """A message that has no position yet. `tree` is the tree that it is the root of, or -1."""

    number: int
    message: NewMessage
    tree: int = -1
    track: Track | None = None


class DeadLetter(Struct, frozen=True, array_like=True):
    """What failed for the last time, with every failure that is remembered."""

    position: int
    died_ms: int
    message: Message


# ── runs ─────────────────────────────────────────────────────────────────────────────────────


class QueueRun(Struct, array_like=True):
    """What a partition of a queue has come to. Messages are at `swept` and on, before `next`."""

    next: int = 0
    first: int = 0
    """The first position that is kept; what is before it is gone for everybody."""
    swept: int = 0
    """The first position that takes up room."""
    trimmed_ms: int = -1
    """When the last message that is gone was sent."""
    delayed: int = 0
    delayed_next: int = 0
    delayed_first: int = 0
    """Delayed messages with smaller numbers were purged."""
    ticked_ms: int = 0
    """No delay and no expiry before this time is left to be seen to."""
    wake_ms: int = 0
    """When the partition will be seen to; 0: no timer is set."""
    expiring: int = 0
    spent: int = 0
    tracked: int = 0
    dedup_first: int = 0
    dedup_next: int = 0
    producers: bool = False
    trees: int = 0
    tree_next: int = 0
    # counted since the queue was made
    sent: int = 0
    sent_bytes: int = 0
    duplicates: int = 0
    expired: int = 0
    purged: int = 0
    trees_done: int = 0
    trees_failed: int = 0
    tree_replays: int = 0


class GroupRun(Struct, array_like=True):
    """How far a group is in a partition: all before `frontier` is done, except for the holes."""

    epoch: int = -1
    turn: int = 0
    """Counts the rewinds: what was taken before one is not committed after it."""
    frontier: int = 0
    committed: int = 0
    """The first position that is not done."""
    holes: int = 0
    retrying: int = 0
    passed: int = 0
    """Messages at the frontier or later that are none of this group's business: spent."""
    due_ms: int = 0
    """No hole is due before this time."""
    dead: int = 0
    dead_next: int = 0
    # counted since the group was made
    done: int = 0
    failed: int = 0
    expired: int = 0
    dropped: int = 0
    died: int = 0
    replayed: int = 0


class Hole(Struct, frozen=True, array_like=True):
    """A message before the frontier that is not done."""

    key: str
    due_ms: int
    """When it may be taken; PARKED: not before those of its key that come before it are done."""
    failures: tuple[Failure, ...] = ()
    attempts: int = 0


PARKED = -1


class Tree(Struct, array_like=True):
    """A tree of messages, kept where its root is. Done when value and count are both zero."""

    track_ms: int
    position: int = -1
    """Of the root, as it was last put in; -1: it is delayed."""
    value: int = 0
    count: int = 0
    replays: int = 0
    ended_ms: int = 0
    outcome: Outcome | None = None


class Remembered(Struct, frozen=True, array_like=True):
    """A dedup id: where its message went (-1: delayed), when, and its place in the window."""

    position: int
    at_ms: int
    number: int
    tree: int = -1


class Producer(Struct, frozen=True, array_like=True):
    """The last batch of a producer and what was answered to it."""

    sequence: int
    at_ms: int
    answer: bytes
