"""A cluster with partitions, and nodes to be started in it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from remuda.config import Config
from remuda.log.zookeeper import ZooKeeperLog
from remuda.partition.hosting import found
from remuda.zookeeper.address import Address
from remuda.zookeeper.connection import Connection
from tests.partition.node import PARTITIONS, Nodes


@pytest.fixture
def nodes(config: Config, tmp_path: Path) -> Iterator[Nodes]:
    config = replace(config, settle_time_s=0.5)
    asyncio.run(lay_out(config))
    nodes = Nodes(config, tmp_path)
    yield nodes
    nodes.end()


async def lay_out(config: Config) -> None:
    """A new cluster with its partitions, before its first peer."""
    assert config.zookeeper is not None
    connection = await Connection.open(Address.parse(config.zookeeper), 4.0, create_chroot=True)
    log = await ZooKeeperLog.open(connection)
    assert await found(log, PARTITIONS) == PARTITIONS
    assert await found(log, 3 * PARTITIONS) == PARTITIONS, "their number is fixed"
    await connection.close()
