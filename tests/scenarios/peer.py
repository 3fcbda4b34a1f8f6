"""One life of a peer in a scenario, and what is on its way from and to it."""

from __future__ import annotations

from remuda.log.record import Record
from remuda.peer.core import PeerCore
from remuda.replica.state import PeerId
from remuda.testing.zookeeper import SimSession


class NoChance:
    """Jitter that always comes out at its most."""

    def uniform(self, a: float, b: float, /) -> float:
        return max(a, b)


class ScenarioPeer:
    """It does nothing by itself: the cluster acts for it."""

    def __init__(self, core: PeerCore, session: SimSession, beat_at: float) -> None:
        self.core = core
        self.session = session
        self.beat_at = beat_at
        self.killed = False
        self.frozen = False
        self.suspended = False
        self.next_position = 0
        self.proposals: list[Record] = []
        self.stopped_pulses: list[PeerId] = []

    @property
    def me(self) -> PeerId:
        return self.core.me

    @property
    def alive(self) -> bool:
        return not self.killed and not self.core.finished

    @property
    def running(self) -> bool:
        return self.alive and not self.frozen

    @property
    def reachable(self) -> bool:
        return self.running and not self.suspended
