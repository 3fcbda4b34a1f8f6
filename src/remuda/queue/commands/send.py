"""`send`: a batch of messages to one partition of a queue; all of them, or none."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.arrivals import receive, twin_of
from remuda.queue.care import forget_producers_later
from remuda.queue.command import OnPart
from remuda.queue.layout import encode, read_producer
from remuda.queue.limits import ID_LENGTH_MAX, invalid, wrong_batch
from remuda.queue.model import NewMessage, Producer
from remuda.queue.part import Part
from remuda.queue.placement import part_of
from remuda.queue.work import Work


class Sent(Struct, frozen=True, array_like=True):
    positions: tuple[int, ...]
    """In order of the batch; -1 for a message that is delayed and has none yet."""
    trees: tuple[int, ...] = ()
    """If any is the root of a tree: its number there, -1 for the others."""
    duplicates: int = 0
    """How many were there already, and are told as they are there."""


class Send(OnPart, frozen=True, tag="send"):
    """A producer that numbers its batches may send one again: it is answered as before."""

    messages: tuple[NewMessage, ...]
    producer: str = ""
    sequence: int = 0

    def apply(self, work: Work) -> Sent | Rejected:
        part = self.load(work)
        if isinstance(part, Rejected):
            return part
        if self.producer:
            repeated = self._repeated(part)
            if repeated is not None:
                return repeated
        wrong = wrong_batch(self.messages, part.definition.settings.body_bytes_max)
        refused = wrong or self._refused(part)
        if refused is not None:
            return refused
        answer = self._take_in(work, part)
        if self.producer:
            self._remember(work, part, answer)
        work.wake(part)
        return answer

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _take_in(self, work: Work, part: Part) -> Sent:
        positions: list[int] = []
        trees: list[int] = []
        duplicates = 0
        for message in self.messages:
            twin = twin_of(part, message.dedup) if message.dedup else None
            if twin is None:
                position, tree = receive(work, part, message)
            else:
                position, tree = twin.position, twin.tree
                duplicates += 1
            positions.append(position)
            trees.append(tree)
        part.run.duplicates += duplicates
        return Sent(tuple(positions), tuple(trees) if max(trees) >= 0 else (), duplicates)

    def _refused(self, part: Part) -> Rejected | None:
        definition = part.definition
        if definition.sealed:
            return Rejected(f"queue {self.queue} is sealed: nothing more can be sent to it")
        if self.version < definition.grown and any(
            message.key and part_of(message.key, definition.parts) != self.part
            for message in self.messages
        ):
            return Rejected(
                f"queue {self.queue} has {definition.parts} partitions since version "
                f"{definition.grown}, and a key goes elsewhere: look at it again",
                Rejection.STALE,
            )
        most = definition.settings.backlog_max
        if most and _backlog(part) + len(self.messages) > most:
            return Rejected(
                f"partition {self.part} of {self.queue} has {_backlog(part)} messages that wait, "
                f"and {most} are allowed: wait, add workers, or raise backlog_max",
                Rejection.EXHAUSTED,
            )
        return None

    def _repeated(self, part: Part) -> Sent | Rejected | None:
        if len(self.producer) > ID_LENGTH_MAX:
            return invalid(f"the name of a producer has more than {ID_LENGTH_MAX} characters")
        data = part.state.get(part.keys.producer(self.producer))
        if data is None:
            return None
        last = read_producer(data)
        if self.sequence > last.sequence:
            return None
        if self.sequence == last.sequence:
            return _read_sent(last.answer)
        return Rejected(
            f"producer {self.producer} has sent batch {last.sequence} and cannot send "
            f"{self.sequence} after it: number on from there",
            Rejection.STALE,
        )

    def _remember(self, work: Work, part: Part, answer: Sent) -> None:
        producer = Producer(self.sequence, work.now_ms, encode(answer))
        part.state.put(part.keys.producer(self.producer), encode(producer))
        if not part.run.producers:
            part.run.producers = True
            forget_producers_later(part)


def _backlog(part: Part) -> int:
    committed = [progress.run.committed for progress in part.every_progress()]
    return part.run.delayed + part.run.next - min(committed, default=part.run.first)


_read_sent = msgspec.msgpack.Decoder(Sent).decode
