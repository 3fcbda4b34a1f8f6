"""`ack-task`: slots of a member begin with what they were told to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from remuda.replica.commands.on_slots import OnSlots
from remuda.replica.facts import Fact, SlotsAcked
from remuda.replica.job_facts import job_facts
from remuda.replica.jobs import OfferedSlot
from remuda.replica.schedule.states import SlotState
from remuda.replica.scheduling import advanced
from remuda.replica.state import PeerId, Replica


class AckTask(OnSlots, frozen=True, tag="ack-task"):
    peer: PeerId

    to: ClassVar[SlotState] = SlotState.ACTIVE

    def concerns(self, slot: OfferedSlot) -> bool:
        return slot.peer == self.peer

    def settled(self, replica: Replica, position: int) -> Replica:
        return advanced(replica, position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [SlotsAcked(self.peer, len(self.changed(old))), *job_facts(old, new)]
