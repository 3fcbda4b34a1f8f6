"""Real clusters for tests: peers as processes, looked at as an operator would."""

from __future__ import annotations

import asyncio
import subprocess

from remuda.config import Config
from remuda.peer.local import LocalCluster
from remuda.peer.observer import cluster_log, current
from remuda.replica.invariants import broken
from remuda.replica.state import PeerId, Replica
from tests.waiting import wait_until


def replica_of(config: Config) -> Replica:
    async def read() -> Replica:
        async with cluster_log(config) as log:
            return await current(log)

    return asyncio.run(read())


def started(cluster: LocalCluster, count: int) -> Replica:
    """Start so many peers, and wait until they and those before them are the members."""
    for _ in range(count):
        cluster.start_peer()
    return closed_over(cluster)


def closed_over(cluster: LocalCluster) -> Replica:
    """Wait until the ring is closed over exactly the peers that run."""
    pids = sorted(peer.pid for peer in cluster.peers)

    def closed() -> Replica | None:
        try:
            replica = replica_of(cluster.config)
        except Exception:
            if all(peer.poll() is None for peer in cluster.peers):
                return None
            raise
        members = sorted(replica.peers[member].pid for member in replica.members)
        return replica if members == pids and len(replica.peers) == len(pids) else None

    replica = wait_until(closed, f"the ring is closed over {pids}")
    assert broken(replica) == []
    return replica


def kill(cluster: LocalCluster, *peers: subprocess.Popen[bytes]) -> None:
    """kill -9, all before any is waited for."""
    for peer in peers:
        peer.kill()
    for peer in peers:
        peer.wait()
        cluster.peers.remove(peer)


def process_of(cluster: LocalCluster, replica: Replica, peer: PeerId) -> subprocess.Popen[bytes]:
    return next(p for p in cluster.peers if p.pid == replica.peers[peer].pid)
