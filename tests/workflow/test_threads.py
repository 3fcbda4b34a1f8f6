# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Child threads: started, started for each, waited for; their failures, and their end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from littlehorse.model.common_enums_pb2 import LHStatus, VariableType
from littlehorse.model.node_run_pb2 import WaitForThreadsRun
from littlehorse.model.service_pb2 import RunWfRequest
from littlehorse.model.wf_spec_pb2 import WaitForThreadsStrategy, WfSpec
from littlehorse.workflow import (
    SpawnedThreads,
    WaitForThreadsNodeOutput,
    Workflow,
    WorkflowThread,
)

from remuda.workflow.invariants import broken
from remuda.workflow.threads import THREADS_MAX
from tests.workflow.world import World, done

STR, INT, JSON_ARR = VariableType.STR, VariableType.INT, VariableType.JSON_ARR
ALL = WaitForThreadsStrategy.WAIT_FOR_ALL
ANY = WaitForThreadsStrategy.WAIT_FOR_ANY
FIRST = WaitForThreadsStrategy.WAIT_FOR_FIRST


@pytest.fixture
def world() -> World:
    world = World()
    for name in ("left", "right", "after", "fix"):
        world.task_def(name)
    world.task_def("each", STR)
    return world


Attach = Callable[[WorkflowThread, WaitForThreadsNodeOutput], None]


def two(world: World, strategy: WaitForThreadsStrategy = ALL, handler: Attach | None = None) -> str:
    def body(thread: WorkflowThread) -> None:
        one = thread.spawn_thread(lambda child: child.execute("left"), "one")
        other = thread.spawn_thread(lambda child: child.execute("right"), "other")
        waited = thread.wait_for_threads(SpawnedThreads.from_list(one, other), strategy)
        if handler is not None:
            handler(thread, waited)
        thread.execute("after")

    return world.run(world.put("two", body))


def waiting_statuses(world: World, run: str) -> list[str]:
    node = next(one for one in world.nodes(run) if one.HasField("wait_for_threads"))
    return [
        WaitForThreadsRun.WaitingThreadStatus.Name(one.waiting_status)
        for one in node.wait_for_threads.threads
    ]


def test_children_run_at_the_same_time_and_are_waited_for(world: World) -> None:
    run = two(world)
    assert world.waiting() == ["left", "right"]
    world.work("right")
    assert world.waiting() == ["left"]
    world.work("left")
    assert world.waiting() == ["after"]
    assert waiting_statuses(world, run) == ["THREAD_COMPLETED_OR_FAILURE_HANDLED"] * 2
    world.work("after")
    assert world.status(run) == "COMPLETED"
    assert list(world.wf_run(run).thread_runs[0].child_thread_ids) == [1, 2]


def test_a_child_is_started_for_each_item(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        names = thread.add_variable("names", JSON_ARR)

        def child(inner: WorkflowThread) -> None:
            inner.execute("each", inner.add_variable("INPUT", STR))

        spawned = thread.spawn_thread_for_each(names, child, "each-name")
        thread.wait_for_threads(spawned)
        thread.execute("after")

    spec = world.put("for-each", body)
    run = world.run(spec, names=["a", "b", "c"])
    assert sorted(world.work("each")[0] for _ in range(3)) == ["a", "b", "c"]
    world.work("after")
    assert world.status(run) == "COMPLETED"

    empty = world.run(spec, names=[])
    world.work("after")
    assert world.status(empty) == "COMPLETED"

    wrong = world.run(spec, names=["a", {"no": "text"}])
    assert world.status(wrong) == "ERROR"
    assert len(world.wf_run(wrong).thread_runs) == 1


def test_a_child_is_given_variables_and_sees_those_of_its_parent(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        shared = thread.add_variable("shared", STR, default_value="before")

        def child(inner: WorkflowThread) -> None:
            mine = inner.add_variable("mine", STR)
            shared.assign(inner.format("{0}, {1}", shared, mine))

        spawned = thread.spawn_thread(child, "child", {"mine": "given"})
        thread.wait_for_threads(SpawnedThreads.from_list(spawned))
        thread.complete(shared)

    run = world.run(world.put("shares", body))
    assert world.output(run) == "before, given"
    assert world.variable(run, "mine", 1) == "given"


def test_an_exit_waits_for_the_children(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.spawn_thread(lambda child: child.execute("left"), "child")

    run = world.run(world.put("leaves", body))
    assert world.node(run).HasField("exit")
    assert world.status(run) == "RUNNING"
    world.work("left")
    assert world.status(run) == "COMPLETED"


def test_a_failed_child_fails_the_exit(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.spawn_thread(lambda child: child.execute("left"), "child")

    spec = world.put("leaves", body)
    run = world.run(spec)
    done(world.fail(world.claim("left")))
    assert world.status(run) == "ERROR"
    assert world.node(run).failures[0].failure_name == "CHILD_FAILURE"
    run = world.run(spec)
    done(world.throw(world.claim("left"), "lost"))
    assert world.status(run) == "EXCEPTION"
    assert world.node(run).failures[0].failure_name == "lost"


def test_waiting_for_all_fails_with_the_first_failure_and_stops_the_others(world: World) -> None:
    run = two(world)
    done(world.throw(world.claim("left"), "lost"))
    assert world.status(run) == "EXCEPTION"
    assert world.status(run, 2) == "HALTED"
    assert world.waiting() == []


def test_a_failure_of_a_child_is_handled_at_the_wait(world: World) -> None:
    def handler(thread: WorkflowThread, waited: WaitForThreadsNodeOutput) -> None:
        thread.handle_error(waited, lambda inner: inner.execute("fix"))

    run = two(world, ALL, handler)
    done(world.fail(world.claim("left")))
    assert world.waiting() == ["fix"]
    assert world.status(run, 2) == "HALTED"
    world.work("fix")
    assert world.waiting() == ["after", "right"]
    world.work("after")
    assert world.status(run) == "RUNNING"
    world.work("right")
    assert world.status(run) == "COMPLETED"


def test_each_child_has_its_own_handler_while_the_others_go_on(world: World) -> None:
    def handler(thread: WorkflowThread, waited: WaitForThreadsNodeOutput) -> None:
        waited.handle_exception_on_child(lambda inner: inner.execute("fix"), "lost")

    run = two(world, ALL, handler)
    done(world.throw(world.claim("left"), "lost"))
    assert world.waiting() == ["fix", "right"]
    assert waiting_statuses(world, run)[0] == "THREAD_HANDLING_FAILURE"
    world.work("right")
    world.work("fix")
    assert waiting_statuses(world, run) == ["THREAD_COMPLETED_OR_FAILURE_HANDLED"] * 2
    world.work("after")
    assert world.status(run) == "COMPLETED"


def test_a_handler_of_a_child_that_fails_is_final(world: World) -> None:
    def handler(thread: WorkflowThread, waited: WaitForThreadsNodeOutput) -> None:
        waited.handle_any_failure_on_child(lambda inner: inner.execute("fix"))

    run = two(world, ALL, handler)
    done(world.throw(world.claim("left"), "lost"))
    done(world.throw(world.claim("fix"), "worse"))
    assert world.status(run) == "EXCEPTION"
    assert world.node(run).failures[0].failure_name == "worse"


def test_waiting_for_any_takes_the_first_that_does_well(world: World) -> None:
    run = two(world, ANY)
    done(world.throw(world.claim("left"), "lost"))
    assert world.waiting() == ["right"]
    world.work("right")
    assert world.waiting() == ["after"]
    world.work("after")
    assert world.status(run) == "COMPLETED"


def test_waiting_for_any_fails_when_all_have_failed(world: World) -> None:
    run = two(world, ANY)
    done(world.throw(world.claim("left"), "lost"))
    done(world.throw(world.claim("right"), "lost-too"))
    assert world.status(run) == "EXCEPTION"
    assert world.node(run).failures[0].failure_name == "lost"


def test_waiting_for_the_first_stops_the_rest(world: World) -> None:
    run = two(world, FIRST)
    world.work("left")
    assert world.waiting() == ["after"]
    assert waiting_statuses(world, run) == [
        "THREAD_COMPLETED_OR_FAILURE_HANDLED",
        "THREAD_STOPPED",
    ]
    assert world.status(run, 2) == "HALTED"
    world.work("after")
    assert world.status(run) == "COMPLETED"


def test_waiting_for_the_first_fails_if_that_is_how_it_ends(world: World) -> None:
    run = two(world, FIRST)
    done(world.throw(world.claim("right"), "lost"))
    assert world.status(run) == "EXCEPTION"


def test_a_thread_that_is_stopped_while_a_worker_has_its_task_ends_when_it_reports(
    world: World,
) -> None:
    run = two(world, FIRST)
    slow = world.claim("right")
    world.work("left")
    assert world.status(run, 2) == "HALTING"
    world.work("after")
    assert world.status(run) == "RUNNING"
    done(world.succeed(slow))
    assert world.status(run, 2) == "HALTED"
    assert world.status(run) == "COMPLETED"


def test_a_thread_waits_only_for_children_of_its_own(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        numbers = thread.add_variable("numbers", JSON_ARR)
        thread.wait_for_threads(SpawnedThreads(iterable=numbers))

    spec = world.put("asks", body)
    for wrong in ([7], [0], ["x"]):
        run = world.run(spec, numbers=wrong)
        assert world.wf_run(run).status == LHStatus.ERROR


def test_a_condition_is_waited_for_until_another_thread_makes_it_true(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        count = thread.add_variable("count", INT, default_value=0)

        def child(inner: WorkflowThread) -> None:
            inner.execute("left")
            count.assign(count.add(1))
            inner.execute("right")
            count.assign(count.add(1))

        thread.spawn_thread(child, "child")
        thread.wait_for_condition(count.is_greater_than(1))
        thread.execute("after")

    run = world.run(world.put("patient", body))
    world.work("left")
    assert world.waiting() == ["right"]
    world.work("right")
    assert world.waiting() == ["after"]
    world.work("after")
    assert world.status(run) == "COMPLETED"


def test_the_outputs_of_threads_are_the_output_of_the_wait(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        both = thread.add_variable("both", JSON_ARR)
        alone = thread.add_variable("alone", INT)
        one = thread.spawn_thread(lambda child: child.complete(1), "one")
        two = thread.spawn_thread(lambda child: child.complete(2), "two")
        both.assign(thread.wait_for_threads(SpawnedThreads.from_list(one, two)))
        three = thread.spawn_thread(lambda child: child.complete(3), "three")
        alone.assign(thread.wait_for_threads(SpawnedThreads.from_list(three)))

    run = world.run(world.put("outputs", body))
    assert (world.variable(run, "both"), world.variable(run, "alone")) == ([1, 2], 3)


def test_a_handler_that_nobody_waits_for_any_more_is_stopped(world: World) -> None:
    def handler(thread: WorkflowThread, waited: WaitForThreadsNodeOutput) -> None:
        waited.handle_any_failure_on_child(lambda inner: inner.execute("fix"))

    run = two(world, FIRST, handler)
    done(world.throw(world.claim("left"), "lost"))
    assert world.waiting() == ["fix", "right"]
    world.work("right")
    assert world.waiting() == ["after"]
    world.work("after")
    assert world.status(run) == "COMPLETED"


def test_a_list_of_threads_is_an_array(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        numbers = thread.add_variable("numbers", STR)
        thread.wait_for_threads(SpawnedThreads(iterable=numbers))

    run = world.run(world.put("asks", body), numbers="1, 2")
    assert "not an array of numbers" in world.node(run).error_message


def test_threads_are_started_for_the_items_of_a_typed_array(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        def child(inner: WorkflowThread) -> None:
            inner.execute("each", inner.add_variable("INPUT", STR))

        thread.spawn_thread_for_each(thread.add_variable("names", JSON_ARR), child, "each-name")

    compiled = Workflow("typed", body).compile()
    declared = compiled.thread_specs["entrypoint"].variable_defs[0].var_def
    declared.type_def.inline_array_def.array_type.primitive_type = STR
    spec = WfSpec.FromString(done(world.define("PutWfSpec", compiled)))
    request = RunWfRequest(wf_spec_name="typed", id="run")
    for name in ("a", "b"):
        request.variables["names"].array.items.add(str=name)
    done(world.call(0, "RunWf", request, major=spec.id.major_version))
    assert sorted(world.work("each")[0] for _ in range(2)) == ["a", "b"]
    empty = world.run(spec)
    assert world.status(empty) == "COMPLETED"


@pytest.mark.parametrize("times", [1, 2])
def test_a_thread_that_starts_itself_is_stopped(world: World, times: int) -> None:
    """One in another, or side by side."""

    def child(inner: WorkflowThread) -> None:
        for number in range(times):
            inner.spawn_thread(lambda deeper: None, f"deeper-{number}")

    compiled = Workflow("itself", lambda thread: thread.spawn_thread(child, "child")).compile()
    for node in compiled.thread_specs["child"].nodes.values():
        if node.HasField("start_thread"):
            node.start_thread.thread_spec_name = "child"
    spec = WfSpec.FromString(done(world.define("PutWfSpec", compiled)))
    run = world.run(spec)
    assert world.status(run) == "ERROR"
    assert len(world.wf_run(run).thread_runs) <= THREADS_MAX
    assert broken(world.partitions[0].view) == []
