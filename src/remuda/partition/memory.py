"""A store in memory, and a partition without a world: machines are tested with it.

world = MemoryPartition([QueueMachine()])
outcome = world.apply("queue", command, at_ms=1_000)
fired = world.tick(at_ms=5_000)
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from remuda.partition.fold import (
    OWN,
    STATE,
    TICK,
    Fold,
    Parcel,
    Record,
    addressees,
    outbox,
)
from remuda.partition.machine import Effect, Machine, Outcome, Rejected, View
from remuda.partition.store import Batch, Head, refuse_stale

_SOME = 64


class Disk:
    """What is left when an owner is gone: bytes by key, commands by position, and the head."""

    def __init__(self) -> None:
        self.head = Head()
        self.values: dict[bytes, bytes] = {}
        self.order: list[bytes] = []
        self.commands: dict[int, bytes] = {}
        self.checkpoints: dict[Path, Disk] = {}
        self.lock = threading.Lock()


class MemoryStore:
    """One opening of a disk: a later one with a greater epoch shuts this one out."""

    def __init__(self, disk: Disk, epoch: int) -> None:
        refuse_stale("the store", disk.head.epoch, epoch)
        self._disk = disk
        self._epoch = epoch
        disk.head = replace(disk.head, epoch=epoch)

    @property
    def head(self) -> Head:
        return self._disk.head

    def get(self, key: bytes) -> bytes | None:
        return self._disk.values.get(key)

    def scan(
        self, start: bytes, end: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        while found := self._some(start, end, reverse):
            yield from found
            last = found[-1][0]
            start, end = (start, last) if reverse else (last + b"\x00", end)

    def commands(self, first: int, last: int) -> Iterator[tuple[int, bytes]]:
        kept = self._disk.commands
        return iter([(at, kept[at]) for at in range(first, last + 1) if at in kept])

    def commit(self, batch: Batch) -> None:
        with self._disk.lock:
            refuse_stale("the store", self._disk.head.epoch, self._epoch)
            self._write(batch)

    def checkpoint(self, to: Path) -> Head:
        copy = Disk()
        copy.head = self._disk.head
        copy.values = dict(self._disk.values)
        copy.order = list(self._disk.order)
        copy.commands = dict(self._disk.commands)
        self._disk.checkpoints[to] = copy
        return copy.head

    def close(self) -> None: ...

    def _write(self, batch: Batch) -> None:
        disk = self._disk
        for key, value in batch.changes.items():
            if value is None:
                if disk.values.pop(key, None) is not None:
                    del disk.order[bisect_left(disk.order, key)]
            else:
                if key not in disk.values:
                    insort(disk.order, key)
                disk.values[key] = value
        first = batch.head.position - len(batch.commands) + 1
        disk.commands.update(enumerate(batch.commands, first))
        for gone in range(disk.head.kept_from, batch.head.kept_from):
            disk.commands.pop(gone, None)
        disk.head = batch.head

    def _some(self, start: bytes, end: bytes, reverse: bool) -> list[tuple[bytes, bytes]]:
        """The next of a scan, as they are at one moment: another thread may be committing."""
        disk = self._disk
        with disk.lock:
            first, last = bisect_left(disk.order, start), bisect_left(disk.order, end)
            if reverse:
                keys = disk.order[max(first, last - _SOME) : last][::-1]
            else:
                keys = disk.order[first : min(last, first + _SOME)]
            return [(key, disk.values[key]) for key in keys]


class MemoryPartition:
    """Commands are applied as they come, and every one is a round of its own."""

    def __init__(self, machines: Sequence[Machine], *, partition: int = 0, epoch: int = 1) -> None:
        self.disk = Disk()
        self.effects: list[tuple[str, Effect]] = []
        """By machine, of the last command."""
        self._partition = partition
        self._epoch = epoch
        self._machines = tuple(machines)
        self._prefixes = {machine.name: machine.prefix for machine in machines}
        self._known = (OWN, *self._prefixes.values())
        self._open()

    def apply(self, machine: str, command: bytes, at_ms: int = 0) -> Outcome:
        """Fold one command; time that would go back stands still."""
        return self.play(Record(self._prefixes[machine], at_ms, self._epoch, command))

    def tick(self, at_ms: int) -> list[tuple[str, Effect]]:
        """Fire every timer that is due; answers the effects."""
        fired: list[tuple[str, Effect]] = []
        while (due := self._fold.next_due_ms()) is not None and due <= at_ms:
            self.play(Record(TICK, at_ms, self._epoch, b""))
            fired += self.effects
        return fired

    def play(self, record: Record) -> Outcome:
        head = self._store.head
        record = replace(record, at_ms=max(record.at_ms, head.at_ms))
        outcome = self._fold.play(head.position + 1, record)
        self.effects = [(name, one) for name, some in self._fold.effects for one in some]
        self._fold.effects.clear()
        if not isinstance(outcome, Rejected):
            new = replace(head, position=head.position + 1, at_ms=record.at_ms)
            changes = self._fold.overlay.seal()
            strays = sorted(key for key in changes if not key.startswith(self._known))
            if strays:
                raise AssertionError(f"keys that begin with no machine's prefix: {strays}")
            self._store.commit(Batch(new, [record.encode()], changes))
            self._fold.overlay.written()
        return outcome

    def reopen(self) -> list[tuple[str, Effect]]:
        """As after a crash, by the next owner; answers the effects that are derived anew."""
        self._epoch += 1
        self._open()
        return [(name, one) for name, some in self._fold.opened() for one in some]

    @property
    def view(self) -> View:
        return self._fold.overlay

    @property
    def next_due_ms(self) -> int | None:
        return self._fold.next_due_ms()

    @property
    def outbox(self) -> dict[int, list[Parcel]]:
        """What was sent and nobody has taken, by partition."""
        return {to: list(outbox(self._store, to)) for to in addressees(self._store)}

    @property
    def items(self) -> list[tuple[bytes, bytes]]:
        """The whole state, the partition's own part included, in order."""
        return list(self._store.scan(*STATE))

    def _open(self) -> None:
        self._store = MemoryStore(self.disk, self._epoch)
        self._fold = Fold(self._partition, self._machines, self._store)
