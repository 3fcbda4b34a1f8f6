"""The server of a node: health, reflection, long silences, and whatever junk comes in."""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import grpc
import grpc.aio
import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remuda.errors import CommandRejected
from remuda.queue.client import Queues
from remuda.replica.state import Replica
from remuda.v1 import cluster_pb2, nodes_pb2, queues_pb2
from remuda.v1.cluster_pb2_grpc import ClusterStub
from remuda.v1.nodes_pb2_grpc import NodesStub
from remuda.v1.queues_pb2_grpc import QueuesStub
from remuda.wire.settings import BODY_BYTES_MAX, MESSAGE_BYTES_MAX, client_options
from tests.api.nodes import PARTITIONS, addresses, refusal, taken, talk

pytestmark = pytest.mark.integration

T = TypeVar("T")

PRECISE = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.PERMISSION_DENIED,
}
METHODS = {
    f"/{service.full_name}/{method.name}": method
    for file in (queues_pb2, cluster_pb2, nodes_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
STREAMS = {path for path in METHODS if path.endswith(("SendStream", "Take", "Consume"))}
UNARY = sorted(METHODS.keys() - STREAMS)


def dialled(address: str, say: Callable[[grpc.aio.Channel], Awaitable[T]]) -> T:
    async def talking() -> T:
        options = client_options()
        async with asyncio.timeout(120):
            async with grpc.aio.insecure_channel(address, options=options) as channel:
                return await say(channel)

    return asyncio.run(talking())


def is_well(address: str) -> bool:
    async def ask(channel: grpc.aio.Channel) -> bool:
        request = health_pb2.HealthCheckRequest(service="remuda.v1.Queues")
        stub: Any = health_pb2_grpc.HealthStub(cast("Any", channel))
        answer = await stub.Check(request)
        return answer.status == health_pb2.HealthCheckResponse.SERVING

    return dialled(address, ask)


def test_every_node_says_that_it_is_well(replica: Replica) -> None:
    assert all(is_well(address) for address in addresses(replica))


def test_reflection_names_every_service(replica: Replica) -> None:
    async def ask(channel: grpc.aio.Channel) -> set[str]:
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(cast("Any", channel))
        async for answer in stub.ServerReflectionInfo(iter([request])):
            return {service.name for service in answer.list_services_response.service}
        raise AssertionError("no answer")

    services = dialled(addresses(replica)[0], ask)
    assert {"remuda.v1.Queues", "remuda.v1.Cluster", "grpc.health.v1.Health"} <= services


def test_the_cluster_and_its_nodes_can_be_looked_at(replica: Replica) -> None:
    async def ask(channel: grpc.aio.Channel) -> tuple[Any, Any]:
        stub = ClusterStub(channel)
        status = await stub.Status(cluster_pb2.StatusRequest())
        return status, await stub.Nodes(cluster_pb2.NodesRequest())

    status, nodes = dialled(addresses(replica)[0], ask)
    assert (status.members, status.partitions) == (2, PARTITIONS)
    assert {one.owner for one in status.owners} == set(replica.members)
    assert sorted(node.address for node in nodes.nodes) == sorted(addresses(replica))
    assert sorted(n for node in nodes.nodes for n in node.partitions) == list(range(PARTITIONS))


def test_commands_are_taken_as_they_are_from_nodes_only(replica: Replica) -> None:
    async def ask(channel: grpc.aio.Channel) -> grpc.StatusCode:
        try:
            await NodesStub(channel).Submit(nodes_pb2.SubmitRequest(machine="queue"))
        except grpc.aio.AioRpcError as error:
            return error.code()
        return grpc.StatusCode.OK

    assert dialled(addresses(replica)[0], ask) is grpc.StatusCode.PERMISSION_DENIED


def test_an_idle_stream_with_many_pings_stays_open(replica: Replica, queue: str) -> None:
    async def talk() -> None:
        node = addresses(replica)[0]
        async with asyncio.timeout(120), Queues(node, ping_ms=100) as queues, Queues(node) as other:
            await queues.create(queue, 1)
            await queues.create_group(queue, "g")
            async with queues.take(queue, 0, "g", 1) as taking:
                channel = await queues._line.channel()
                waiting = asyncio.create_task(taken(taking, 1))
                await asyncio.sleep(1.5)
                assert not waiting.done()
                assert channel.get_state() is grpc.ChannelConnectivity.READY
                await other.send(queue, b"x")
                assert await waiting == [(0, b"x")]
                assert await queues._line.channel() is channel, "nobody has hung up"

    asyncio.run(talk())


def test_a_message_that_is_too_large_for_the_wire_is_refused(replica: Replica, queue: str) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 1)
        error = await refusal(queues.send(queue, b"x" * (BODY_BYTES_MAX + 1)))
        assert (error.kind, "fit the wire" in str(error)) == ("exhausted", True)
        request = queues_pb2.SendRequest(
            queue=queue, messages=[queues_pb2.NewMessage(body=b"x" * (MESSAGE_BYTES_MAX - 100))] * 2
        )
        code, message = await outcome_of(QueuesStub(await queues._line.channel()).Send(request))
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "larger than max" in message
        await queues.send(queue, b"x")

    talk(addresses(replica)[:1], say)


# ── junk ─────────────────────────────────────────────────────────────────────────────────────

FEW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
NUMBERS = st.sampled_from([0, 1, -1, 7, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])
TEXTS = st.sampled_from(["", "wild", "g", "x" * 3000, "\0", "no such", "é/\n", "wild-2"])


def wild(kind: type[Message], depth: int = 0) -> st.SearchStrategy[Message]:
    """Messages of a type, with values that nobody should send."""

    @st.composite
    def make(draw: st.DrawFn) -> Message:
        message = kind()
        for field in kind.DESCRIPTOR.fields:
            if not draw(st.booleans()):
                continue
            _fill(draw, message, field, depth)
        return message

    return make()


def _fill(draw: st.DrawFn, message: Any, field: Any, depth: int) -> None:
    if field.type == field.TYPE_MESSAGE:
        if field.message_type.GetOptions().map_entry or depth > 2:
            return
        inner = draw(wild(GetMessageClass(field.message_type), depth + 1))
        target = getattr(message, field.name)
        (target.add() if field.is_repeated else target).CopyFrom(inner)
        return
    if field.type == field.TYPE_STRING:
        value: Any = draw(TEXTS)
    elif field.type == field.TYPE_BYTES:
        value = draw(st.binary(max_size=20))
    elif field.type == field.TYPE_BOOL:
        value = draw(st.booleans())
    elif field.type == field.TYPE_ENUM:
        value = draw(st.sampled_from([0, 1, 99]))
    else:
        value = draw(NUMBERS)
        if field.type == field.TYPE_INT32:
            value = max(-(2**31), min(2**31 - 1, value))
    if field.is_repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)


async def outcome_of(call: Awaitable[object]) -> tuple[grpc.StatusCode, str]:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details() or ""
    return grpc.StatusCode.OK, "fine"


@FEW
@given(data=st.data(), path=st.sampled_from(UNARY))
def test_wild_values_get_a_precise_code_and_a_message(
    replica: Replica, data: st.DataObject, path: str
) -> None:
    request = data.draw(wild(GetMessageClass(METHODS[path].input_type)))
    address = addresses(replica)[0]

    async def say(channel: grpc.aio.Channel) -> tuple[grpc.StatusCode, str]:
        await outcome_of(
            QueuesStub(channel).Create(queues_pb2.CreateRequest(queue="wild", parts=2))
        )
        call = channel.unary_unary(path)(request.SerializeToString(), timeout=30)
        return await outcome_of(call)

    code, message = dialled(address, say)
    assert code in PRECISE, (path, request, code, message)
    assert message


@FEW
@given(junk=st.binary(max_size=200), path=st.sampled_from(UNARY))
def test_junk_bytes_do_no_harm(replica: Replica, junk: bytes, path: str) -> None:
    async def say(channel: grpc.aio.Channel) -> tuple[grpc.StatusCode, str]:
        return await outcome_of(channel.unary_unary(path)(junk, timeout=30))

    code, message = dialled(addresses(replica)[0], say)
    assert code in PRECISE
    assert message


@FEW
@given(data=st.data(), path=st.sampled_from(sorted(STREAMS)))
def test_wild_streams_do_no_harm(replica: Replica, data: st.DataObject, path: str) -> None:
    kind = GetMessageClass(METHODS[path].input_type)
    requests = data.draw(st.lists(wild(kind), max_size=4))

    async def say(channel: grpc.aio.Channel) -> tuple[grpc.StatusCode, str]:
        call = channel.stream_stream(path)(timeout=30)
        # If the stream is over before all was said, grpcio forgets what it ended with.
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            for request in requests:
                await call.write(request.SerializeToString())
            await call.done_writing()
        with suppress(grpc.aio.AioRpcError):
            async for _ in call:
                pass
        code, message = await call.code(), await call.details() or "fine"
        is_over = message == "Internal error from Core"
        return (grpc.StatusCode.OK, message) if is_over else (code, message)

    code, message = dialled(addresses(replica)[0], say)
    assert code in PRECISE, (path, requests, code, message)
    assert message


def test_after_all_that_every_node_is_well(replica: Replica) -> None:
    assert all(is_well(address) for address in addresses(replica))
    with pytest.raises(CommandRejected):
        talk(addresses(replica), lambda queues: queues.get("nowhere"))
