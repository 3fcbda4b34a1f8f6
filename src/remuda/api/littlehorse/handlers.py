"""What a handler is given, and the shapes that many share."""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import grpc.aio
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from littlehorse.model import service_pb2
from msgspec import Struct

from remuda.api.littlehorse.callers import Caller
from remuda.api.routing import Router
from remuda.workflow.announcements import Announcements
from remuda.workflow.gateway import Gateway, invalid, missing

METHODS = {
    method.name: method for method in service_pb2.DESCRIPTOR.services_by_name["LittleHorse"].methods
}
"""Every call of the protocol."""

RESPONSES: Mapping[str, type[Message]] = {
    name: GetMessageClass(method.output_type) for name, method in METHODS.items()
}

RESULTS: Mapping[str, type[Any]] = {
    name: GetMessageClass(method.output_type.fields_by_name["results"].message_type)  # pyright: ignore[reportArgumentType]
    for name, method in METHODS.items()
    if "results" in method.output_type.fields_by_name
}
"""What the pages of a search or a list are made of."""


class Desk(Struct, frozen=True):
    """What all handlers work with."""

    gateway: Gateway
    router: Router
    announcements: Announcements


class Asked(Struct, frozen=True):
    """One call."""

    call: str
    caller: Caller
    context: grpc.aio.ServicerContext

    @property
    def tenant(self) -> str:
        return self.caller.tenant


Handler: TypeAlias = Callable[[Desk, Asked, Any], Awaitable[Message]]


async def put(desk: Desk, asked: Asked, request: Message) -> Message:
    """A call that the machine answers by itself."""
    data = await desk.gateway.call(asked.tenant, asked.call, request)
    return RESPONSES[asked.call].FromString(data)


def found(data: bytes | None, asked: Asked, what: str) -> Any:
    """What was read, as the call's answer."""
    if data is None:
        raise missing(f"there is no {what}")
    return RESPONSES[asked.call].FromString(data)


def keyed(make: Callable[..., bytes], *parts: Any) -> bytes:
    """A key of what a client has given; numbers in it are 0 or more."""
    try:
        return make(*parts)
    except struct.error:
        raise invalid("a number, version or position is below 0") from None
