"""`offer-slots`: a member gives so many of its cores to jobs.

Said again, it replaces what was revoked, or changes the number: slots that are too many go when
they have nothing to do, idle ones first. With 0 a member that leaves lets its jobs go elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import Fact, SlotsOffered
from remuda.replica.job_facts import job_facts
from remuda.replica.jobs import Offer, OfferedSlot
from remuda.replica.schedule.slots import SlotId
from remuda.replica.schedule.states import SlotState
from remuda.replica.scheduling import rescheduled
from remuda.replica.state import PeerId, Replica

SLOTS_MAX = 4096


class OfferSlots(Command, frozen=True, tag="offer-slots"):
    peer: PeerId
    slots: int
    tags: tuple[str, ...] = ()

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        if self.peer not in replica.members:
            return Rejected(f"{self.peer} is not a member of the cluster")
        if not 0 <= self.slots <= SLOTS_MAX:
            return Rejected(f"a member offers between 0 and {SLOTS_MAX} slots, not {self.slots}")
        offer = replica.offers.get(self.peer, Offer(0))
        others = {name: slot for name, slot in replica.slots.items() if slot.peer != self.peer}
        kept, withdrawn = self._kept(replica)
        fresh = self._fresh(offer.made, self.slots - len(kept))
        if offer == Offer(self.slots, self.tags, offer.made + len(fresh)):
            return Rejected(f"{self.peer} offers as much already")
        made = Offer(self.slots, self.tags, offer.made + len(fresh))
        new = replace(
            replica,
            offers={**replica.offers, self.peer: made},
            slots={**others, **withdrawn, **kept, **fresh},
        )
        return rescheduled(new, stamp.position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [SlotsOffered(self.peer, self.slots), *job_facts(old, new)]

    def _kept(
        self, replica: Replica
    ) -> tuple[dict[SlotId, OfferedSlot], dict[SlotId, OfferedSlot]]:
        """The slots that stay, with the tags that are said now, and those that are too many.
        Those that were revoked are dead with this."""
        mine = {
            name: slot
            for name, slot in replica.slots.items()
            if slot.peer == self.peer and slot.state is not SlotState.REVOKED
        }
        live = [name for name, slot in mine.items() if not slot.withdrawn]
        live.sort(key=lambda name: (mine[name].state is SlotState.IDLE, _number(name)))
        kept = {name: replace(mine[name], tags=self.tags) for name in live[: self.slots]}
        return kept, {
            name: replace(slot, withdrawn=True, wanted=None)
            for name, slot in mine.items()
            if name not in kept
        }

    def _fresh(self, made: int, count: int) -> dict[SlotId, OfferedSlot]:
        return {
            f"{self.peer}/{made + n}": OfferedSlot(self.peer, self.tags)
            for n in range(max(0, count))
        }


def _number(slot: SlotId) -> int:
    return int(slot.rpartition("/")[2])
