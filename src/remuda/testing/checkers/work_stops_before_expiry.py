from __future__ import annotations

from remuda.replica.state import PeerId
from remuda.testing.checkers.checker import Checker


class WorkStopsBeforeExpiry(Checker):
    """When a session expires, its process has stopped all exclusively owned work.

    A frozen process does no work while it is frozen; that it looks at its clock before anything
    else when it wakes is checked there, by the epochs that go with every write.
    """

    def on_expiry(self, peer: PeerId) -> None:
        for process in self.world.processes:
            if process.me == peer and process.alive and not process.frozen and process.core.working:
                self.fail(f"{peer} still works, and its session expires")
