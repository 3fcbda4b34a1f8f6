"""`revoke-task`: slots that have not acked in time are not counted on any more.

They are lost to the plan. Their member, once it hears of it, offers others instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace

from remuda.replica.commands.on_slots import OnSlots
from remuda.replica.facts import Fact, SlotsRevoked
from remuda.replica.job_facts import job_facts
from remuda.replica.schedule.states import SlotState
from remuda.replica.scheduling import rescheduled
from remuda.replica.state import Replica


class RevokeTask(OnSlots, frozen=True, tag="revoke-task"):
    to: ClassVar[SlotState] = SlotState.REVOKED

    def settled(self, replica: Replica, position: int) -> Replica:
        slots = {
            name: replace(slot, place=None, wanted=None)
            if slot.state is SlotState.REVOKED
            else slot
            for name, slot in replica.slots.items()
        }
        return rescheduled(replace(replica, slots=slots), position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [SlotsRevoked(self.changed(old)), *job_facts(old, new)]
