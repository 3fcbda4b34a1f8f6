"""Nodes as real processes, and a way to talk to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from remuda.config import Config
from remuda.errors import CommandRejected
from remuda.partition.hosting import POOL, unit_of
from remuda.peer.local import LocalCluster
from remuda.queue.client import Queues
from remuda.queue.placement import data_partition_of
from remuda.queue.taking import Taking
from remuda.replica.state import PeerId, Replica
from tests.clusters import replica_of, started
from tests.waiting import wait_until

T = TypeVar("T")

PARTITIONS = 4


def settled(cluster: LocalCluster, nodes: int) -> Replica:
    """Start so many nodes, and wait until they share the partitions."""
    started(cluster, nodes)
    return wait_until(lambda: shared(cluster.config, nodes), "the nodes share the partitions")


def shared(config: Config, nodes: int) -> Replica | None:
    replica = replica_of(config)
    pool = replica.pools.get(POOL)
    if pool is None or len(pool.units) != PARTITIONS:
        return None
    owners = [unit.owner for unit in pool.units.values()]
    return replica if None not in owners and len(set(owners)) == nodes else None


def addresses(replica: Replica) -> list[str]:
    return [replica.peers[member].address for member in replica.members]


def owner_of(replica: Replica, queue: str, part: int) -> PeerId:
    number = data_partition_of(queue, part, PARTITIONS)
    owner = replica.pools[POOL].units[unit_of(number)].owner
    assert owner is not None
    return owner


def elsewhere(replica: Replica, queue: str, part: int) -> str:
    """The address of a node that does not own a partition of a queue."""
    owner = owner_of(replica, queue, part)
    return next(replica.peers[peer].address for peer in replica.members if peer != owner)


def talk(addresses: list[str], say: Callable[[Queues], Awaitable[T]]) -> T:
    """What comes of a conversation with nodes; bounded, so that no test hangs."""

    async def talking() -> T:
        async with asyncio.timeout(120), Queues(*addresses) as queues:
            return await say(queues)

    return asyncio.run(talking())


async def taken(taking: Taking, count: int) -> list[tuple[int, bytes]]:
    """So many messages, as they come."""
    found: list[tuple[int, bytes]] = []
    async for batch in taking:
        found += [(one.position, one.message.body) for one in batch.taken]
        if len(found) >= count:
            break
    return found


async def refusal(call: Awaitable[object]) -> CommandRejected:
    try:
        await call
    except CommandRejected as error:
        return error
    raise AssertionError("it was not refused")
