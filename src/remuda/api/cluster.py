"""`remuda.v1.Cluster`: the cluster as this node sees it."""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

from remuda.api.routing import Router
from remuda.partition.hosting import POOL, number_of
from remuda.replica.pool import Pool
from remuda.replica.state import Replica, encode_replica
from remuda.v1 import cluster_pb2 as pb


# ruff: noqa: N802
class ClusterService:
    def __init__(self, router: Router) -> None:
        self._router = router

    async def Status(self, request: pb.StatusRequest, _: object) -> pb.StatusResponse:
        replica = self._router.replica
        units = replica.pools.get(POOL, Pool()).units
        return pb.StatusResponse(
            position=replica.position,
            members=len(replica.members),
            partitions=len(units),
            owners=[
                pb.PartitionStatus(
                    partition=number_of(name), owner=unit.owner or "", epoch=unit.epoch
                )
                for name, unit in sorted(units.items())
            ],
            replica_json=encode_replica(replica).decode(),
        )

    async def Nodes(self, request: pb.NodesRequest, _: object) -> pb.NodesResponse:
        return pb.NodesResponse(nodes=_nodes(self._router.replica))


def _nodes(replica: Replica) -> list[pb.Node]:
    pool = replica.pools.get(POOL, Pool())
    infos = {peer: replica.peers[peer] for peer in sorted(replica.members)}
    return [
        pb.Node(
            id=peer,
            host=info.host,
            pid=info.pid,
            name=info.name,
            address=info.address,
            partitions=map(number_of, pool.owned_by(peer)),
        )
        for peer, info in infos.items()
        if info.address
    ]
