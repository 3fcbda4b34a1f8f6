"""What all services share: how calls are read, and how an error becomes the end of one."""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from typing import Any

import grpc
import grpc.aio
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from remuda.errors import CommandRejected, RemudaError
from remuda.partition.machine import Rejection
from remuda.wire.status import ERROR, status_of

log = logging.getLogger("remuda.api")


def handlers(service: object, descriptor: ServiceDescriptor) -> grpc.GenericRpcHandler:
    """A service's methods, by their names in the .proto file; a stream goes both ways.

    Requests are read here, and not by gRPC, so that junk is answered as precisely as anything
    else. A method that answers with a stream writes to its context.
    """
    return grpc.method_handlers_generic_handler(
        descriptor.full_name,
        {one.name: _handler(getattr(service, one.name), one) for one in descriptor.methods},
    )


async def end(context: grpc.aio.ServicerContext, error: Exception) -> None:
    """The call, precisely. What is nobody's mistake but ours is logged, and the node goes on."""
    if not isinstance(error, RemudaError | TimeoutError):
        log.error("a call failed", exc_info=error)
    status = status_of(error)
    trailing = ((ERROR, status.error),) if status.error else ()
    await context.abort(status.code, status.message, trailing)


class Finished(Exception):
    """Raised in a group of tasks to end them all: there is nothing more to say."""


@contextmanager
def first_of() -> Generator[None]:
    """Around a group of tasks: what ended it is raised as it is; nothing if it has finished."""
    try:
        yield
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
        if not isinstance(first, Finished):
            raise first from None


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _handler(method: Callable[..., Any], described: MethodDescriptor) -> grpc.RpcMethodHandler:
    kind = GetMessageClass(described.input_type)

    async def answer(request: bytes, context: grpc.aio.ServicerContext) -> Any:
        try:
            return await method(_read(kind, request), context)
        except grpc.aio.AbortError:
            raise
        except Exception as error:
            await end(context, error)

    async def converse(requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> None:
        try:
            await method(_read_all(kind, requests), context)
        except grpc.aio.AbortError:
            raise
        except Exception as error:
            await end(context, error)

    if described.client_streaming:
        return grpc.stream_stream_rpc_method_handler(converse, None, _written)
    return grpc.unary_unary_rpc_method_handler(answer, None, _written)


def _read(kind: type[Message], data: bytes) -> Message:
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise CommandRejected(
            f"these {len(data)} bytes are no {kind.DESCRIPTOR.full_name}: {error}",
            Rejection.INVALID.value,
        ) from None


async def _read_all(kind: type[Message], requests: AsyncIterator[bytes]) -> AsyncIterator[Message]:
    async for data in requests:
        yield _read(kind, data)


def _written(message: Message) -> bytes:
    return message.SerializeToString()
