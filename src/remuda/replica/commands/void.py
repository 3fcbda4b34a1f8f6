"""`void`: stands where an operator removed an entry that no build could read."""

from __future__ import annotations

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.state import Replica


class Void(Command, frozen=True, tag="void"):
    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        return replica
