"""A group as the cluster knows it: a pool whose units are the partitions of the queue."""

from __future__ import annotations

from collections.abc import Sequence

from remuda.config import Config
from remuda.partition.hosting import POOL as PARTITIONS
from remuda.partition.hosting import unit_of
from remuda.peer.observer import ask, cluster_log, current
from remuda.queue.client import Queues
from remuda.queue.model import GroupDef, QueueDef
from remuda.queue.placement import data_partition_of
from remuda.replica.commands import AddUnits
from remuda.replica.pool import Pool, UnitId
from remuda.replica.state import Replica


def pool_of(queue: str, group: str) -> str:
    return f"queue/{queue}/{group}"


def unit_of_part(part: int) -> UnitId:
    return f"{part:04}"


def part_of_unit(unit: UnitId) -> int:
    return int(unit)


async def enlist(
    config: Config, queues: Queues, queue: str, group: str, definition: GroupDef | None
) -> QueueDef:
    """See that the group is there, and has a unit for every partition of the queue.

    A group that is there stays as it is: a definition that says otherwise is refused.
    """
    found = await queues.get(queue)
    if definition is not None or group not in found.groups:
        found = await queues.create_group(queue, group, definition)
    async with cluster_log(config) as log:
        missing = missing_units(await current(log), found, group)
        if missing:
            await ask(log, AddUnits(pool_of(queue, group), missing))
    return found


def missing_units(replica: Replica, queue: QueueDef, group: str) -> tuple[UnitId, ...]:
    """The partitions that are nobody's yet because the group has not heard of them."""
    pool = replica.pools.get(pool_of(queue.name, group), Pool())
    units = map(unit_of_part, range(queue.parts))
    return tuple(unit for unit in units if unit not in pool.units)


def addresses_of(replica: Replica, queue: str, part: int) -> Sequence[str]:
    """Whom to ask for a partition: the node that has it, or, while none has, any."""
    infos = [replica.peers[peer] for peer in replica.members if peer in replica.peers]
    nodes = [info.address for info in infos if info.address]
    partitions = replica.pools.get(PARTITIONS, Pool()).units
    if not partitions:
        return nodes
    unit = partitions.get(unit_of(data_partition_of(queue, part, len(partitions))))
    owner = replica.peers.get(unit.owner or "") if unit is not None else None
    return [owner.address] if owner is not None and owner.address else nodes
