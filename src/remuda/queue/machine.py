"""The machine that a partition folds queues with."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from remuda.partition.keys import after
from remuda.partition.machine import (
    Applied,
    Effect,
    Outcome,
    Rejected,
    Rejection,
    Stamp,
    State,
    View,
)
from remuda.queue.care import PRODUCERS, forget_producers, see_to
from remuda.queue.catalog import read_command
from remuda.queue.effects import Woken
from remuda.queue.layout import KNOWN, PREFIX, encode, part_keys, read_queue_def
from remuda.queue.part import CARE
from remuda.queue.trees import overdue
from remuda.queue.work import Work


class QueueMachine:
    def __init__(self, partitions: int) -> None:
        """`partitions` is the number of data partitions of the cluster, which never changes."""
        self._partitions = partitions

    @property
    def name(self) -> str:
        return "queue"

    @property
    def prefix(self) -> bytes:
        return PREFIX

    def apply(self, state: State, command: bytes, stamp: Stamp) -> Outcome:
        try:
            decoded = read_command(command)
        except msgspec.DecodeError as error:
            return Rejected(f"this is no command on queues: {error}", Rejection.INVALID)
        work = Work(state, stamp, self._partitions)
        answer = decoded.apply(work)
        if isinstance(answer, Rejected):
            return answer
        work.save()
        return Applied(encode(answer), tuple(work.effects()))

    def fire(self, state: State, key: bytes, payload: bytes, stamp: Stamp) -> Applied:
        work = Work(state, stamp, self._partitions)
        queue, index, purpose = _read_timer(payload)
        part = work.part(queue, index)
        if part is None:
            raise AssertionError(f"a timer of {queue}/{index}, which is not here")
        if purpose == CARE:
            see_to(work, part)
        elif purpose == PRODUCERS:
            forget_producers(work, part)
        else:
            overdue(work, part, purpose)
        work.save()
        return Applied(effects=tuple(work.effects()))

    def opened(self, view: View) -> Iterator[Effect]:
        for _, value in view.scan(KNOWN, after(KNOWN)):
            definition = read_queue_def(value)
            for index in range(definition.parts):
                if view.get(part_keys(definition.name, index).run) is not None:
                    yield Woken(definition.name, index)


_read_timer = msgspec.msgpack.Decoder(tuple[str, int, int]).decode
