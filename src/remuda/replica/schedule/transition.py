"""A slot's next state, or why it may not have it.

Apart from `states`, because `Rejected` knows the replica, and the replica holds states.
"""

from __future__ import annotations

from remuda.replica.command import Rejected
from remuda.replica.schedule.states import NEXT, SlotState, may_move


def moved(state: SlotState, to: SlotState) -> SlotState | Rejected:
    if may_move(state, to):
        return to
    ways = " or ".join(NEXT[state]) or "nothing more"
    return Rejected(f"a slot that is {state} can become {ways}, not {to}")
