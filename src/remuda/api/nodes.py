"""What nodes ask of each other: `remuda.v1.Nodes`."""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import hmac

import grpc
import grpc.aio

from remuda.api.routing import KEY, Router, parcels_of
from remuda.errors import NotServed
from remuda.partition.machine import Rejected
from remuda.partition.runtime import Partition
from remuda.v1 import nodes_pb2 as pb


class NodesService:
    """Commands come as they are, so only nodes may send them: they know the cluster's key."""

    def __init__(self, router: Router) -> None:
        self._router = router

    async def Submit(  # noqa: N802
        self, request: pb.SubmitRequest, context: grpc.aio.ServicerContext
    ) -> pb.SubmitResponse:
        home = await self._home(request.partition, context)
        outcome = await home.submit(request.machine, request.command)
        if isinstance(outcome, Rejected):
            rejected = pb.Rejected(kind=outcome.kind.value, reason=outcome.reason)
            return pb.SubmitResponse(rejected=rejected)
        return pb.SubmitResponse(answer=outcome)

    async def Ask(  # noqa: N802
        self, request: pb.AskRequest, context: grpc.aio.ServicerContext
    ) -> pb.AskResponse:
        home = await self._home(request.partition, context)
        answer = await self._router.answer(home, request.machine, request.question)
        return pb.AskResponse(answer=answer)

    async def Deliver(  # noqa: N802
        self, request: pb.DeliverRequest, context: grpc.aio.ServicerContext
    ) -> pb.DeliverResponse:
        home = await self._home(request.partition, context)
        return pb.DeliverResponse(heard=await home.receive(parcels_of(request)))

    async def Tell(  # noqa: N802
        self, request: pb.TellRequest, context: grpc.aio.ServicerContext
    ) -> pb.TellResponse:
        await self._check(context)
        self._router.hear(request.machine, request.note)
        return pb.TellResponse()

    async def _home(self, partition: int, context: grpc.aio.ServicerContext) -> Partition:
        await self._check(context)
        home = self._router.here(partition)
        if home is None:
            raise NotServed(f"partition {partition} is not served by this node")
        return home

    async def _check(self, context: grpc.aio.ServicerContext) -> None:
        if not self.is_node(context):
            await context.abort(
                grpc.StatusCode.PERMISSION_DENIED, "this service is for the nodes of the cluster"
            )

    def is_node(self, context: grpc.aio.ServicerContext) -> bool:
        key = dict(context.invocation_metadata() or ()).get(KEY, "")
        return bool(self._router.key) and hmac.compare_digest(str(key), self._router.key)
