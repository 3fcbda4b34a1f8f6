# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""What older clients send, and other languages: the same meaning in another form."""

from __future__ import annotations

import pytest
from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.common_wfspec_pb2 import (
    LHPath,
    VariableDef,
    VariableMutation,
    VariableMutationType,
)
from littlehorse.model.service_pb2 import PutTaskDefRequest, PutWfSpecRequest
from littlehorse.model.type_definition_pb2 import Comparator
from littlehorse.model.wf_spec_pb2 import LegacyEdgeCondition, WaitForConditionNode, WfSpec
from littlehorse.utils import to_variable_value
from littlehorse.workflow import Workflow, WorkflowThread, to_variable_assignment

from remuda.workflow.readers import task_run_shown
from tests.workflow.world import World, done

STR, INT, JSON_OBJ = VariableType.STR, VariableType.INT, VariableType.JSON_OBJ
ASSIGN = VariableMutationType.ASSIGN


@pytest.fixture
def world() -> World:
    world = World()
    world.task_def("step", STR)
    return world


def put(world: World, request: PutWfSpecRequest) -> WfSpec:
    return WfSpec.FromString(done(world.define("PutWfSpec", request)))


def at_least(variable: str, value: int) -> LegacyEdgeCondition:
    condition = LegacyEdgeCondition(
        comparator=Comparator.GREATER_THAN_EQ, right=to_variable_assignment(value)
    )
    condition.left.variable_name = variable
    return condition


def test_a_variable_says_its_type_and_mask_in_the_old_way(world: World) -> None:
    request = PutTaskDefRequest(
        name="old", input_vars=[VariableDef(name="word", type=STR, masked_value=True)]
    )
    done(world.define("PutTaskDef", request))

    def body(thread: WorkflowThread) -> None:
        thread.execute("old", thread.add_variable("word", STR))

    compiled = Workflow("flow", body).compile()
    declared = compiled.thread_specs["entrypoint"].variable_defs[0].var_def
    declared.CopyFrom(VariableDef(name="word", type=STR))
    run = world.run(put(world, compiled), word="sesame")
    assert world.work("old") == ["sesame"]
    assert "sesame" not in str(task_run_shown(world.task_runs(run)[0]))


@pytest.mark.parametrize(("age", "tasks"), [(18, ["step"]), (17, [])])
def test_an_edge_has_a_condition_in_the_old_way(world: World, age: int, tasks: list[str]) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.do_if(
            thread.add_variable("age", INT).is_equal_to(0),
            lambda inner: inner.execute("step", "x"),
        )

    compiled = Workflow("flow", body).compile()
    edge = compiled.thread_specs["entrypoint"].nodes["1-nop-NOP"].outgoing_edges[0]
    edge.legacy_condition.CopyFrom(at_least("age", 18))
    world.run(put(world, compiled), age=age)
    assert world.waiting() == tasks


def test_a_node_waits_for_a_condition_in_the_old_way(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        age = thread.add_variable("age", INT, default_value=17)

        def child(inner: WorkflowThread) -> None:
            inner.execute("step", "x")
            age.assign(18)

        thread.spawn_thread(child, "child")
        thread.add_node("wait", WaitForConditionNode(legacy_condition=at_least("age", 18)))

    run = world.run(world.put("waits", body))
    assert world.status(run) == "RUNNING"
    world.work("step")
    assert world.status(run) == "COMPLETED"


def test_a_mutation_takes_a_literal_or_the_output_of_its_node(world: World) -> None:
    world.task_def("find", returns=JSON_OBJ)

    def body(thread: WorkflowThread) -> None:
        for name in ("whole", "part", "deep"):
            thread.add_variable(name, JSON_OBJ if name == "whole" else STR)
        thread.add_variable("fixed", INT)
        thread.execute("find")

    compiled = Workflow("flow", body).compile()
    edge = compiled.thread_specs["entrypoint"].nodes["1-find-TASK"].outgoing_edges[0]
    source = VariableMutation.NodeOutputSource
    deep = LHPath(path=[LHPath.Selector(key="at"), LHPath.Selector(key="city")])
    edge.variable_mutations.extend(
        [
            VariableMutation(
                lhs_name="fixed", operation=ASSIGN, literal_value=to_variable_value(5)
            ),
            VariableMutation(lhs_name="whole", operation=ASSIGN, node_output=source()),
            VariableMutation(
                lhs_name="part", operation=ASSIGN, node_output=source(jsonpath="$.name")
            ),
            VariableMutation(lhs_name="deep", operation=ASSIGN, node_output=source(lh_path=deep)),
        ]
    )
    run = world.run(put(world, compiled))
    found = {"name": "Ann", "at": {"city": "Bath"}}
    world.work("find", found)
    names = ("fixed", "whole", "part", "deep")
    assert [world.variable(run, name) for name in names] == [5, found, "Ann", "Bath"]


def test_a_mutation_writes_inside_by_keys(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.add_variable("data", JSON_OBJ, default_value={"tags": ["a"]})
        thread.execute("step", "x")

    compiled = Workflow("flow", body).compile()
    edge = compiled.thread_specs["entrypoint"].nodes["1-step-TASK"].outgoing_edges[0]
    edge.variable_mutations.append(
        VariableMutation(
            lhs_name="data",
            lhs_lh_path=LHPath(path=[LHPath.Selector(key="tags")]),
            operation=VariableMutationType.ADD,
            literal_value=to_variable_value("b"),
        )
    )
    run = world.run(put(world, compiled))
    world.work("step")
    assert world.variable(run, "data") == {"tags": ["a", "b"]}
