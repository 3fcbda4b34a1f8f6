# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""WfSpecs: versions, and everything that is refused when they are put."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.common_wfspec_pb2 import VariableMutationType
from littlehorse.model.object_id_pb2 import TaskDefId, WfSpecId
from littlehorse.model.service_pb2 import AllowedUpdateType, DeleteWfSpecRequest, PutWfSpecRequest
from littlehorse.model.wf_spec_pb2 import Edge, InterruptDef, NopNode, ThreadSpec, WfSpec
from littlehorse.workflow import Workflow, WorkflowThread

from remuda.partition.machine import Rejection
from tests.workflow.world import World, done, refused

STR, INT, JSON_OBJ = VariableType.STR, VariableType.INT, VariableType.JSON_OBJ
Body = Callable[[WorkflowThread], None]


@pytest.fixture
def world() -> World:
    world = World()
    world.task_def("step", STR, returns=STR)
    world.event_def("ping", STR)
    return world


def version(spec: WfSpec) -> tuple[int, int]:
    return spec.id.major_version, spec.id.revision


# ── versions ─────────────────────────────────────────────────────────────────────────────────


def test_the_same_spec_again_is_the_old_one(world: World) -> None:
    first = world.put("flow", lambda thread: thread.execute("step", "x"))
    world.now_ms += 5000
    again = world.put("flow", lambda thread: thread.execute("step", "x"))
    assert again == first
    assert version(again) == (0, 0)


def test_a_change_inside_is_a_new_revision(world: World) -> None:
    world.put("flow", lambda thread: thread.execute("step", "x"))
    assert version(world.put("flow", lambda thread: thread.execute("step", "y"))) == (0, 1)
    assert version(world.put("flow", lambda thread: None)) == (0, 2)


@pytest.mark.parametrize(
    "change",
    [
        lambda thread: thread.add_variable("extra", STR).required(),
        lambda thread: thread.add_variable("extra", STR).as_public(),
        lambda thread: thread.complete(7),
    ],
)
def test_a_change_that_others_rely_on_is_a_new_major_version(
    world: World, change: Callable[[WorkflowThread], object]
) -> None:
    world.put("flow", lambda thread: thread.execute("step", "x"))

    def changed(thread: WorkflowThread) -> None:
        thread.execute("step", "x")
        change(thread)

    assert version(world.put("flow", changed)) == (1, 0)
    assert version(world.put("flow", lambda thread: None)) == (2, 0)


def test_a_private_variable_is_nobody_elses_business(world: World) -> None:
    world.put("flow", lambda thread: None)

    def private(thread: WorkflowThread) -> None:
        thread.add_variable("mine", STR)

    assert version(world.put("flow", private)) == (0, 1)


def test_updates_are_only_those_that_are_allowed(world: World) -> None:
    world.put("flow", lambda thread: None)

    def put(body: Body, allowed: AllowedUpdateType) -> object:
        workflow = Workflow("flow", body).with_update_type(allowed)
        return world.define("PutWfSpec", workflow.compile())

    def breaking(thread: WorkflowThread) -> None:
        thread.add_variable("needed", STR).required()

    outcome = refused(put(breaking, AllowedUpdateType.MINOR_REVISION_UPDATES))
    assert outcome.kind == Rejection.PRECONDITION
    outcome = refused(put(breaking, AllowedUpdateType.NO_UPDATES))
    assert outcome.kind == Rejection.EXISTS
    done(put(lambda thread: None, AllowedUpdateType.NO_UPDATES))


def test_a_version_is_never_given_twice(world: World) -> None:
    world.put("flow", lambda thread: thread.execute("step", "x"))
    spec = world.put("flow", lambda thread: thread.execute("step", "y"))
    done(world.define("DeleteWfSpec", DeleteWfSpecRequest(id=spec.id)))
    assert version(world.put("flow", lambda thread: thread.execute("step", "y"))) == (0, 2)
    for revision in (0, 2):
        gone = WfSpecId(name="flow", major_version=0, revision=revision)
        done(world.define("DeleteWfSpec", DeleteWfSpecRequest(id=gone)))
    assert version(world.put("flow", lambda thread: None)) == (1, 0)


def test_a_run_goes_on_when_its_spec_is_deleted_and_no_other_begins() -> None:
    world = World(partitions=4)
    world.task_def("step", STR)
    spec = world.put("flow", lambda thread: thread.execute("step", "x"))
    runs = [world.run(spec, f"run-{n}") for n in range(8)]
    done(world.define("DeleteWfSpec", DeleteWfSpecRequest(id=spec.id)))
    for _ in runs:
        world.work("step")
    assert {world.status(run) for run in runs} == {"COMPLETED"}
    assert refused(world.try_run(spec)).kind == Rejection.STALE
    outcome = world.define("DeleteWfSpec", DeleteWfSpecRequest(id=spec.id))
    assert refused(outcome).kind == Rejection.NOT_FOUND


def test_what_a_spec_promises_is_written_down(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.add_variable("seen", STR).as_public()
        thread.add_variable("mine", STR)

    spec = world.put("flow", body)
    assert [one.var_def.name for one in spec.frozen_variables] == ["seen"]


# ── what is refused ──────────────────────────────────────────────────────────────────────────


def reason(world: World, body: Body, name: str = "flow") -> str:
    outcome = refused(world.define("PutWfSpec", Workflow(name, body).compile()))
    assert outcome.kind == Rejection.INVALID
    return outcome.reason


def test_a_task_that_is_not_there(world: World) -> None:
    assert "there is no TaskDef lost" in reason(world, lambda thread: thread.execute("lost"))


def test_inputs_that_do_not_fit(world: World) -> None:
    assert "takes 1 inputs, not 0" in reason(world, lambda thread: thread.execute("step"))
    assert "takes 1 inputs, not 2" in reason(world, lambda thread: thread.execute("step", 1, 2))

    def wrong(thread: WorkflowThread) -> None:
        thread.execute("step", thread.add_variable("data", JSON_OBJ))

    found = reason(world, wrong)
    assert "input in0 of TaskDef step is a STR and is given a JSON_OBJ; cast it" in found
    assert "thread entrypoint, node 1-step-TASK" in found


def test_a_cast_makes_it_fit(world: World) -> None:
    world.task_def("count", INT)

    def needs_cast(thread: WorkflowThread) -> None:
        thread.execute("count", thread.add_variable("text", STR))

    def has_cast(thread: WorkflowThread) -> None:
        thread.execute("count", thread.add_variable("text", STR).cast_to_int())

    assert "cast it" in reason(world, needs_cast)
    run = world.run(world.put("casts", has_cast), text="12")
    assert world.work("count") == [12]
    bad = world.run(world.put("casts", has_cast), text="twelve")
    assert (world.status(run), world.status(bad)) == ("COMPLETED", "ERROR")

    def no_such_cast(thread: WorkflowThread) -> None:
        thread.execute("count", thread.add_variable("data", JSON_OBJ).cast_to_int())

    assert "JSON_OBJ cannot be cast to INT" in reason(world, no_such_cast)


def test_an_event_that_is_not_there(world: World) -> None:
    found = reason(world, lambda thread: thread.wait_for_event("lost"))
    assert "there is no ExternalEventDef lost" in found
    found = reason(world, lambda thread: thread.throw_event("lost", "x"))
    assert "there is no WorkflowEventDef lost" in found

    def interrupts(thread: WorkflowThread) -> None:
        thread.add_interrupt_handler("lost", lambda handler: None)

    assert "there is no ExternalEventDef lost to be interrupted by" in reason(world, interrupts)


def test_an_event_that_interrupts_and_is_waited_for(world: World) -> None:
    def both(thread: WorkflowThread) -> None:
        thread.add_interrupt_handler("ping", lambda handler: None)
        thread.wait_for_event("ping")

    assert "event ping interrupts, and" in reason(world, both)


def test_a_user_task_and_a_child_that_are_not_there(world: World) -> None:
    found = reason(world, lambda thread: thread.assign_user_task("lost", "ann"))
    assert "there is no UserTaskDef lost" in found
    assert "there is no WfSpec lost" in reason(world, lambda thread: thread.run_wf("lost"))


def test_a_child_is_given_what_it_has(world: World) -> None:
    world.put("child", lambda thread: thread.add_variable("name", STR) and None)
    found = reason(world, lambda thread: thread.run_wf("child", {"size": 3}))
    assert "WfSpec child has no variable size" in found


def test_an_inherited_variable_needs_a_parent(world: World) -> None:
    def heir(thread: WorkflowThread) -> None:
        thread.add_variable("count", INT).as_inherited()

    assert "there is no parent WfSpec" in reason(world, heir)
    world.put("parent", lambda thread: None)
    outcome = world.define("PutWfSpec", Workflow("heir", heir, "parent").compile())
    assert "parent has no public one" in refused(outcome).reason


def test_assigning_what_does_not_fit(world: World) -> None:
    def wrong(thread: WorkflowThread) -> None:
        number = thread.add_variable("number", INT)
        number.assign("seven")

    assert "variable number is a INT and is given a STR" in reason(world, wrong)


def test_a_default_that_does_not_fit(world: World) -> None:
    request = Workflow("flow", lambda thread: thread.add_variable("n", INT) and None).compile()
    declared = request.thread_specs["entrypoint"].variable_defs[0]
    declared.var_def.default_value.str = "seven"
    assert (
        "the default of variable n: expected INT"
        in refused(world.define("PutWfSpec", request)).reason
    )


@pytest.mark.parametrize("name", ["", "two words", "-x", "x_y", "x" * 300])
def test_a_name_that_cannot_be(world: World, name: str) -> None:
    outcome = refused(world.define("PutWfSpec", PutWfSpecRequest(name=name)))
    assert outcome.kind == Rejection.INVALID


def broken(world: World, change: Callable[[ThreadSpec], object]) -> str:
    """A good spec with one change to its only thread."""

    def body(thread: WorkflowThread) -> None:
        thread.execute("step", thread.add_variable("name", STR))

    request = Workflow("flow", body).compile()
    change(request.thread_specs["entrypoint"])
    outcome = refused(world.define("PutWfSpec", request))
    assert outcome.kind == Rejection.INVALID
    return outcome.reason


def test_an_edge_to_nowhere(world: World) -> None:
    def change(thread: ThreadSpec) -> None:
        thread.nodes["1-step-TASK"].outgoing_edges[0].sink_node_name = "nowhere"

    assert "has an edge to 'nowhere', which is not there" in broken(world, change)


def test_a_node_without_an_edge(world: World) -> None:
    def change(thread: ThreadSpec) -> None:
        del thread.nodes["1-step-TASK"].outgoing_edges[:]

    assert "is not an exit and has no edge" in broken(world, change)


def test_two_entrypoints_and_none(world: World) -> None:
    def second(thread: ThreadSpec) -> None:
        thread.nodes["again"].CopyFrom(thread.nodes["0-entrypoint-ENTRYPOINT"])

    def none(thread: ThreadSpec) -> None:
        thread.nodes["0-entrypoint-ENTRYPOINT"].nop.CopyFrom(NopNode())

    assert "there are 2 entrypoint nodes" in broken(world, second)
    assert "there are 0 entrypoint nodes" in broken(world, none)


def test_a_node_of_no_kind(world: World) -> None:
    def change(thread: ThreadSpec) -> None:
        thread.nodes["1-step-TASK"].ClearField("task")

    assert "is of no kind" in broken(world, change)


def test_a_variable_a_node_and_a_thread_that_are_not_there(world: World) -> None:
    def variable(thread: ThreadSpec) -> None:
        thread.nodes["1-step-TASK"].task.variables[0].variable_name = "lost"

    def node(thread: ThreadSpec) -> None:
        thread.nodes["1-step-TASK"].task.variables[0].node_output.node_name = "lost"

    def handler(thread: ThreadSpec) -> None:
        thread.nodes["1-step-TASK"].failure_handlers.add(handler_spec_name="lost")

    def mutation(thread: ThreadSpec) -> None:
        edge = thread.nodes["1-step-TASK"].outgoing_edges[0]
        edge.variable_mutations.add(
            lhs_name="lost", operation=VariableMutationType.ASSIGN
        ).literal_value.int = 1

    def interrupt(thread: ThreadSpec) -> None:
        thread.interrupt_defs.append(InterruptDef(handler_spec_name="lost"))
        thread.interrupt_defs[0].external_event_def_id.name = "ping"

    assert "there is no variable lost" in broken(world, variable)
    assert "there is no node lost" in broken(world, node)
    assert "there is no thread lost to handle its failure" in broken(world, handler)
    assert "there is no variable lost to change" in broken(world, mutation)
    assert "there is no thread lost to handle event ping" in broken(world, interrupt)


def test_a_path_that_cannot_be_read(world: World) -> None:
    def change(thread: ThreadSpec) -> None:
        thread.nodes["1-step-TASK"].task.variables[0].json_path = "$.a[?(@.b)]"

    assert "cannot be read" in broken(world, change)


def test_an_index_that_cannot_be_read(world: World) -> None:
    def change(thread: ThreadSpec) -> None:
        thread.variable_defs[0].json_indexes.add(field_path="$.a[", field_type=STR)

    assert "an index of variable name" in broken(world, change)


def test_a_condition_that_is_no_condition(world: World) -> None:
    def change(thread: ThreadSpec) -> None:
        edge = thread.nodes["1-step-TASK"].outgoing_edges[0]
        edge.condition.variable_name = "name"

    assert "a condition is a STR, not a BOOL" in broken(world, change)


def test_a_cycle_that_never_waits(world: World) -> None:
    def change(thread: ThreadSpec) -> None:
        thread.nodes["round"].nop.CopyFrom(NopNode())
        thread.nodes["round"].outgoing_edges.append(Edge(sink_node_name="and-round"))
        thread.nodes["and-round"].nop.CopyFrom(NopNode())
        thread.nodes["and-round"].outgoing_edges.append(Edge(sink_node_name="round"))

    assert "in a cycle that never waits and never ends" in broken(world, change)


def test_a_cycle_that_waits_is_a_loop(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.execute("step", "x")

    request = Workflow("forever", body).compile()
    nodes = request.thread_specs["entrypoint"].nodes
    nodes["1-step-TASK"].outgoing_edges[0].sink_node_name = "1-step-TASK"
    spec = WfSpec.FromString(done(world.define("PutWfSpec", request)))
    run = world.run(spec)
    for _ in range(5):
        world.work("step", "again")
    assert world.status(run) == "RUNNING"
    assert TaskDefId(name="step") == nodes["1-step-TASK"].task.task_def_id


def test_a_thread_that_requires_a_variable_gets_it(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        def child(inner: WorkflowThread) -> None:
            inner.add_variable("name", STR).required()

        thread.spawn_thread(child, "child")

    assert "thread child requires variable name" in reason(world, body)
