"""Peers as real processes on a real ZooKeeper: killed, frozen, asked to leave."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from remuda.config import Config
from remuda.peer.local import LocalCluster
from remuda.peer.observer import cluster_log, plays, start_of
from remuda.replica.fold import Played
from tests.clusters import closed_over, kill, process_of, replica_of, started
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture
def cluster(config: Config) -> Iterator[LocalCluster]:
    with LocalCluster(config) as cluster:
        yield cluster


def history(config: Config) -> list[Played]:
    async def read() -> list[Played]:
        async with cluster_log(config) as log:
            return [p async for p in plays(log, await start_of(log), await log.end())]

    return asyncio.run(read())


def test_the_ring_heals_over_a_killed_peer_and_over_two_neighbours(cluster: LocalCluster) -> None:
    replica = started(cluster, 5)
    victim = replica.members[0]
    kill(cluster, process_of(cluster, replica, victim))
    replica = closed_over(cluster)
    assert victim not in replica.peers

    first = replica.members[0]
    neighbours = (first, replica.pairs[first])
    kill(cluster, *(process_of(cluster, replica, peer) for peer in neighbours))
    replica = closed_over(cluster)
    assert len(replica.members) == 2
    assert started(cluster, 2).position > replica.position


def test_a_cluster_whose_peers_all_died_is_taken_over_by_new_ones(cluster: LocalCluster) -> None:
    started(cluster, 3)
    kill(cluster, *cluster.peers)
    assert len(started(cluster, 2).members) == 2


def test_a_peer_that_slept_past_its_session_comes_back_under_a_new_id(
    cluster: LocalCluster,
) -> None:
    replica = started(cluster, 3)
    sleeper = replica.members[1]
    process = process_of(cluster, replica, sleeper)
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: sleeper not in replica_of(cluster.config).peers, "the sleeper is out")
    out = replica_of(cluster.config).position
    process.send_signal(signal.SIGCONT)
    replica = closed_over(cluster)
    assert sleeper not in replica.peers
    woken = [played.entry for played in history(cluster.config) if played.entry.position > out]
    assert woken
    assert sleeper not in {entry.by for entry in woken}
    log = (Path(cluster.config.data) / "logs").glob("peer-*.log")
    assert any(f"{sleeper} has lost" in file.read_text() for file in log)


def test_a_peer_that_is_asked_to_leave_says_so_and_is_out_at_once(cluster: LocalCluster) -> None:
    replica = started(cluster, 3)
    leaver = replica.members[2]
    process = process_of(cluster, replica, leaver)
    process.terminate()
    assert process.wait(30) == 0
    cluster.peers.remove(process)
    last = history(cluster.config)[-1]
    assert last.entry.by == leaver
    assert leaver not in closed_over(cluster).peers


def test_zookeeper_that_is_killed_and_started_again_loses_nothing(tmp_path: Path) -> None:
    config = Config(data=str(tmp_path / "data"), session_timeout_s=4.0, check_invariants=True)
    with LocalCluster(config) as cluster:
        before = started(cluster, 3)
        entries = history(config)
        assert cluster.server is not None
        cluster.server.kill()
        assert cluster.tend() != []
        after = replica_of(config)
        assert history(config)[: len(entries)] == entries
        assert sorted(after.members) == sorted(before.members)
        grown = started(cluster, 1)
        assert set(before.members) < set(grown.members)


def test_a_gc_while_peers_run_goes_unnoticed_by_them(config: Config) -> None:
    config = replace(config, gc_entries=10)
    with LocalCluster(config) as cluster:
        replica = started(cluster, 3)
        while replica.collected < 15:
            cluster.end_peers(cluster.peers[:1])
            replica = started(cluster, 1)
        wait_until(lambda: asyncio.run(_first(config)) > 10, "the log is trimmed")
        assert len(closed_over(cluster).members) == 3


async def _first(config: Config) -> int:
    async with cluster_log(config) as log:
        return await log.first()
