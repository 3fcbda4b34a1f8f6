"""What a slot goes through on a task, and which way it may go on from each state.

    idle ─► acking ─► active ─► waiting ─► idle
               │         └────► sealing ─► idle
               └─► revoked                            and from every one of them: dead

A slot that is told to do a task acks first; one that does not in time is revoked. A slot whose
work is done waits for the others, unless it is the one that seals the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class SlotState(StrEnum):
    IDLE = "idle"
    ACKING = "acking"
    ACTIVE = "active"
    WAITING = "waiting"
    SEALING = "sealing"
    REVOKED = "revoked"
    DEAD = "dead"


NEXT: Mapping[SlotState, tuple[SlotState, ...]] = {
    SlotState.IDLE: (SlotState.ACKING, SlotState.DEAD),
    SlotState.ACKING: (SlotState.ACTIVE, SlotState.REVOKED, SlotState.DEAD),
    SlotState.ACTIVE: (SlotState.SEALING, SlotState.WAITING, SlotState.DEAD),
    SlotState.WAITING: (SlotState.IDLE, SlotState.DEAD),
    SlotState.SEALING: (SlotState.IDLE, SlotState.DEAD),
    SlotState.REVOKED: (SlotState.DEAD,),
    SlotState.DEAD: (),
}


def may_move(state: SlotState, to: SlotState) -> bool:
    return to in NEXT[state]
