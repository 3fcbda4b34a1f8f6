"""What the commands share that are about several slots which have been told what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.jobs import OfferedSlot
from remuda.replica.schedule.slots import SlotId
from remuda.replica.schedule.states import SlotState
from remuda.replica.schedule.transition import moved
from remuda.replica.state import Replica


class OnSlots(Command, frozen=True):
    """Does what it can: of the slots that it names, those that still are where it takes them
    from. It is rejected if that is none of them.

    `slots` maps each to the position by which it was told: what it has been told since is
    another matter.
    """

    slots: Mapping[SlotId, int]

    to: ClassVar[SlotState]

    def concerns(self, slot: OfferedSlot) -> bool:
        """Whether it may speak of this slot at all."""
        return True

    def settled(self, replica: Replica, position: int) -> Replica:
        """What follows from the slots' new state."""
        raise NotImplementedError

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        changed: dict[SlotId, OfferedSlot] = {}
        refusal = Rejected("none of these slots has been told what this is about")
        for name, told in self.slots.items():
            slot = replica.slots.get(name)
            if slot is None or slot.told != told or not self.concerns(slot):
                continue
            state = moved(slot.state, self.to)
            if isinstance(state, Rejected):
                refusal = state
            else:
                changed[name] = replace(slot, state=state)
        if not changed:
            return refusal
        new = replace(replica, slots={**replica.slots, **changed})
        return self.settled(new, stamp.position)

    def changed(self, old: Replica) -> tuple[SlotId, ...]:
        """The slots for which it was right."""
        return tuple(
            name
            for name, told in self.slots.items()
            if (slot := old.slots.get(name)) is not None
            and slot.told == told
            and slot.state is SlotState.ACKING
            and self.concerns(slot)
        )

    def __hash__(self) -> int:
        """A proposal under way is kept in a set; a mapping has no hash of its own."""
        return hash((type(self), *self.slots.items()))
