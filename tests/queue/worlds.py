"""A cluster's data partitions in memory, and queues in them."""

from __future__ import annotations

from collections.abc import Container
from typing import TypeVar

import msgspec

from remuda.partition.fold import ACKED, RECEIVED, Record, acked, received
from remuda.partition.machine import Applied, Effect, Rejected
from remuda.partition.memory import MemoryPartition
from remuda.queue.command import Command, encode_command
from remuda.queue.commands.attach import Attach, Attached
from remuda.queue.commands.commit import Commit, Committed, Emit, ranges_of
from remuda.queue.commands.create_group import CreateGroup
from remuda.queue.commands.create_queue import CreateQueue
from remuda.queue.commands.fail import Fail, Failed
from remuda.queue.commands.on_definition import OnDefinition
from remuda.queue.commands.send import Send, Sent
from remuda.queue.invariants import broken
from remuda.queue.machine import QueueMachine
from remuda.queue.model import GroupDef, NewMessage, QueueDef, QueueSettings
from remuda.queue.placement import data_partition_of
from remuda.queue.reading import PartStats, definition_of, part_stats
from remuda.queue.takeable import Takeable, takeable

T = TypeVar("T")


class World:
    def __init__(self, partitions: int = 1) -> None:
        self.partitions = [
            MemoryPartition([QueueMachine(partitions)], partition=number)
            for number in range(partitions)
        ]
        self.now_ms = 1_000_000
        self.effects: list[Effect] = []

    # ── commands ─────────────────────────────────────────────────────────────────────────────

    def ask(self, command: Command, partition: int) -> Applied | Rejected:
        outcome = self.partitions[partition].apply("queue", encode_command(command), self.now_ms)
        self._note(partition)
        return outcome

    def define(self, command: OnDefinition) -> QueueDef | Rejected:
        outcome = self.ask(command, 0)
        return outcome if isinstance(outcome, Rejected) else answer(outcome, QueueDef)

    def on_part(self, command: Command, queue: str, part: int, kind: type[T]) -> T | Rejected:
        outcome = self.ask(command, self.home(queue, part))
        return outcome if isinstance(outcome, Rejected) else answer(outcome, kind)

    def create(
        self,
        queue: str = "q",
        parts: int = 1,
        settings: QueueSettings | None = None,
        **groups: GroupDef,
    ) -> None:
        expect(self.define(CreateQueue(queue, parts, settings or QueueSettings())))
        for name, group in groups.items():
            expect(self.define(CreateGroup(queue, name, group)))
        self.pump()

    def send(self, *messages: NewMessage, queue: str = "q", part: int = 0) -> Sent | Rejected:
        command = Send(queue, part, self.version(queue), messages)
        return self.on_part(command, queue, part, Sent)

    def attach(
        self, group: str, epoch: int = 1, *, queue: str = "q", part: int = 0
    ) -> Attached | Rejected:
        command = Attach(queue, part, self.version(queue), group, epoch)
        return self.on_part(command, queue, part, Attached)

    def commit(
        self,
        group: str,
        *positions: int,
        emits: tuple[Emit, ...] = (),
        epoch: int = 1,
        turn: int = 0,
        queue: str = "q",
        part: int = 0,
    ) -> Committed | Rejected:
        version = self.version(queue)
        command = Commit(queue, part, version, group, epoch, turn, ranges_of(positions), emits)
        return self.on_part(command, queue, part, Committed)

    def fail(
        self,
        group: str,
        position: int,
        attempt: int = 1,
        *,
        error: str = "no",
        epoch: int = 1,
        turn: int = 0,
        jitter_permille: int = 1000,
        queue: str = "q",
        part: int = 0,
    ) -> Failed | Rejected:
        version = self.version(queue)
        command = Fail(
            queue, part, version, group, epoch, turn, position, attempt, error, jitter_permille
        )
        return self.on_part(command, queue, part, Failed)

    # ── reads ────────────────────────────────────────────────────────────────────────────────

    def take(
        self,
        group: str,
        limit: int = 1000,
        *,
        held: Container[int] = (),
        after: int = -1,
        queue: str = "q",
        part: int = 0,
    ) -> Takeable:
        view = self.partitions[self.home(queue, part)].view
        found = takeable(
            view, queue, part, group, now_ms=self.now_ms, limit=limit, held=held, after=after
        )
        assert found is not None
        return found

    def bodies(self, group: str, *, queue: str = "q", part: int = 0) -> list[str]:
        taken = self.take(group, queue=queue, part=part).taken
        return [one.message.body.decode() for one in taken]

    def stats(self, queue: str = "q", part: int = 0) -> PartStats:
        view = self.partitions[self.home(queue, part)].view
        found = part_stats(view, queue, part, self.now_ms)
        assert found is not None
        return found

    def version(self, queue: str) -> int:
        found = definition_of(self.partitions[0].view, queue)
        return 0 if found is None else found.version

    def home(self, queue: str, part: int) -> int:
        return data_partition_of(queue, part, len(self.partitions))

    # ── the world ────────────────────────────────────────────────────────────────────────────

    def advance(self, by_ms: int) -> None:
        self.now_ms += by_ms
        self.tick()

    def tick(self) -> None:
        for number, partition in enumerate(self.partitions):
            self.effects += [effect for _, effect in partition.tick(self.now_ms)]
            self._note(number)
        self.pump()

    def pump(self) -> None:
        """Deliver what is in outboxes, until there is nothing."""
        while any(self.deliver_one(sender) for sender in range(len(self.partitions))):
            pass

    def deliver_one(self, sender: int, pick: int = 0) -> bool:
        """The first parcel for one of the addressees that a partition has something for."""
        waiting = self.partitions[sender].outbox
        if not waiting:
            return False
        to = sorted(waiting)[pick % len(waiting)]
        parcel = waiting[to][0]
        self._play(to, RECEIVED, received(sender, parcel))
        self._play(sender, ACKED, acked(to, parcel.number))
        return True

    def check_replay(self) -> None:
        """Playing the history of every partition again gives the same bytes."""
        for number, partition in enumerate(self.partitions):
            again = MemoryPartition([QueueMachine(len(self.partitions))], partition=number)
            for _, data in sorted(partition.disk.commands.items()):
                again.play(Record.decode(data))
            assert again.items == partition.items

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _play(self, partition: int, kind: bytes, body: bytes) -> None:
        self.partitions[partition].play(Record(kind, self.now_ms, 1, body))
        self._note(partition)

    def _note(self, partition: int) -> None:
        self.effects += [effect for _, effect in self.partitions[partition].effects]
        assert broken(self.partitions[partition].view) == []


def answer(outcome: Applied, kind: type[T]) -> T:
    return msgspec.msgpack.decode(outcome.answer, type=kind)


def expect(outcome: T | Rejected) -> T:
    assert not isinstance(outcome, Rejected), outcome
    return outcome


def message(text: str, key: str = "", **rest: int) -> NewMessage:
    return NewMessage(text.encode(), key, **rest)  # type: ignore[arg-type]
