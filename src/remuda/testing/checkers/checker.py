"""What a checker is told. It looks, and raises through `fail`; it changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from remuda.ownership.contract import StopUnit
from remuda.replica.fold import Played
from remuda.replica.state import PeerId, Replica

if TYPE_CHECKING:
    from remuda.testing.process import SimProcess
    from remuda.testing.simulation import Simulation


class Checker:
    def __init__(self, world: Simulation) -> None:
        self.world = world

    def on_entry(self, before: Replica, played: Played) -> None:
        """An entry was written, and this is what it does to whoever plays it."""

    def on_played(self, process: SimProcess, played: Played) -> None:
        """A process has played an entry."""

    def on_expiry(self, peer: PeerId) -> None:
        """A session is about to expire on the server."""

    def on_stopping(self, process: SimProcess, stop: StopUnit) -> None:
        """A process begins to stop a unit."""

    def on_event(self) -> None:
        """Something has happened, anything."""

    def is_settled(self) -> bool:
        """Whether what `at_end` wants has come to be already."""
        return True

    def at_end(self) -> None:
        """The faults have stopped, and there was time to recover."""

    def fail(self, what: str) -> NoReturn:
        raise self.world.fail(type(self).__name__, what)
