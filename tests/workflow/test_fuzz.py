# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Bytes that nobody meant to send: whatever they are, they are answered, and invariants hold."""

from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from littlehorse.model.common_enums_pb2 import TaskStatus, VariableType
from littlehorse.model.service_pb2 import PutWfSpecRequest, ReportTaskRun, RunWfRequest
from littlehorse.model.wf_spec_pb2 import WfSpec
from littlehorse.workflow import Workflow

from remuda.partition.machine import Applied, Rejected
from remuda.workflow.calls import CALLS
from remuda.workflow.commands import Call
from remuda.workflow.invariants import broken
from tests.workflow.test_properties import busy, racing
from tests.workflow.world import TENANT, World, done

STR = VariableType.STR
damage = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6)
Damage = list[tuple[int, int]]


def world_for_fuzz() -> World:
    world = World()
    world.task_def("work", STR)
    world.task_def("note", STR)
    world.event_def("ping", STR)
    world.event_def("poke", STR)
    world.user_task_def("form", ("ok", VariableType.BOOL, False))
    return world


def damaged(data: bytes, changes: Damage) -> bytes:
    changed = bytearray(data)
    for place, byte in changes:
        changed[place % len(changed)] = byte
    return bytes(changed)


SPECS = [Workflow("busy", busy).compile(), Workflow("racing", racing).compile()]


def places(message: Message) -> list[tuple[Message, FieldDescriptor]]:
    """Every field that is set, at any depth."""
    found: list[tuple[Message, FieldDescriptor]] = []
    for field, value in message.ListFields():
        found.append((message, field))
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            inner = [value[key] for key in sorted(value)]
        else:
            inner = list(value) if field.is_repeated else [value]
        for one in inner:
            if isinstance(one, Message):
                found += places(one)
    return found


WORDS = ("name", "count", "one", "two", "work", "note", "ping", "INPUT", "", "$.a", "1-nop-NOP")


def twisted(spec: PutWfSpecRequest, changes: Damage) -> bytes:
    """A spec that can be read, and says something else: fields gone, or with other contents."""
    copy = PutWfSpecRequest()
    copy.CopyFrom(spec)
    for place, byte in changes:
        found = [one for one in places(copy) if one[0] is not copy]
        if not found:
            break
        message, field = found[place % len(found)]
        if field.is_repeated or field.message_type is not None:
            message.ClearField(field.name)
        elif field.type == field.TYPE_STRING:
            setattr(message, field.name, WORDS[byte % len(WORDS)])
        elif field.type == field.TYPE_BOOL:
            setattr(message, field.name, byte % 2 == 0)
        elif field.type == field.TYPE_ENUM:
            setattr(message, field.name, byte % 12)
        else:
            message.ClearField(field.name)
    return copy.SerializeToString(deterministic=True)


@given(damage, st.sampled_from(SPECS))
def test_a_spec_that_says_something_else_is_refused_or_runs(
    changes: Damage, spec: PutWfSpecRequest
) -> None:
    put_and_run(twisted(spec, changes))


@given(damage, st.sampled_from(SPECS))
def test_a_damaged_spec_is_refused_or_runs(changes: Damage, spec: PutWfSpecRequest) -> None:
    put_and_run(damaged(spec.SerializeToString(deterministic=True), changes))


def put_and_run(data: bytes) -> None:
    world = world_for_fuzz()
    outcome = world.apply(0, Call(TENANT, "PutWfSpec", data))
    if isinstance(outcome, Rejected):
        return
    put = WfSpec.FromString(done(outcome))
    if isinstance(world.try_run(put, "run"), Rejected):
        return
    for step in range(30):
        if world.waiting():
            claimed = world.claim()
            world.succeed(claimed) if step % 3 else world.fail(claimed)
        if step % 5 == 0:
            world.event("run", "ping", "x")
            world.event("run", "poke", "x")
        if step % 7 == 0:
            world.stop("run")
            world.resume("run")
        world.pass_time(4)
    assert broken(world.partitions[0].view) == []


@given(damage, st.sampled_from(sorted(CALLS)), st.binary(max_size=40))
def test_junk_in_any_call_is_answered(changes: Damage, name: str, junk: bytes) -> None:
    world = world_for_fuzz()
    put = WfSpec.FromString(done(world.define("PutWfSpec", SPECS[0])))
    run = world.run(put)
    claimed = world.claim("work")
    requests = [
        RunWfRequest(wf_spec_name="busy", id="other", variables={"name": {"str": "x"}}),
        ReportTaskRun(
            task_run_id=claimed.task_run_id,
            status=TaskStatus.TASK_SUCCESS,
            output={"json_obj": '{"a": [1]}'},
        ),
        claimed.task_run_id.wf_run_id,
    ]
    for request in requests:
        data = request.SerializeToString(deterministic=True)
        for sent in (junk, damaged(data, changes), data + junk):
            outcome = world.apply(0, Call(TENANT, name, sent))
            assert isinstance(outcome, Applied | Rejected)
    assert broken(world.partitions[0].view) == []
    assert run
