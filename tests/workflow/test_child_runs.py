# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Child workflows: run by a parent, waited for, with inherited variables."""

from __future__ import annotations

import pytest
from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.service_pb2 import DeleteWfRunRequest
from littlehorse.model.wf_spec_pb2 import WfSpec, WorkflowRetentionPolicy
from littlehorse.workflow import Workflow, WorkflowThread

from remuda.partition.machine import Rejection
from remuda.workflow.data.values import run_id_from_text
from tests.workflow.world import World, done, refused

STR, INT = VariableType.STR, VariableType.INT


@pytest.fixture
def world() -> World:
    world = World(partitions=3)
    world.task_def("step", STR, returns=STR)

    def child(thread: WorkflowThread) -> None:
        name = thread.add_variable("name", STR).required()
        thread.complete(thread.execute("step", name))

    world.put("child", child)
    return world


def parent(thread: WorkflowThread) -> None:
    result = thread.add_variable("result", STR)
    spawned = thread.run_wf("child", {"name": "Ann"}, child_id="kid")
    waited = thread.wait_for_child_wf(spawned)
    result.assign(waited)
    thread.complete(result)


def test_a_parent_runs_a_child_and_gets_its_output(world: World) -> None:
    run = world.run(world.put("parent", parent))
    assert world.status(f"{run}_kid") == "RUNNING"
    trigger = world.wf_run(f"{run}_kid").parent_trigger
    assert trigger.triggering_node_run.position == 1
    assert trigger.waiting_node_run.position == 2
    assert world.work("step", "hello") == ["Ann"]
    assert world.status(f"{run}_kid") == "COMPLETED"
    assert (world.status(run), world.output(run)) == ("COMPLETED", "hello")


def test_an_exception_of_a_child_is_one_of_its_parent(world: World) -> None:
    spec = world.put("parent", parent)
    run = world.run(spec)
    done(world.throw(world.claim("step"), "lost"))
    assert (world.status(f"{run}_kid"), world.status(run)) == ("EXCEPTION", "EXCEPTION")
    run = world.run(spec)
    done(world.fail(world.claim("step")))
    assert world.status(run) == "ERROR"
    assert world.node(run).failures[0].failure_name == "CHILD_FAILURE"


def test_a_child_gets_an_id_if_the_parent_has_none_for_it(world: World) -> None:
    def careless(thread: WorkflowThread) -> None:
        thread.run_wf("child", {"name": "x"})
        thread.run_wf("child", {"name": "y"})

    run = world.run(world.put("careless", careless))
    assert world.status(run) == "COMPLETED"
    assert world.waiting() == ["step", "step"]
    names = {world.claim("step").task_run_id.wf_run_id.id for _ in range(2)}
    assert len(names) == 2


def test_a_child_that_cannot_begin_fails_its_parent_and_leaves_nothing(world: World) -> None:
    def wrong(thread: WorkflowThread) -> None:
        data = thread.add_variable("data", VariableType.JSON_OBJ)
        thread.run_wf("child", {"name": data.with_json_path("$.name")}, child_id="kid")

    run = world.run(world.put("wrong", wrong), data={"name": [1]})
    assert world.status(run) == "ERROR"
    assert "name" in world.node(run).error_message
    with pytest.raises(AssertionError):
        world.wf_run(f"{run}_kid")


def test_a_child_reads_and_changes_what_it_inherits(world: World) -> None:
    def family(thread: WorkflowThread) -> None:
        count = thread.add_variable("count", INT, default_value=1).as_public()
        thread.add_variable("secret", INT, default_value=1)
        thread.wait_for_condition(count.is_greater_than(5))
        thread.complete(count)

    def heir(thread: WorkflowThread) -> None:
        count = thread.add_variable("count", INT).as_inherited()
        count.assign(count.add(10))

    spec = world.put("family", family)
    heirs = world.put("heir", heir, parent="family")
    run = world.run(spec)
    done(world.try_run(heirs, "kid", parent=run))
    assert world.status(f"{run}_kid") == "COMPLETED"
    assert (world.status(run), world.output(run)) == ("COMPLETED", 11)
    alone = refused(world.try_run(heirs, "orphan"))
    assert alone.kind == Rejection.INVALID
    assert "variable count is inherited, and there is no parent run" in alone.reason
    other = world.run(world.put("stranger", lambda thread: thread.execute("step", "x")))
    assert refused(world.try_run(heirs, "kid", parent=other)).kind == Rejection.INVALID


def test_a_child_of_nobody_is_refused(world: World) -> None:
    spec = world.put("nothing", lambda thread: None)
    assert refused(world.try_run(spec, "kid", parent="nobody")).kind == Rejection.NOT_FOUND


def test_a_deleted_parent_takes_its_children_along(world: World) -> None:
    run = world.run(world.put("parent", parent))
    done(world.at_run(run, "DeleteWfRun", DeleteWfRunRequest(id=run_id_from_text(run))))
    assert world.waiting() == []
    with pytest.raises(AssertionError):
        world.wf_run(f"{run}_kid")


def test_a_child_that_failed_is_rescued_on_its_own(world: World) -> None:
    def patient(thread: WorkflowThread) -> None:
        thread.run_wf("child", {"name": "Ann"}, child_id="kid")

    run = world.run(world.put("patient", patient))
    done(world.fail(world.claim("step")))
    assert world.status(f"{run}_kid") == "ERROR"
    done(world.rescue(f"{run}_kid"))
    world.work("step", "at last")
    assert world.output(f"{run}_kid") == "at last"


def test_the_spec_of_a_child_is_named_by_a_variable(world: World) -> None:
    def dynamic(thread: WorkflowThread) -> None:
        thread.add_variable("which", STR)
        thread.run_wf("child", {"name": "Ann"}, child_id="kid")

    compiled = Workflow("dynamic", dynamic).compile()
    node = compiled.thread_specs["entrypoint"].nodes["1-run-child-RUN_CHILD_WF"]
    node.run_child_wf.wf_spec_var.variable_name = "which"
    spec = WfSpec.FromString(done(world.define("PutWfSpec", compiled)))
    run = world.run(spec, which="child")
    assert world.status(f"{run}_kid") == "RUNNING"
    lost = world.run(spec, which="nobody")
    assert "there is no WfSpec nobody" in world.node(lost).error_message


def test_an_id_of_a_child_that_cannot_be_or_is_used_fails_its_parent(world: World) -> None:
    def picks(thread: WorkflowThread) -> None:
        name = thread.add_variable("kid", STR)
        thread.run_wf("child", {"name": "x"}, child_id=name)
        thread.run_wf("child", {"name": "y"}, child_id=name)

    spec = world.put("picks", picks)
    wrong = world.run(spec, kid="no good")
    assert "the id of a child run" in world.node(wrong).error_message
    twice = world.run(spec, kid="same")
    assert "already" in world.node(twice).error_message


def test_a_run_waits_only_for_children_of_its_own(world: World) -> None:
    stranger = world.run(world.put("idle", lambda thread: thread.execute("step", "x")))

    def waits(thread: WorkflowThread) -> None:
        thread.add_variable("whom", VariableType.WF_RUN_ID)
        spawned = thread.run_wf("child", {"name": "x"}, child_id="kid")
        thread.wait_for_child_wf(spawned)

    compiled = Workflow("waits", waits).compile()
    node = compiled.thread_specs["entrypoint"].nodes["2-wait-WAIT_FOR_CHILD_WF"]
    node.wait_for_child_wf.child_wf_run_id.variable_name = "whom"
    spec = WfSpec.FromString(done(world.define("PutWfSpec", compiled)))
    run = world.run(spec, whom=run_id_from_text("nobody"))
    assert "there is no run nobody" in world.node(run).error_message
    run = world.run(spec)
    assert "is not the id of a run" in world.node(run).error_message
    near = next(
        name
        for name in (f"near-{n}" for n in range(100))
        if world.partition_of(name) == world.partition_of(stranger)
    )
    world.run(spec, near, whom=run_id_from_text(stranger))
    assert "is not a child of" in world.node(near).error_message


def test_a_parent_whose_child_was_deleted_fails(world: World) -> None:
    run = world.run(world.put("parent", parent))
    request = DeleteWfRunRequest(id=run_id_from_text(f"{run}_kid"))
    done(world.at_run(run, "DeleteWfRun", request))
    assert world.status(run) == "ERROR"
    assert "deleted" in world.node(run).error_message


def test_a_child_is_kept_as_long_as_its_parent_may_ask_for_it(world: World) -> None:
    brief = Workflow("brief", lambda thread: thread.complete(7))
    brief.with_retention_policy(WorkflowRetentionPolicy(seconds_after_wf_termination=1))
    world.put_workflow(brief)

    def slow(thread: WorkflowThread) -> None:
        result = thread.add_variable("result", INT)
        spawned = thread.run_wf("brief", child_id="kid")
        thread.sleep(300)
        result.assign(thread.wait_for_child_wf(spawned))

    run = world.run(world.put("slow", slow))
    for _ in range(3):
        world.pass_time(99)
        assert world.status(f"{run}_kid") == "COMPLETED"
    world.pass_time(10)
    assert (world.status(run), world.variable(run, "result")) == ("COMPLETED", 7)
    world.pass_time(99)
    with pytest.raises(AssertionError):
        world.wf_run(f"{run}_kid")
