"""ZooKeeper as the simulator needs it: sessions that expire, pulses, and watches on them."""

from __future__ import annotations

from collections.abc import Callable

from remuda.replica.state import PeerId

OnGone = Callable[[], None]


class SimSession:
    def __init__(self, peer: PeerId, touched_at: float) -> None:
        self.peer = peer
        self.touched_at = touched_at
        self.alive = True


class SimZooKeeper:
    """Knows no time of its own: the simulation says when a session has expired."""

    def __init__(self) -> None:
        self.sessions: dict[PeerId, SimSession] = {}
        # Every (watcher, watched) that ever asked: what a checker wants to know.
        self.asked: set[tuple[PeerId, PeerId]] = set()
        self._watches: dict[PeerId, dict[PeerId, OnGone]] = {}

    def open(self, peer: PeerId, now: float) -> SimSession:
        """A session, and its pulse with it."""
        session = self.sessions[peer] = SimSession(peer, now)
        return session

    def is_alive(self, peer: PeerId) -> bool:
        session = self.sessions.get(peer)
        return session is not None and session.alive

    def watch(self, watcher: PeerId, watched: PeerId, on_gone: OnGone) -> None:
        self.asked.add((watcher, watched))
        if self.is_alive(watched):
            self._watches.setdefault(watched, {})[watcher] = on_gone
        else:
            on_gone()

    def unwatch(self, watcher: PeerId, watched: PeerId) -> None:
        self._watches.get(watched, {}).pop(watcher, None)

    def close(self, session: SimSession) -> None:
        """The session ends: its pulse stops, and its watchers are told."""
        session.alive = False
        for on_gone in self._watches.pop(session.peer, {}).values():
            on_gone()
