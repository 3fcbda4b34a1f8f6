# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Bytes that nobody meant to send: whatever they are, they are answered, and invariants hold."""

from __future__ import annotations

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


@given(damage, st.sampled_from(SPECS))
def test_a_damaged_spec_is_refused_or_runs(changes: Damage, spec: PutWfSpecRequest) -> None:
    world = world_for_fuzz()
    data = damaged(spec.SerializeToString(deterministic=True), changes)
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
