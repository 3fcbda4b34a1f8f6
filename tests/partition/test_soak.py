"""Minutes of killed, frozen and woken nodes: nothing acknowledged is lost, no two owners meet."""

from __future__ import annotations

import random
import signal
import time

import pytest

from tests.partition.node import ALL, Nodes
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.soak, pytest.mark.timeout(600)]

NODES = 3
SECONDS = 60.0


def test_nodes_that_are_killed_frozen_and_woken_lose_nothing(nodes: Nodes) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    kinds = {"killed": 0, "frozen": 0, "told to leave": 0}
    living = [nodes.start() for _ in range(NODES)]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        victim = chance.choice(living)
        kind = chance.choice(list(kinds))
        kinds[kind] += 1
        match kind:
            case "killed":
                victim.kill()
            case "frozen":
                victim.send_signal(signal.SIGSTOP)
                time.sleep(chance.uniform(0, 2 * nodes.config.session_timeout_s))
                victim.send_signal(signal.SIGCONT)
            case _:
                victim.terminate()
        time.sleep(chance.uniform(0, 3))
        living = [node for node in living if node.poll() is None]
        while len(living) < NODES:
            living.append(nodes.start())
    calm_ns = time.monotonic_ns()
    wait_until(
        lambda: set().union(*(nodes.served_by(node, calm_ns) for node in living)) == ALL,
        "all partitions are served again",
    )
    acknowledged = nodes.lines("acknowledged")
    print(f"{kinds}, {len(acknowledged):,} acknowledged by {len(nodes.running)} nodes")
    nodes.end_and_check()
