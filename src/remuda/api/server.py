"""The gRPC server of a node, with health and reflection."""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from littlehorse.model import service_pb2

from remuda.api.calls import handlers
from remuda.api.cluster import ClusterService
from remuda.api.littlehorse.service import LittleHorseService
from remuda.api.nodes import NodesService
from remuda.api.queues import QueuesService
from remuda.errors import PortInUse
from remuda.v1 import cluster_pb2, nodes_pb2, queues_pb2
from remuda.wire.settings import server_options

_GRACE_S = 0.25
_QUEUES = queues_pb2.DESCRIPTOR.services_by_name["Queues"]
_CLUSTER = cluster_pb2.DESCRIPTOR.services_by_name["Cluster"]
_WORKFLOWS = service_pb2.DESCRIPTOR.services_by_name["LittleHorse"]
_NODES = nodes_pb2.DESCRIPTOR.services_by_name["Nodes"]


class Server:
    """Bound when it is made, and at work after `start`."""

    def __init__(self, host: str, port: int) -> None:
        self._server = grpc.aio.server(options=server_options())
        self._health = health.aio.HealthServicer()  # pyright: ignore[reportAttributeAccessIssue]
        try:
            bound = self._server.add_insecure_port(f"{host}:{port}")
        except RuntimeError:
            bound = 0
        if not bound:
            raise PortInUse(
                f"this node cannot take calls at {host}:{port}: choose another address or port "
                "with --grpc-host and --grpc-port"
            )
        self.address = f"{host}:{bound}"

    def offer(
        self,
        queues: QueuesService,
        cluster: ClusterService,
        nodes: NodesService,
        workflows: LittleHorseService,
    ) -> None:
        self._server.add_generic_rpc_handlers(
            (
                handlers(queues, _QUEUES),
                handlers(cluster, _CLUSTER),
                handlers(nodes, _NODES),
                handlers(workflows, _WORKFLOWS),
            )
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflected = (
            *(one.full_name for one in (_QUEUES, _CLUSTER, _NODES, _WORKFLOWS)),
            health.SERVICE_NAME,
            reflection.SERVICE_NAME,
        )
        reflection.enable_server_reflection(reflected, self._server)

    async def start(self) -> None:
        await self.tell(False)
        await self._server.start()

    async def tell(self, serves: bool) -> None:
        """Whoever asks for this node's health."""
        status = health_pb2.HealthCheckResponse.ServingStatus
        for service in ("", _QUEUES.full_name, _CLUSTER.full_name, _WORKFLOWS.full_name):
            await self._health.set(service, status.SERVING if serves else status.NOT_SERVING)

    async def stop(self) -> None:
        await self._server.stop(_GRACE_S)
