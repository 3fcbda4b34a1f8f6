"""What the tests share: one ZooKeeper a run, and a cluster's own corner of it a test."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from remuda.config import Config
from remuda.pipeline.spark.session import QUICK_START, make_session
from remuda.zookeeper.address import Address
from remuda.zookeeper.connection import Connection
from remuda.zookeeper.server import ZooKeeperServer

# No test fails because a machine was slow. For a deeper look: --hypothesis-profile=deep.
settings.register_profile("quick", max_examples=50, deadline=None)
settings.register_profile("deep", max_examples=2000, deadline=None)
settings.load_profile("quick")

_numbers = itertools.count()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """A real server for the whole run. Tests that hurt a server start their own."""
    with ZooKeeperServer(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A real session for the whole run. Tests that hurt a driver start their own."""
    session = make_session("remuda tests", options=QUICK_START)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def config(zookeeper: ZooKeeperServer, tmp_path: Path) -> Config:
    """A cluster of the test's own, with quick sessions."""
    address = f"{zookeeper.address}/test-{next(_numbers)}"
    asyncio.run(_create_chroot(address))
    return Config(
        zookeeper=address,
        data=str(tmp_path / "data"),
        session_timeout_s=2.0,
        check_invariants=True,
    )


async def _create_chroot(address: str) -> None:
    connection = await Connection.open(Address.parse(address), 4.0, create_chroot=True)
    await connection.close()


@pytest.fixture
def unused_tcp_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
