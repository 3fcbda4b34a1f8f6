"""Nodes that are killed or frozen while they are used: callers wait, and nothing is lost."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from remuda.config import Config
from remuda.peer.local import LocalCluster
from remuda.queue.client import Queues
from remuda.replica.state import Replica
from tests.api.nodes import PARTITIONS, addresses, owner_of, settled
from tests.clusters import process_of
from tests.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.soak]

QUEUE = "orders"


@pytest.fixture
def cluster(config: Config) -> Iterator[LocalCluster]:
    config = replace(config, settle_time_s=0.2, partitions=PARTITIONS, route_timeout_s=60.0)
    with LocalCluster(config) as cluster:
        yield cluster


async def send_while(queues: Queues, hurt: Callable[[], None]) -> list[bytes]:
    """Messages that were acknowledged, by senders that went on while a node was hurt."""
    acknowledged: list[bytes] = []
    stop = asyncio.Event()

    async def send(sender: int) -> None:
        number = 0
        while not stop.is_set():
            body = b"%d-%d" % (sender, number)
            await queues.send(QUEUE, body, key=f"k{sender}")
            acknowledged.append(body)
            number += 1
            await asyncio.sleep(0.01)

    async def until_all_have_sent(more: int) -> None:
        before = [_count(acknowledged, sender) for sender in range(8)]

        async def so() -> bool:
            return all(_count(acknowledged, one) >= before[one] + more for one in range(8))

        await eventually(so, f"all have sent {more} more")

    senders = [asyncio.create_task(send(sender)) for sender in range(8)]
    try:
        await until_all_have_sent(10)
        hurt()
        await until_all_have_sent(20)
    finally:
        stop.set()
        outcomes = await asyncio.gather(*senders, return_exceptions=True)
    assert [one for one in outcomes if one is not None] == [], "no call has failed"
    return acknowledged


def _count(bodies: list[bytes], sender: int) -> int:
    return sum(body.startswith(b"%d-" % sender) for body in bodies)


async def kept(queues: Queues) -> list[bytes]:
    """All that there is, in order by partition."""
    found: list[bytes] = []
    for part in range((await queues.get(QUEUE)).parts):
        start = 0
        while page := await queues.peek(QUEUE, part, start, 1000):
            found += [message.body for _, message in page]
            start = page[-1][0] + 1
    return found


def check(acknowledged: list[bytes], found: list[bytes]) -> None:
    assert len(found) == len(set(found)), "nothing is there twice"
    assert set(acknowledged) <= set(found), "nothing that was acknowledged is lost"
    for sender in range(8):
        its_own = [body for body in found if body.startswith(b"%d-" % sender)]
        numbers = [int(body.partition(b"-")[2]) for body in its_own]
        assert numbers == list(range(len(numbers))), "each key is in order"


def victim(cluster: LocalCluster, replica: Replica) -> subprocess.Popen[bytes]:
    return process_of(cluster, replica, owner_of(replica, QUEUE, 0))


def run(
    cluster: LocalCluster, hurt: Callable[[subprocess.Popen[bytes]], None]
) -> subprocess.Popen[bytes]:
    """Hurt the node that owns the queue's first partition, while clients use both."""
    replica = settled(cluster, 2)
    hurt_one = victim(cluster, replica)

    async def talk() -> None:
        async with Queues(*addresses(replica), timeout_s=90) as queues:
            await queues.create(QUEUE, 4)
            acknowledged = await send_while(queues, lambda: hurt(hurt_one))
            check(acknowledged, await kept(queues))

    asyncio.run(talk())
    return hurt_one


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_senders_wait_while_partitions_of_a_node_that_ends_are_taken_over_and_nothing_is_lost(
    cluster: LocalCluster, by: signal.Signals
) -> None:
    ended = run(cluster, lambda node: node.send_signal(by))
    assert ended.wait(60) == (0 if by is signal.SIGTERM else -by)
    cluster.peers.remove(ended)


def test_senders_go_on_when_a_node_is_frozen_past_its_session(cluster: LocalCluster) -> None:
    frozen = run(cluster, lambda node: node.send_signal(signal.SIGSTOP))
    assert frozen.wait(60) == -signal.SIGKILL, "the next owner has ended it"
    cluster.peers.remove(frozen)


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_goes_on_taking_and_committing_when_the_owner_ends(
    cluster: LocalCluster, by: signal.Signals
) -> None:
    replica = settled(cluster, 2)

    async def talk() -> None:
        async with Queues(*addresses(replica), timeout_s=90) as queues:
            await queues.create(QUEUE, 1)
            await queues.create_group(QUEUE, "g")
            async with asyncio.timeout(120), queues.take(QUEUE, 0, "g", 1, credit=5) as taking:
                batches = aiter(taking)
                await queues.send(QUEUE, b"before")
                (first,) = (await anext(batches)).taken
                node = victim(cluster, replica)
                node.send_signal(by)
                node.wait(60)
                cluster.peers.remove(node)
                assert (await taking.commit(taking.turn, [first.position])).committed == 1
                await queues.send(QUEUE, b"after")
                (second,) = (await anext(batches)).taken
                assert (second.position, second.message.body) == (1, b"after")
                assert (await taking.commit(taking.turn, [1])).committed == 2

    asyncio.run(talk())
