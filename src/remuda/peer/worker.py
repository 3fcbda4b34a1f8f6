"""Who runs the units that a peer owns: the port between a peer and the kinds of work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from remuda.ownership.contract import StartUnit, StopUnit, UnitChange
from remuda.replica.pool import UnitId
from remuda.replica.state import PeerId

Tell: TypeAlias = Callable[[UnitChange], None]
"""How a worker tells the peer's life that asked it; ignored when that life is over."""


class UnitWorker(Protocol):
    """Called in the peer's event loop; must return at once, and tell when it is done."""

    def start_unit(self, me: PeerId, start: StartUnit, tell: Tell) -> None:
        """Start, then tell `UnitStarted`, or `UnitFailed` when it is no use trying again."""
        ...

    def stop_unit(self, stop: StopUnit, tell: Tell) -> None:
        """The unit may not run any more as of now; stop it, then tell `UnitStopped`."""
        ...

    def loads(self, pool: str) -> dict[UnitId, int]:
        """What each unit that runs here does, in whole numbers a minute."""
        ...
