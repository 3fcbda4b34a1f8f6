"""One command at work: the partitions that it has loaded, and what it has to say in the end.

Everything that a command reads of a queue's partition comes from here, so that there is one copy
of each run while it works; `save` writes back what was loaded.
"""

from __future__ import annotations

from collections.abc import Iterable

from remuda.partition.machine import Effect, Stamp, State
from remuda.queue.effects import Woken
from remuda.queue.layout import encode, known, part_keys, read_queue_def, read_queue_run
from remuda.queue.model import QueueDef, QueueRun
from remuda.queue.part import Part
from remuda.queue.placement import data_partition_of


class Work:
    __slots__ = ("_effects", "_parts", "_woken", "partitions", "stamp", "state")

    def __init__(self, state: State, stamp: Stamp, partitions: int) -> None:
        self.state = state
        self.stamp = stamp
        self.partitions = partitions
        self._parts: dict[tuple[str, int], Part] = {}
        self._woken: dict[Woken, None] = {}
        self._effects: list[Effect] = []

    @property
    def now_ms(self) -> int:
        return self.stamp.at_ms

    def home_of(self, queue: str, part: int) -> int:
        return data_partition_of(queue, part, self.partitions)

    def definition(self, queue: str) -> QueueDef | None:
        data = self.state.get(known(queue))
        return None if data is None else read_queue_def(data)

    def part(self, queue: str, index: int) -> Part | None:
        """A partition of a queue, if it is here and known."""
        found = self._parts.get((queue, index))
        if found is not None:
            return found
        keys = part_keys(queue, index)
        data = self.state.get(keys.run)
        definition = self.definition(queue)
        if data is None or definition is None:
            return None
        return self._load(definition, index, read_queue_run(data))

    def new_part(self, definition: QueueDef, index: int) -> Part:
        return self._load(definition, index, QueueRun())

    def redefine(self, definition: QueueDef) -> None:
        self.state.put(known(definition.name), encode(definition))
        for (queue, _), part in self._parts.items():
            if queue == definition.name:
                part.definition = definition

    def wake(self, part: Part) -> None:
        self._woken[Woken(part.name, part.index)] = None

    def effect(self, effect: Effect) -> None:
        self._effects.append(effect)

    def save(self) -> None:
        for part in self._parts.values():
            part.save()

    def effects(self) -> Iterable[Effect]:
        return (*self._woken, *self._effects)

    def _load(self, definition: QueueDef, index: int, run: QueueRun) -> Part:
        part = Part(self.state, self.stamp.at_ms, definition, index, run)
        self._parts[definition.name, index] = part
        return part
