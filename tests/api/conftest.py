"""A cluster of two nodes for all tests that do not hurt it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator

import pytest

from remuda.config import Config
from remuda.peer.local import LocalCluster
from remuda.replica.state import Replica
from remuda.zookeeper.address import Address
from remuda.zookeeper.connection import Connection
from remuda.zookeeper.server import ZooKeeperServer
from tests.api.nodes import PARTITIONS, settled

_numbers = itertools.count()


@pytest.fixture(scope="package")
def replica(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Replica]:
    config = Config(
        zookeeper=f"{zookeeper.address}/api",
        data=str(tmp_path_factory.mktemp("api") / "data"),
        session_timeout_s=4.0,
        settle_time_s=0.2,
        partitions=PARTITIONS,
    )
    asyncio.run(_create_chroot(config))
    with LocalCluster(config) as cluster:
        yield settled(cluster, 2)


async def _create_chroot(config: Config) -> None:
    assert config.zookeeper is not None
    connection = await Connection.open(Address.parse(config.zookeeper), 4.0, create_chroot=True)
    await connection.close()


@pytest.fixture
def queue() -> str:
    """A name that no other test uses."""
    return f"queue-{next(_numbers)}"
