"""How errors travel: the one place that knows which gRPC code each has, in both directions.

A code says less than an error does, so its name goes along in the trailing metadata, or beside
the code where a stream goes on.
"""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import asyncio
from typing import NamedTuple

import grpc

from remuda.errors import (
    Busy,
    CommandRejected,
    DiskFull,
    MachineFailed,
    NotAllowed,
    NotServed,
    Refused,
    RemudaError,
    StoreFailed,
    Uncertain,
    Unknown,
)
from remuda.partition.machine import Rejection

ERROR = "remuda-error"

_KINDS = {
    Rejection.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    Rejection.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    Rejection.EXISTS: grpc.StatusCode.ALREADY_EXISTS,
    Rejection.PRECONDITION: grpc.StatusCode.FAILED_PRECONDITION,
    Rejection.STALE: grpc.StatusCode.ABORTED,
    Rejection.OUT_OF_RANGE: grpc.StatusCode.OUT_OF_RANGE,
    Rejection.EXHAUSTED: grpc.StatusCode.RESOURCE_EXHAUSTED,
}
_ERRORS: dict[type[RemudaError], grpc.StatusCode] = {
    Busy: grpc.StatusCode.RESOURCE_EXHAUSTED,
    DiskFull: grpc.StatusCode.RESOURCE_EXHAUSTED,
    NotServed: grpc.StatusCode.UNAVAILABLE,
    Uncertain: grpc.StatusCode.UNKNOWN,
    StoreFailed: grpc.StatusCode.UNKNOWN,
    MachineFailed: grpc.StatusCode.INTERNAL,
    Unknown: grpc.StatusCode.NOT_FOUND,
    NotAllowed: grpc.StatusCode.PERMISSION_DENIED,
    Refused: grpc.StatusCode.FAILED_PRECONDITION,
    RemudaError: grpc.StatusCode.INTERNAL,
}
_BY_NAME = {error.__name__: error for error in _ERRORS}
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_OVER_ALREADY = "Internal error from Core"
"""What grpcio makes of a write to a stream that the other end has just ended, for whatever reason:
the reason is lost, and is told again to whoever opens the stream again."""
_TEXT_MAX = 2_000
"""Headers have bounds, and whoever has sent a megabyte of junk knows what was in it."""


class Status(NamedTuple):
    code: grpc.StatusCode
    error: str
    message: str

    @property
    def number(self) -> int:
        return self.code.value[0]


def status_of(error: BaseException) -> Status:
    message = str(error)[:_TEXT_MAX]
    if isinstance(error, CommandRejected):
        return Status(_KINDS[Rejection(error.kind)], error.kind, message)
    for kind in type(error).__mro__:
        if kind in _ERRORS:
            return Status(_ERRORS[kind], kind.__name__, message)
    if isinstance(error, TimeoutError | asyncio.TimeoutError):
        return Status(grpc.StatusCode.DEADLINE_EXCEEDED, "", message or "it took too long")
    return Status(grpc.StatusCode.INTERNAL, "", f"{type(error).__name__}: {message}")


def error_of(number: int, name: str, message: str) -> RemudaError:
    """What `status_of` was given, as far as it can be told."""
    if name in _BY_NAME:
        return _BY_NAME[name](message)
    code = _CODES.get(number, grpc.StatusCode.UNKNOWN)
    if any(name == kind.value for kind in Rejection):
        return CommandRejected(message, name)
    for kind, mapped in _KINDS.items():
        if mapped is code:
            return CommandRejected(message, kind.value)
    if code is grpc.StatusCode.UNAVAILABLE:
        return NotServed(message)
    return RemudaError(f"{code.name.lower().replace('_', ' ')}: {message}")


def error_of_call(error: grpc.aio.AioRpcError) -> RemudaError:
    if is_broken(error):
        return NotServed(error.details() or "the connection broke")
    return error_of(
        error.code().value[0], name_in(error), error.details() or "the call failed without a word"
    )


def name_in(error: grpc.aio.AioRpcError) -> str:
    """The error's name in the metadata of a call that failed; "" if the node did not say."""
    for key, value in error.trailing_metadata() or ():
        if key == ERROR:
            return str(value)
    return ""


def is_broken(error: grpc.aio.AioRpcError) -> bool:
    """Whether a call has ended without an answer: nobody is there, or it was cut off.

    A node that goes away cancels what is under way; what we cancel ourselves is no error.
    """
    if error.code() is grpc.StatusCode.INTERNAL:
        return error.details() == _OVER_ALREADY
    return error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


def nothing_happened(error: grpc.aio.AioRpcError) -> bool:
    """Whether the node itself has said that it is to be tried again, or elsewhere."""
    return error.code() is grpc.StatusCode.UNAVAILABLE and name_in(error) == NotServed.__name__
