"""Where a queue's partitions live, and which of them a key goes to. Written down for ever: a
change of either function would look for messages where they are not.

- The data partition of (queue, i) is (hash(queue) + i) mod P, so that a queue's partitions are
  spread evenly: no two share one before each has one.
- A key's partition is by jump hashing: when n partitions become m, a key stays where it is or goes
  to one of the new ones, and only the share of the new ones goes.

The hash is the first eight bytes of BLAKE2b, as a big-endian number. Text is hashed as UTF-8, and
each part is preceded by its length, so that ("a", "bc") and ("ab", "c") differ.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

_MASK = 2**64 - 1
_STEP = 2862933555777941757


def stable_hash(*parts: str | int) -> int:
    digest = blake2b(digest_size=8)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part.to_bytes(8, "big")
        digest.update(len(data).to_bytes(4, "big"))
        digest.update(data)
    return int.from_bytes(digest.digest(), "big")


@lru_cache(maxsize=4096)
def data_partition_of(queue: str, part: int, partitions: int) -> int:
    return (stable_hash(queue) + part) % partitions


def part_of(key: str, parts: int) -> int:
    """The partition of a queue that the messages of a key go to."""
    seed = stable_hash(key)
    found, candidate = 0, 0
    while candidate < parts:
        found = candidate
        seed = (seed * _STEP + 1) & _MASK
        candidate = ((found + 1) << 31) // ((seed >> 33) + 1)
    return found


def homes_of(queue: str, parts: int, partitions: int) -> dict[int, tuple[int, ...]]:
    """The data partitions that hold some of a queue's partitions, and which they hold."""
    homes: dict[int, tuple[int, ...]] = {}
    for part in range(parts):
        home = data_partition_of(queue, part, partitions)
        homes[home] = (*homes.get(home, ()), part)
    return dict(sorted(homes.items()))
