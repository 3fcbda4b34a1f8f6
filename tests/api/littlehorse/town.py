# The client has no types to rely on.
# pyright: basic
"""A cluster to be hurt: nodes that are killed, workers as processes, and a client that goes on."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.common_wfspec_pb2 import VariableDef
from littlehorse.model.service_pb2 import PutTaskDefRequest
from littlehorse.model.type_definition_pb2 import ReturnType, TypeDefinition

from remuda.config import Config
from remuda.peer.local import LocalCluster
from remuda.replica.state import Replica
from remuda.zookeeper.address import Address
from remuda.zookeeper.connection import Connection
from remuda.zookeeper.server import ZooKeeperServer
from tests.api.littlehorse.stable import Stable
from tests.api.littlehorse.worker import started
from tests.api.nodes import PARTITIONS, settled
from tests.clusters import kill, process_of


class Town:
    """Some nodes, all of which may be killed but the first, and a client at that one."""

    def __init__(self, cluster: LocalCluster, replica: Replica, journal: Path) -> None:
        stays, *self._others = replica.members
        self._replica = replica
        self.cluster = cluster
        self.keeper = process_of(cluster, replica, stays)
        self.journal = journal
        self.address = replica.peers[stays].address
        self.stable = Stable(self.address)
        self.workers: list[subprocess.Popen[bytes]] = []

    def hire(self, *tasks: str, heartbeat_s: int = 60) -> subprocess.Popen[bytes]:
        worker = started(self.address, self.journal, *tasks, heartbeat_s=heartbeat_s)
        self.workers.append(worker)
        return worker

    def task(self, name: str) -> str:
        text = TypeDefinition(primitive_type=VariableType.STR)
        self.stable.stub.PutTaskDef(
            PutTaskDefRequest(
                name=name,
                input_vars=[VariableDef(name="text", type_def=text)],
                return_type=ReturnType(return_type=text),
            )
        )
        return name

    def kill_a_node(self) -> None:
        kill(self.cluster, process_of(self.cluster, self._replica, self._others.pop()))

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.stable.close()


@contextmanager
def town(zookeeper: ZooKeeperServer, path: Path, nodes: int) -> Generator[Town]:
    config = Config(
        zookeeper=f"{zookeeper.address}/{path.name}",
        data=str(path / "data"),
        session_timeout_s=4.0,
        settle_time_s=0.2,
        partitions=PARTITIONS,
        route_timeout_s=60.0,
    )
    asyncio.run(_create_chroot(config))
    with LocalCluster(config) as cluster:
        found = Town(cluster, settled(cluster, nodes), path / "journal")
        try:
            yield found
        finally:
            found.close()


async def _create_chroot(config: Config) -> None:
    assert config.zookeeper is not None
    connection = await Connection.open(Address.parse(config.zookeeper), 4.0, create_chroot=True)
    await connection.close()
