from __future__ import annotations

from remuda.testing.checkers.checker import Checker


class RingClosesOverTheLiving(Checker):
    """Liveness: when the faults stop, exactly the living become members of one ring."""

    def at_end(self) -> None:
        living, members = self.world.living(), sorted(self.world.replica.members)
        if living != members:
            missing = [peer for peer in living if peer not in members]
            ghosts = [peer for peer in members if peer not in living]
            self.fail(f"living but no members: {missing}; members but not living: {ghosts}")
