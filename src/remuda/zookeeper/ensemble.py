"""Several ZooKeeper servers on loopback as one: `with Ensemble(directory) as ensemble:`."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Self

from remuda.errors import ServerFailed
from remuda.zookeeper import ports
from remuda.zookeeper.server import ZooKeeperServer
from remuda.zookeeper.zoo_cfg import Membership, PeerPorts


class Ensemble:
    """Each of `servers` can be killed and started again while the ensemble runs."""

    def __init__(
        self, data_dir: Path, size: int = 3, *, heap_mb: int = 256, tick_ms: int = 200
    ) -> None:
        self.data_dir = data_dir.absolute()
        self.size = size
        self._heap_mb = heap_mb
        self._tick_ms = tick_ms
        self._servers: tuple[ZooKeeperServer, ...] = ()
        self._to_undo = contextlib.ExitStack()

    def start(self, timeout_s: float = 30.0) -> None:
        """Start all of them, on the client ports of the last time, and wait until all serve."""
        deadline = time.monotonic() + timeout_s
        with contextlib.ExitStack() as to_undo:
            # Held until the ensemble stops: only a leader listens on its quorum port, and any
            # of them may come to lead.
            peers = tuple(
                PeerPorts(quorum=_hold_port(to_undo), election=_hold_port(to_undo))
                for _ in range(self.size)
            )
            servers = tuple(self._member(id_, peers) for id_ in range(1, self.size + 1))
            for server in servers:
                server.spawn()
                to_undo.callback(server.stop)
            for server in servers:
                server.await_ready(max(0.0, deadline - time.monotonic()))
            self._servers = servers
            self._to_undo = to_undo.pop_all()

    def stop(self) -> None:
        """Safe to call at any time, and twice."""
        self._to_undo.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def servers(self) -> tuple[ZooKeeperServer, ...]:
        """Those of the last start, in the order of their ids."""
        if not self._servers:
            raise ServerFailed(f"the ensemble on {self.data_dir} has not been started")
        return self._servers

    @property
    def address(self) -> str:
        return ",".join(server.address for server in self.servers)

    def _member(self, id_: int, peers: tuple[PeerPorts, ...]) -> ZooKeeperServer:
        return ZooKeeperServer(
            self.data_dir / f"server-{id_}",
            heap_mb=self._heap_mb,
            tick_ms=self._tick_ms,
            membership=Membership(id_, peers),
        )


def _hold_port(to_undo: contextlib.ExitStack) -> int:
    return ports.port_of(to_undo.enter_context(ports.hold_free()))
