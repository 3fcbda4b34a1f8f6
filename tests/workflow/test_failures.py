# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Failures: ERRORs and EXCEPTIONs, handlers by name and kind, rescue."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from littlehorse.model.common_enums_pb2 import LHErrorType, LHStatus, VariableType
from littlehorse.model.wf_run_pb2 import ThreadType
from littlehorse.model.wf_spec_pb2 import WfSpec
from littlehorse.workflow import NodeOutput, SpawnedThreads, Workflow, WorkflowThread

from remuda.partition.machine import Rejection
from tests.workflow.world import World, done, refused

STR, INT = VariableType.STR, VariableType.INT


@pytest.fixture
def world() -> World:
    world = World()
    for name in ("charge", "ship", "refund", "note"):
        world.task_def(name)
    world.task_def("say", STR)
    return world


Attach = Callable[[WorkflowThread, NodeOutput], None]


def handled(world: World, attach: Attach) -> str:
    """A run that charges and ships, with what `attach` puts on the charge."""

    def body(thread: WorkflowThread) -> None:
        charge = thread.execute("charge")
        attach(thread, charge)
        thread.execute("ship")

    return world.run(world.put("order", body))


def test_a_saga_compensates_and_goes_on(world: World) -> None:
    def attach(thread: WorkflowThread, charge: NodeOutput) -> None:
        thread.handle_exception(charge, lambda handler: handler.execute("refund"), "no-funds")

    run = handled(world, attach)
    done(world.throw(world.claim("charge"), "no-funds"))
    found = world.wf_run(run)
    assert found.status == LHStatus.RUNNING
    assert found.thread_runs[0].status == LHStatus.HALTED
    assert found.thread_runs[1].type == ThreadType.FAILURE_HANDLER
    assert found.thread_runs[1].failure_being_handled.node_run_position == 1
    assert world.waiting() == ["refund"]
    world.work("refund")
    assert world.status(run, 1) == "COMPLETED"
    failed = world.node(run, 0, 1)
    assert failed.status == LHStatus.EXCEPTION
    assert failed.failures[0].was_properly_handled
    assert list(failed.failure_handler_ids) == [1]
    world.work("ship")
    assert world.status(run) == "COMPLETED"


@pytest.mark.parametrize(
    ("failure", "caught_by"),
    [
        ("no-funds", "no-funds"),
        ("other", "exception"),
        ("TASK_ERROR", "error"),
        ("TIMEOUT", "TIMEOUT"),
    ],
)
def test_the_first_handler_that_catches_a_failure_runs(
    world: World, failure: str, caught_by: str
) -> None:
    def attach(thread: WorkflowThread, charge: NodeOutput) -> None:
        def saying(word: str) -> Callable[[WorkflowThread], None]:
            def handler(inner: WorkflowThread) -> None:
                inner.execute("say", word)

            return handler

        thread.handle_exception(charge, saying("no-funds"), "no-funds")
        thread.handle_exception(charge, saying("exception"))
        thread.handle_error(charge, saying("TIMEOUT"), LHErrorType.TIMEOUT)
        thread.handle_error(charge, saying("error"))

    run = handled(world, attach)
    task = world.claim("charge")
    if failure == "TIMEOUT":
        world.pass_time(60)
    elif failure == "TASK_ERROR":
        done(world.fail(task))
    else:
        done(world.throw(task, failure))
    assert world.work("say") == [caught_by]
    world.work("ship")
    assert world.status(run) == "COMPLETED"


def test_a_handler_for_all_catches_all(world: World) -> None:
    def attach(thread: WorkflowThread, charge: NodeOutput) -> None:
        thread.handle_any_failure(charge, lambda handler: handler.execute("note"))

    for break_it in (world.fail, lambda task: world.throw(task, "anything")):
        run = handled(world, attach)
        done(break_it(world.claim("charge")))
        world.work("note")
        world.work("ship")
        assert world.status(run) == "COMPLETED"


def test_a_task_failure_is_a_task_error(world: World) -> None:
    def attach(thread: WorkflowThread, charge: NodeOutput) -> None:
        error = LHErrorType.TASK_FAILURE
        thread.handle_error(charge, lambda handler: handler.execute("note"), error)

    run = handled(world, attach)
    done(world.fail(world.claim("charge")))
    world.work("note")
    world.work("ship")
    assert world.status(run) == "COMPLETED"


def test_a_failure_that_nobody_handles_ends_the_run(world: World) -> None:
    def attach(thread: WorkflowThread, charge: NodeOutput) -> None:
        thread.handle_exception(charge, lambda handler: handler.execute("note"), "another")

    run = handled(world, attach)
    done(world.throw(world.claim("charge"), "no-funds"))
    assert world.status(run) == "EXCEPTION"
    assert world.wf_run(run).thread_runs[0].error_message == "thrown"
    assert world.waiting() == []


def test_a_handler_finds_the_content_of_the_failure_in_input(world: World) -> None:
    def attach(thread: WorkflowThread, charge: NodeOutput) -> None:
        def handler(inner: WorkflowThread) -> None:
            inner.execute("say", inner.add_variable("INPUT", STR))

        thread.handle_exception(charge, handler, "no-funds")

    handled(world, attach)
    done(world.throw(world.claim("charge"), "no-funds", "12 short"))
    assert world.work("say") == ["12 short"]


def test_a_handler_changes_the_variables_of_its_parent(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        state = thread.add_variable("state", STR, default_value="new")
        charge = thread.execute("charge")
        thread.handle_any_failure(charge, lambda inner: state.assign("refused"))
        thread.execute("say", state)

    run = world.run(world.put("order", body))
    done(world.fail(world.claim("charge")))
    assert world.work("say") == ["refused"]
    assert world.status(run) == "COMPLETED"


def test_a_failed_handler_is_final(world: World) -> None:
    def attach(thread: WorkflowThread, charge: NodeOutput) -> None:
        thread.handle_any_failure(charge, lambda handler: handler.execute("refund"))

    run = handled(world, attach)
    done(world.throw(world.claim("charge"), "no-funds"))
    done(world.throw(world.claim("refund"), "no-refund"))
    assert world.status(run) == "EXCEPTION"
    node = world.node(run)
    assert [failure.failure_name for failure in node.failures] == ["no-funds", "no-refund"]
    assert not any(failure.was_properly_handled for failure in node.failures)
    assert world.waiting() == []


def test_a_thread_fails_as_its_spec_says(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.fail("not-today", "come back tomorrow", {"day": "Monday"})

    run = world.run(world.put("closed", body))
    assert world.status(run) == "EXCEPTION"
    failure = world.node(run).failures[0]
    assert (failure.failure_name, failure.message) == ("not-today", "come back tomorrow")
    assert failure.content.json_obj == '{"day": "Monday"}'


def test_a_condition_that_cannot_be_asked_is_an_error(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        data = thread.add_variable("data", VariableType.JSON_OBJ)
        thread.do_if(
            data.with_json_path("$.age").is_greater_than(3), lambda inner: inner.execute("note")
        )

    run = world.run(world.put("asks", body), data={"age": "old"})
    assert world.status(run) == "ERROR"
    assert world.node(run).failures[0].failure_name == "VAR_SUB_ERROR"


# ── rescue ───────────────────────────────────────────────────────────────────────────────────


def plain(world: World) -> str:
    def body(thread: WorkflowThread) -> None:
        thread.execute("charge")
        thread.execute("ship")

    return world.run(world.put("plain", body))


def test_a_rescued_thread_does_its_node_again(world: World) -> None:
    run = plain(world)
    done(world.fail(world.claim("charge")))
    assert world.status(run) == "ERROR"
    done(world.rescue(run))
    assert world.status(run) == "RUNNING"
    assert not world.wf_run(run).HasField("end_time")
    world.work("charge")
    world.work("ship")
    assert world.status(run) == "COMPLETED"
    assert len(world.task_runs(run)) == 3


def test_a_rescued_thread_skips_its_node(world: World) -> None:
    run = plain(world)
    done(world.fail(world.claim("charge")))
    done(world.rescue(run, skip=True))
    world.work("ship")
    assert world.status(run) == "COMPLETED"


def test_only_a_thread_that_failed_is_rescued(world: World) -> None:
    run = plain(world)
    assert refused(world.rescue(run)).kind == Rejection.PRECONDITION
    assert refused(world.rescue(run, 7)).kind == Rejection.NOT_FOUND
    assert refused(world.rescue("nobody")).kind == Rejection.NOT_FOUND


def test_a_child_whose_parent_has_ended_is_not_rescued(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.spawn_thread(lambda child: child.execute("charge"), "child")

    run = world.run(world.put("family", body))
    done(world.fail(world.claim("charge")))
    assert world.status(run) == "ERROR"
    outcome = refused(world.rescue(run, 1))
    assert "rescue that one" in outcome.reason


def test_a_handler_that_cannot_take_the_content_fails_the_thread(world: World) -> None:
    def attach(thread: WorkflowThread, charge: NodeOutput) -> None:
        def handler(inner: WorkflowThread) -> None:
            inner.add_variable("INPUT", INT)

        thread.handle_exception(charge, handler, "no-funds")

    run = handled(world, attach)
    done(world.throw(world.claim("charge"), "no-funds", "twelve"))
    assert world.status(run) == "ERROR"
    failures = [failure.failure_name for failure in world.node(run).failures]
    assert failures == ["no-funds", "VAR_SUB_ERROR"]


def test_a_failure_on_the_way_out_is_handled_once(world: World) -> None:
    """The handler runs, the edge fails again, and that is the end."""

    def body(thread: WorkflowThread) -> None:
        data = thread.add_variable("data", VariableType.JSON_OBJ)
        number = thread.add_variable("number", INT)
        charge = thread.execute("charge")
        thread.handle_any_failure(charge, lambda handler: handler.execute("note"))
        number.assign(data.with_json_path("$.text"))

    run = world.run(world.put("order", body), data={"text": "x"})
    world.work("charge")
    world.work("note")
    assert world.status(run) == "ERROR"
    failures = world.node(run).failures
    assert [one.failure_name for one in failures] == ["VAR_MUTATION_ERROR"] * 2
    assert failures[0].was_properly_handled


def test_a_node_without_a_satisfied_edge_is_an_error(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        number = thread.add_variable("number", INT)
        thread.do_if(number.is_equal_to(1), lambda inner: inner.execute("note"))

    compiled = Workflow("order", body).compile()
    del compiled.thread_specs["entrypoint"].nodes["1-nop-NOP"].outgoing_edges[1]
    spec = WfSpec.FromString(done(world.define("PutWfSpec", compiled)))
    run = world.run(spec, number=2)
    assert world.status(run) == "ERROR"
    assert "no edge of node 1-nop-NOP is satisfied" in world.node(run).error_message


def test_a_child_that_failed_is_rescued_while_its_parent_runs(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.spawn_thread(lambda child: child.execute("charge"), "child")
        thread.execute("ship")

    run = world.run(world.put("family", body))
    done(world.fail(world.claim("charge")))
    assert (world.status(run), world.status(run, 1)) == ("RUNNING", "ERROR")
    done(world.rescue(run, 1))
    world.work("charge")
    world.work("ship")
    assert world.status(run) == "COMPLETED"


def test_a_child_whose_failure_was_handled_and_a_handler_are_not_rescued(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        child = thread.spawn_thread(lambda inner: inner.execute("charge"), "child")
        waited = thread.wait_for_threads(SpawnedThreads.from_list(child))
        waited.handle_any_failure_on_child(lambda handler: handler.execute("note"))
        thread.execute("ship")

    run = world.run(world.put("family", body))
    done(world.fail(world.claim("charge")))
    world.work("note")
    assert "was handled by its parent" in refused(world.rescue(run, 1)).reason
    run = world.run(world.put("family", body))
    done(world.fail(world.claim("charge")))
    done(world.fail(world.claim("note")))
    assert world.status(run) == "ERROR"
    assert "is a handler" in refused(world.rescue(run, 2)).reason


def test_a_child_rescued_under_a_parent_that_stands_still_waits(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.spawn_thread(lambda child: child.execute("charge"), "child")
        thread.execute("ship")

    run = world.run(world.put("family", body))
    done(world.fail(world.claim("charge")))
    done(world.stop(run))
    done(world.rescue(run, 1))
    assert world.waiting() == []
    done(world.resume(run))
    assert world.waiting() == ["charge", "ship"]
