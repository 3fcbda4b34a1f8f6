# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""What a client or a spec may send to break a node: it is refused, or fails its own run."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from littlehorse.model.common_enums_pb2 import LHErrorType, TaskStatus, VariableType
from littlehorse.model.common_wfspec_pb2 import ExponentialBackoffRetryPolicy
from littlehorse.model.external_event_pb2 import ExternalEventRetentionPolicy
from littlehorse.model.service_pb2 import (
    PutTaskDefRequest,
    PutUserTaskDefRequest,
    RunWfRequest,
)
from littlehorse.model.task_run_pb2 import LHTaskError
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.wf_spec_pb2 import WfSpec
from littlehorse.workflow import Workflow, WorkflowThread

from remuda.partition.machine import Rejection
from remuda.workflow.calls import CALLS
from remuda.workflow.data.casts import cast, whole_number
from remuda.workflow.data.sound import ensure_sound, problem
from remuda.workflow.data.types import STR, TIMESTAMP
from remuda.workflow.data.values import JSON_DEPTH_MAX, parse_json
from remuda.workflow.errors import BadValue
from remuda.workflow.invariants import broken
from tests.workflow.data.structs import NoStructs
from tests.workflow.world import World, done, refused

TEXT, INT = VariableType.STR, VariableType.INT
UNKNOWN: Any = 99


@pytest.fixture
def world() -> World:
    world = World()
    world.task_def("step")
    world.event_def("ping")
    return world


def nested(depth: int) -> VariableValue:
    value = VariableValue(int=1)
    for _ in range(depth):
        outer = VariableValue()
        outer.array.items.append(value)
        value = outer
    return value


# ── enums without a name ─────────────────────────────────────────────────────────────────────


def test_an_unknown_type_is_refused_with_its_place(world: World) -> None:
    request = PutTaskDefRequest(name="odd")
    request.input_vars.add(name="x").type_def.primitive_type = UNKNOWN
    outcome = refused(world.define("PutTaskDef", request))
    assert outcome.kind == Rejection.INVALID
    assert "input_vars[0].type_def.primitive_type: there is no VariableType 99" in outcome.reason


def test_an_unknown_comparator_operation_or_type_in_a_spec_is_refused(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        number = thread.add_variable("number", INT)
        thread.do_if(number.is_less_than(3), lambda inner: inner.execute("step"))
        number.assign(number.add(1))

    request = Workflow("flow", body).compile()
    nodes = request.thread_specs["entrypoint"].nodes
    condition = nodes["1-nop-NOP"].outgoing_edges[0].condition
    condition.expression.comparator = UNKNOWN
    assert "Comparator 99" in refused(world.define("PutWfSpec", request)).reason
    condition.expression.mutation_type = UNKNOWN
    assert "VariableMutationType 99" in refused(world.define("PutWfSpec", request)).reason
    form = PutUserTaskDefRequest(name="form")
    form.fields.add(name="x", type=UNKNOWN)
    assert "VariableType 99" in refused(world.define("PutUserTaskDef", form)).reason


def test_a_report_with_an_unknown_status_or_error_is_a_failure(world: World) -> None:
    spec = world.put("flow", lambda thread: thread.execute("step"))
    for result in (
        {"status": UNKNOWN},
        {"status": TaskStatus.TASK_FAILED, "error": LHTaskError(type=UNKNOWN, message="?")},
        {"status": TaskStatus.TASK_FAILED, "error": LHTaskError(type=LHErrorType.TIMEOUT)},
    ):
        run = world.run(spec)
        done(world.report(world.claim("step"), **result))
        assert world.status(run) == "ERROR"
    assert broken(world.partitions[0].view) == []


# ── nesting ──────────────────────────────────────────────────────────────────────────────────


def test_a_value_that_is_nested_too_deep_is_refused_wherever_it_comes_in(world: World) -> None:
    deep = nested(40)
    with pytest.raises(BadValue, match="nested too deep"):
        ensure_sound(deep)
    ensure_sound(nested(10))
    spec = world.put("flow", lambda thread: thread.execute("step"))
    run = world.run(spec)
    done(world.report(world.claim("step"), status=TaskStatus.TASK_SUCCESS, output=deep))
    assert world.status(run) == "ERROR"
    request = RunWfRequest(wf_spec_name="flow", id="deep")
    request.variables["x"].CopyFrom(deep)
    assert refused(world.call(0, "RunWf", request)).kind == Rejection.INVALID


def test_a_definition_that_is_nested_too_deep_is_refused(world: World) -> None:
    request = PutTaskDefRequest(name="deep")
    found = request.return_type.return_type
    for _ in range(40):
        found = found.inline_array_def.array_type
    found.primitive_type = INT
    assert "nested too deep" in (problem(request) or "")
    assert refused(world.define("PutTaskDef", request)).kind == Rejection.INVALID


def test_json_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(BadValue, match="nested deeper"):
        parse_json("[" * 5000 + "]" * 5000)
    assert parse_json("[" * JSON_DEPTH_MAX + "]" * JSON_DEPTH_MAX) is not None
    assert len(parse_json("[" + ",".join(["[]"] * 500) + "]")) == 500


# ── numbers and times that are too large ─────────────────────────────────────────────────────


@pytest.mark.parametrize("seconds", [10**18, float("inf"), float("nan"), -5])
def test_a_delay_that_makes_no_sense_stops_nothing(world: World, seconds: float) -> None:
    def body(thread: WorkflowThread) -> None:
        data = thread.add_variable("seconds", VariableType.DOUBLE)
        thread.wait_for_event("ping")
        thread.complete(data)

    request = Workflow("waits", body).compile()
    node = request.thread_specs["entrypoint"].nodes["1-ping-EXTERNAL_EVENT"]
    node.external_event.timeout_seconds.variable_name = "seconds"
    spec = WfSpec.FromString(done(world.define("PutWfSpec", request)))
    run = world.run(spec, seconds=float(seconds))
    world.pass_time(1)
    assert world.status(run) in ("RUNNING", "ERROR")


def test_a_time_out_of_this_world_is_refused(world: World) -> None:
    never = VariableValue(utc_timestamp=Timestamp(seconds=10**15))
    with pytest.raises(BadValue, match="years"):
        cast(never, STR, NoStructs())
    request = RunWfRequest(wf_spec_name="when", id="never")
    request.variables["moment"].CopyFrom(never)

    def body(thread: WorkflowThread) -> None:
        thread.add_variable("moment", VariableType.TIMESTAMP).searchable()

    world.put("when", body)
    assert "years" in refused(world.call(0, "RunWf", request)).reason
    with pytest.raises(BadValue, match="9999"):
        cast(VariableValue(int=10**18), TIMESTAMP, NoStructs())
    with pytest.raises(BadValue):
        whole_number(VariableValue(double=float("inf")), "delay")


def test_a_retention_without_end_is_a_long_one(world: World) -> None:
    policy = ExternalEventRetentionPolicy(seconds_after_put=2**62)
    world.event_def("forever", retention_policy=policy)
    run = world.run(world.put("flow", lambda thread: thread.execute("step")))
    done(world.event(run, "forever"))
    world.pass_time(10)
    assert len(world.events(run)) == 1


@pytest.mark.parametrize("multiplier", [float("inf"), float("nan"), -1.0])
def test_a_wait_that_grows_in_no_sensible_way_is_refused(world: World, multiplier: float) -> None:
    policy = ExponentialBackoffRetryPolicy(base_interval_ms=1, multiplier=multiplier)

    def body(thread: WorkflowThread) -> None:
        thread.execute("step", retries=3, exponential_backoff=policy)

    outcome = refused(world.define("PutWfSpec", Workflow("flow", body).compile()))
    assert "a wait cannot grow by" in outcome.reason


def test_a_wait_that_grows_fast_stays_within_a_year(world: World) -> None:
    policy = ExponentialBackoffRetryPolicy(base_interval_ms=2**31 - 1, multiplier=1e30)

    def body(thread: WorkflowThread) -> None:
        thread.execute("step", retries=3, exponential_backoff=policy)

    run = world.run(world.put("flow", body))
    for _ in range(3):
        done(world.fail(world.claim("step")))
        world.pass_time(366 * 24 * 3600)
    assert world.waiting() == ["step"]
    assert world.status(run) == "RUNNING"


# ── values without end ───────────────────────────────────────────────────────────────────────


def test_a_text_that_doubles_itself_is_stopped(world: World) -> None:
    def doubles(thread: WorkflowThread) -> None:
        text = thread.add_variable("text", TEXT, default_value="0123456789")

        def body(inner: WorkflowThread) -> None:
            text.assign(text.add(text))

        thread.do_while(text.is_not_equal_to("x"), body)

    run = world.run(world.put("doubles", doubles))
    assert world.status(run) == "ERROR"
    assert "at most" in world.node(run).error_message


def test_a_format_that_multiplies_is_stopped(world: World) -> None:
    def multiplies(thread: WorkflowThread) -> None:
        text = thread.add_variable("text", TEXT, default_value="0123456789")

        def body(inner: WorkflowThread) -> None:
            text.assign(inner.format("{0}" * 1000, text))

        thread.do_while(text.is_not_equal_to("x"), body)

    run = world.run(world.put("multiplies", multiplies))
    assert world.status(run) == "ERROR"
    assert "makes more than" in world.node(run).error_message


def test_an_empty_request_of_every_call_is_answered(world: World) -> None:
    for name, (kind, _) in CALLS.items():
        outcome = refused(world.call(0, name, kind()))
        assert outcome.reason, name
