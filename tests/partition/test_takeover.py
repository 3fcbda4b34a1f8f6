"""Nodes as real processes on a real ZooKeeper and one data directory: killed, frozen, woken."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

from remuda.partition.hosting import POOL, number_of
from tests.clusters import replica_of
from tests.partition.node import ALL, PARTITIONS, Nodes
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


def two_nodes(nodes: Nodes, *words: str) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]:
    """Two, that share the partitions and write to them."""
    one, other = nodes.start(*words), nodes.start(*words)
    wait_until(
        lambda: (
            len(nodes.served_by(one)) >= 2
            and len(nodes.served_by(other)) >= 2
            and len(owned_by(nodes, one)) == len(owned_by(nodes, other)) == 2
        ),
        "two nodes share the partitions",
    )
    return one, other


def owned_by(nodes: Nodes, node: subprocess.Popen[bytes]) -> list[str]:
    replica = replica_of(nodes.config)
    pool = replica.pools[POOL]
    return [
        name
        for name, unit in pool.units.items()
        if unit.owner is not None and replica.peers[unit.owner].pid == node.pid
    ]


def serves_all(nodes: Nodes, node: subprocess.Popen[bytes], since_ns: int) -> None:
    def so() -> bool:
        assert node.poll() is None, nodes.output
        return nodes.served_by(node, since_ns) == ALL

    wait_until(so, "one node serves all partitions")


def written_since(nodes: Nodes, since_ns: int) -> int:
    return sum(line.at_ns > since_ns for line in nodes.lines("acknowledged"))


def test_the_partitions_of_a_node_that_leaves_or_is_killed_are_taken_over(nodes: Nodes) -> None:
    one, other = two_nodes(nodes)
    one.terminate()
    assert one.wait(60) == 0, nodes.output
    serves_all(nodes, other, time.monotonic_ns())
    third = nodes.start()
    wait_until(lambda: len(owned_by(nodes, third)) == 2, "it has its share")
    other.kill()
    other.wait()
    serves_all(nodes, third, time.monotonic_ns())
    nodes.end_and_check()


def test_a_frozen_node_that_keeps_the_stores_locked_is_ended_by_the_next_owner(
    nodes: Nodes,
) -> None:
    one, other = two_nodes(nodes)
    one.send_signal(signal.SIGSTOP)
    serves_all(nodes, other, time.monotonic_ns())
    assert one.wait(60) == -signal.SIGKILL
    assert f"process {one.pid} has" in nodes.output
    nodes.end_and_check()


def test_a_frozen_node_that_wakes_lets_go_and_writes_nothing_after_the_next_owner(
    nodes: Nodes,
) -> None:
    one, other = two_nodes(nodes, "--patient")
    its_own = set(map(number_of, owned_by(nodes, one)))
    one.send_signal(signal.SIGSTOP)
    frozen_ns = time.monotonic_ns()
    wait_until(lambda: len(owned_by(nodes, other)) == PARTITIONS, "the cluster gives them away")
    given_ns = time.monotonic_ns()
    wait_until(lambda: written_since(nodes, given_ns) > 200, "the other goes on with its own")
    assert not nodes.served_by(other, frozen_ns) & its_own, "the stores are locked"
    one.send_signal(signal.SIGCONT)
    # It joins again, and may get some of them back, under new epochs.
    woken_ns = time.monotonic_ns()
    wait_until(
        lambda: nodes.served_by(one, woken_ns) | nodes.served_by(other, woken_ns) == ALL,
        "all are served again",
    )
    assert one.poll() is None
    nodes.end_and_check()
