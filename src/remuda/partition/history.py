"""Playing a partition's kept commands again: the same commands on the same state give the same.

A snapshot is a state at a position; the commands after it, played on it, must come to the state
that the partition itself came to, byte for byte. What differs is a machine that is not pure.
Two snapshots of a partition that goes on working do as well as a snapshot and the partition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from remuda.errors import Collected, InvariantBroken
from remuda.partition.fold import STATE, Fold, Record
from remuda.partition.machine import Machine, Rejected
from remuda.partition.overlay import Reads
from remuda.partition.store import Store


def digest(state: Reads) -> str:
    """Of every key and value of the state, in order."""
    summed = hashlib.blake2b(digest_size=16)
    for key, value in state.scan(*STATE):
        summed.update(len(key).to_bytes(8) + key + len(value).to_bytes(8) + value)
    return summed.hexdigest()


def replayed(
    partition: int,
    machines: Sequence[Machine],
    state: Reads,
    commands: Iterable[tuple[int, bytes]],
) -> Reads:
    """The state after some commands, over one that stays as it is."""
    fold = Fold(partition, machines, state)
    for position, data in commands:
        outcome = fold.play(position, Record.decode(data))
        if isinstance(outcome, Rejected):
            raise InvariantBroken(
                f"command {position} of partition {partition} was applied once, and is rejected "
                f"when it is played again: {outcome.reason}"
            )
    return fold.overlay


def check(partition: int, machines: Sequence[Machine], snapshot: Store, store: Store) -> int:
    """Play what came after the snapshot on it, and compare; answers how many commands that were.

    Raises `Collected` if not all of them are kept, `InvariantBroken` if the states differ.
    Nothing may be committed to either meanwhile.
    """
    first, last = snapshot.head.position + 1, store.head.position
    if first < store.head.kept_from:
        raise Collected(
            f"partition {partition} keeps its commands from {store.head.kept_from} on: "
            f"a snapshot at {first - 1} cannot be played from; take a new one",
            store.head.kept_from - 1,
        )
    again = digest(replayed(partition, machines, snapshot, store.commands(first, last)))
    if again != (stands := digest(store)):
        raise InvariantBroken(
            f"partition {partition}: commands {first} to {last} played again give the state "
            f"{again}, and the partition has {stands}"
        )
    return max(last - first + 1, 0)
