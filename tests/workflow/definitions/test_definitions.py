# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""TaskDef, event definitions, UserTaskDef and StructDef: put, put again, changed, deleted."""

from __future__ import annotations

import pytest
from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.common_wfspec_pb2 import VariableDef
from littlehorse.model.object_id_pb2 import TaskDefId, UserTaskDefId
from littlehorse.model.service_pb2 import (
    DeleteTaskDefRequest,
    DeleteUserTaskDefRequest,
    PutExternalEventDefRequest,
    PutStructDefRequest,
    PutTaskDefRequest,
    PutUserTaskDefRequest,
    PutWorkflowEventDefRequest,
    RunWfRequest,
    StructDefCompatibilityType,
)
from littlehorse.model.struct_def_pb2 import StructDef
from littlehorse.model.task_def_pb2 import TaskDef
from littlehorse.model.type_definition_pb2 import (
    InlineStructDef,
    StructFieldDef,
    TypeDefinition,
    VariableValue,
)
from littlehorse.model.user_tasks_pb2 import UserTaskDef, UserTaskField
from littlehorse.workflow import WorkflowThread

from remuda.partition.machine import Outcome, Rejection
from remuda.workflow.data.types import INT, STR
from remuda.workflow.effects import DefinitionChanged
from remuda.workflow.keys import definition_key
from tests.workflow.world import TENANT, World, done, refused, return_type


@pytest.fixture
def world() -> World:
    return World(partitions=3)


def task(name: str = "step", *types: TypeDefinition) -> PutTaskDefRequest:
    inputs = [VariableDef(name=f"in{n}", type_def=one) for n, one in enumerate(types)]
    return PutTaskDefRequest(name=name, input_vars=inputs)


def test_a_definition_is_known_in_every_partition(world: World) -> None:
    done(world.define("PutTaskDef", task()))
    key = definition_key(TENANT, "task", "step")
    copies = {partition.view.get(key) for partition in world.partitions}
    assert len(copies) == 1
    assert TaskDef.FromString(copies.pop() or b"").id.name == "step"
    changed = [one for one in world.effects if isinstance(one, DefinitionChanged)]
    assert changed == [DefinitionChanged(TENANT, "task", "step")] * 3
    done(world.define("DeleteTaskDef", DeleteTaskDefRequest(id=TaskDefId(name="step"))))
    assert {partition.view.get(key) for partition in world.partitions} == {None}


def test_the_same_again_is_the_old_one_and_another_is_refused(world: World) -> None:
    first = done(world.define("PutTaskDef", task("step", STR)))
    world.now_ms += 1000
    assert done(world.define("PutTaskDef", task("step", STR))) == first
    outcome = refused(world.define("PutTaskDef", task("step", INT)))
    assert (outcome.kind, "delete it first" in outcome.reason) == (Rejection.EXISTS, True)


def test_event_definitions_follow_the_same_rule(world: World) -> None:
    for name, kind in (
        ("PutExternalEventDef", PutExternalEventDefRequest),
        ("PutWorkflowEventDef", PutWorkflowEventDefRequest),
    ):
        request = kind(name="ping", content_type=return_type(VariableType.STR))
        first = done(world.define(name, request))
        assert done(world.define(name, request)) == first
        other = kind(name="ping", content_type=return_type(VariableType.INT))
        assert refused(world.define(name, other)).kind == Rejection.EXISTS


def test_what_is_wrong_with_a_task_is_said(world: World) -> None:
    twice = task("step", STR)
    twice.input_vars.append(twice.input_vars[0])
    assert "two inputs in0" in refused(world.define("PutTaskDef", twice)).reason
    lost = TypeDefinition()
    lost.struct_def_id.name = "lost"
    outcome = refused(world.define("PutTaskDef", task("step", lost)))
    assert "there is no StructDef lost" in outcome.reason
    assert refused(world.define("PutTaskDef", task("no good"))).kind == Rejection.INVALID


def test_a_changed_user_task_is_a_new_version(world: World) -> None:
    def put(*fields: str) -> UserTaskDef:
        request = PutUserTaskDefRequest(
            name="form", fields=[UserTaskField(name=name) for name in fields]
        )
        return UserTaskDef.FromString(done(world.define("PutUserTaskDef", request)))

    assert [put("a").version, put("a").version, put("a", "b").version] == [0, 0, 1]
    gone = DeleteUserTaskDefRequest(id=UserTaskDefId(name="form", version=1))
    done(world.define("DeleteUserTaskDef", gone))
    assert put("a", "b").version == 2
    twice = PutUserTaskDefRequest(name="form", fields=[UserTaskField(name="a")] * 2)
    assert refused(world.define("PutUserTaskDef", twice)).kind == Rejection.INVALID


def put_struct(
    world: World,
    allowed: StructDefCompatibilityType = StructDefCompatibilityType.NO_SCHEMA_UPDATES,
    **fields: StructFieldDef,
) -> Outcome:
    definition = InlineStructDef()
    for name, field in fields.items():
        definition.fields[name].CopyFrom(field)
    request = PutStructDefRequest(name="car", struct_def=definition, allowed_updates=allowed)
    return world.define("PutStructDef", request)


def test_a_struct_changes_only_in_ways_that_old_values_survive(world: World) -> None:
    full = StructDefCompatibilityType.FULLY_COMPATIBLE_SCHEMA_UPDATES
    maker = StructFieldDef(field_type=STR)
    doors = StructFieldDef(field_type=INT, default_value=VariableValue(int=4))
    assert StructDef.FromString(done(put_struct(world, maker=maker))).id.version == 0
    assert StructDef.FromString(done(put_struct(world, maker=maker))).id.version == 0
    assert refused(put_struct(world, maker=maker, doors=doors)).kind == Rejection.EXISTS
    second = done(put_struct(world, full, maker=maker, doors=doors))
    assert StructDef.FromString(second).id.version == 1
    for wrong, reason in (
        ({"doors": doors}, "field maker is gone, and has no default"),
        ({"maker": StructFieldDef(field_type=INT), "doors": doors}, "maker has another type"),
        ({"maker": maker, "doors": doors, "wings": maker}, "field wings is new"),
    ):
        assert reason in refused(put_struct(world, full, **wrong)).reason


def test_a_struct_is_a_variable(world: World) -> None:
    done(put_struct(world, maker=StructFieldDef(field_type=STR)))
    world.task_def("say", VariableType.STR)

    def body(thread: WorkflowThread) -> None:
        car = thread.declare_struct("car", "car")
        thread.execute("say", car.get("maker"))

    spec = world.put("cars", body)
    value = VariableValue()
    value.struct.struct_def_id.name = "car"
    value.struct.struct.fields["maker"].value.str = "Mini"
    request = RunWfRequest(wf_spec_name="cars", id="drive")
    request.variables["car"].CopyFrom(value)
    done(world.at_run("drive", "RunWf", request))
    assert spec.id.major_version == 0
    assert world.work("say") == ["Mini"]
    request.id = "crash"
    request.variables["car"].struct.struct.fields["wings"].value.int = 2
    outcome = refused(world.at_run("crash", "RunWf", request))
    assert "there is no field wings" in outcome.reason
