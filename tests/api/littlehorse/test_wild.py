# The requests are of many types.
# pyright: basic
"""Wild requests to every call: a precise answer each, and the node goes on."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message_factory import GetMessageClass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remuda.api.littlehorse.handlers import METHODS
from remuda.api.littlehorse.service import HANDLERS
from remuda.replica.state import Replica
from tests.api.littlehorse.stable import Stable

pytestmark = pytest.mark.integration

F = FieldDescriptor
IMPRECISE = {grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE}
DEPTH = 4

# A principal or a tenant that is put stays; calls by all tests that follow would meet it.
CALLS = sorted({*HANDLERS} - {"PutPrincipal", "DeletePrincipal"})

_texts = st.sampled_from(["", "a", "no spaces", "\x00", "é" * 300, "default", "$.x", "*/0 * * * *"])
_numbers = st.sampled_from([-(2**31), -1, 0, 1, 2**31 - 1])
_BY_TYPE: dict[int, Any] = {
    F.TYPE_STRING: _texts,
    F.TYPE_BYTES: st.sampled_from([b"", b"\xff", b"\x93\x01\x02"]),
    F.TYPE_BOOL: st.booleans(),
    F.TYPE_DOUBLE: st.sampled_from([0.0, -1.5, float("nan"), float("inf")]),
    F.TYPE_FLOAT: st.sampled_from([0.0, -1.5, float("nan")]),
    F.TYPE_ENUM: st.sampled_from([0, 1, 99]),
}


def wild(described: Descriptor, depth: int = DEPTH) -> st.SearchStrategy[Any]:
    kind = GetMessageClass(described)

    @st.composite
    def made(draw: Any) -> Any:
        message = kind()
        for field in described.fields:
            if draw(st.integers(0, 2)):
                _set(draw, message, field, depth)
        return message

    return made()


def _set(draw: Any, message: Any, field: FieldDescriptor, depth: int) -> None:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        if inner.fields_by_name["value"].message_type is None or depth == 0:
            return
        key = draw(_texts) if inner.fields_by_name["key"].type == F.TYPE_STRING else 0
        value = draw(wild(inner.fields_by_name["value"].message_type, depth - 1))
        getattr(message, field.name)[key].CopyFrom(value)
    elif inner is not None:
        if depth == 0:
            return
        value = draw(wild(inner, depth - 1))
        if field.is_repeated:
            getattr(message, field.name).append(value)
        else:
            getattr(message, field.name).CopyFrom(value)
    else:
        value = draw(_BY_TYPE.get(field.type, _numbers))
        if field.type in (F.TYPE_UINT32, F.TYPE_UINT64):
            value = abs(value)
        if field.is_repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)


@pytest.mark.parametrize("call", CALLS)
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_a_wild_request_is_answered_precisely(
    stable: Stable, replica: Replica, call: str, data: st.DataObject
) -> None:
    code, words = outcome(stable, call, data.draw(wild(METHODS[call].input_type)))
    assert code not in IMPRECISE, words
    assert code is grpc.StatusCode.OK or words
    assert stable.stub.Whoami(Empty()).id.id == "anonymous"


def outcome(stable: Stable, call: str, request: Any) -> tuple[grpc.StatusCode, str]:
    timeout_s = 1 if call == "AwaitWorkflowEvent" else 120
    try:
        getattr(stable.stub, call)(request, timeout=timeout_s)
    except grpc.RpcError as error:
        return error.code(), error.details() or ""
    return grpc.StatusCode.OK, ""
