# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Standing still and going on: stop, resume, interrupts, and all of them at once."""

from __future__ import annotations

import pytest
from littlehorse.model.common_enums_pb2 import TaskStatus, VariableType
from littlehorse.model.common_wfspec_pb2 import ExponentialBackoffRetryPolicy
from littlehorse.model.wf_run_pb2 import ThreadType
from littlehorse.workflow import SpawnedThreads, WorkflowThread

from remuda.partition.machine import Rejection
from tests.workflow.world import World, done, refused

STR, INT = VariableType.STR, VariableType.INT


@pytest.fixture
def world() -> World:
    world = World()
    for name in ("first", "second", "child", "notify", "fix"):
        world.task_def(name)
    world.task_def("say", STR)
    world.event_def("changed", STR)
    world.event_def("cancelled")
    return world


def steps(thread: WorkflowThread) -> None:
    thread.execute("first")
    thread.execute("second")


# ── stop and resume ──────────────────────────────────────────────────────────────────────────


def test_a_stopped_run_gives_out_no_task(world: World) -> None:
    run = world.run(world.put("steps", steps))
    done(world.stop(run))
    assert world.status(run) == "HALTED"
    assert world.waiting() == []
    done(world.stop(run))
    done(world.resume(run))
    assert world.status(run) == "RUNNING"
    world.work("first")
    world.work("second")
    assert world.status(run) == "COMPLETED"


def test_a_stopped_run_is_halting_while_a_worker_has_its_task(world: World) -> None:
    run = world.run(world.put("steps", steps))
    task = world.claim("first")
    done(world.stop(run))
    assert world.status(run) == "HALTING"
    done(world.succeed(task))
    assert world.status(run) == "HALTED"
    assert world.waiting() == []
    done(world.resume(run))
    assert world.waiting() == ["second"]


def test_a_run_that_is_resumed_before_it_stood_still_goes_on(world: World) -> None:
    run = world.run(world.put("steps", steps))
    task = world.claim("first")
    done(world.stop(run))
    done(world.resume(run))
    assert world.status(run) == "RUNNING"
    done(world.succeed(task))
    assert world.waiting() == ["second"]


def test_a_task_that_fails_while_its_run_stops_is_tried_again_later(world: World) -> None:
    run = world.run(world.put("retries", lambda thread: thread.execute("first", retries=1)))
    task = world.claim("first")
    done(world.stop(run))
    done(world.fail(task))
    assert world.status(run) == "HALTED"
    assert world.task_runs(run)[0].status == TaskStatus.TASK_PENDING
    done(world.resume(run))
    world.work("first")
    assert world.status(run) == "COMPLETED"


def test_a_wait_before_a_retry_goes_on_while_the_run_stands_still(world: World) -> None:
    policy = ExponentialBackoffRetryPolicy(base_interval_ms=10_000, multiplier=1.0)

    def body(thread: WorkflowThread) -> None:
        thread.execute("first", retries=1, exponential_backoff=policy)

    spec = world.put("retries", body)
    run = world.run(spec)
    done(world.fail(world.claim("first")))
    done(world.stop(run))
    assert world.status(run) == "HALTED"
    done(world.resume(run))
    assert world.waiting() == []
    done(world.stop(run))
    world.pass_time(11)
    assert world.waiting() == []
    done(world.resume(run))
    assert world.waiting() == ["first"]


def test_an_unclaimed_task_of_a_stopping_run_is_not_given_out_again(world: World) -> None:
    run = world.run(world.put("steps", steps))
    task = world.claim("first")
    done(world.stop(run))
    done(world.unclaim(task))
    assert world.status(run) == "HALTED"
    assert world.waiting() == []
    done(world.resume(run))
    assert world.waiting() == ["first"]


def test_a_parent_halts_its_children_and_resumes_them(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        def child(inner: WorkflowThread) -> None:
            inner.spawn_thread(lambda grandchild: grandchild.execute("child"), "grandchild")
            inner.execute("first")

        spawned = thread.spawn_thread(child, "the-child")
        thread.wait_for_threads(SpawnedThreads.from_list(spawned))

    run = world.run(world.put("family", body))
    assert world.waiting() == ["child", "first"]
    done(world.stop(run))
    assert [world.status(run, n) for n in range(3)] == ["HALTED"] * 3
    assert world.waiting() == []
    done(world.resume(run))
    assert [world.status(run, n) for n in range(3)] == ["RUNNING"] * 3
    world.work("child")
    world.work("first")
    assert world.status(run) == "COMPLETED"


def test_one_child_is_stopped_alone(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.spawn_thread(lambda child: child.execute("child"), "one")
        thread.execute("first")

    run = world.run(world.put("pair", body))
    done(world.stop(run, 1))
    assert (world.status(run), world.status(run, 1)) == ("RUNNING", "HALTED")
    world.work("first")
    assert world.status(run) == "RUNNING"
    done(world.stop(run))
    done(world.resume(run))
    assert world.status(run, 1) == "HALTED"
    done(world.resume(run, 1))
    world.work("child")
    assert world.status(run) == "COMPLETED"


def test_a_run_that_has_ended_is_not_stopped(world: World) -> None:
    run = world.run(world.put("nothing", lambda thread: None))
    assert refused(world.stop(run)).kind == Rejection.PRECONDITION
    assert refused(world.resume(run)).kind == Rejection.PRECONDITION


# ── interrupts ───────────────────────────────────────────────────────────────────────────────


def interruptible(thread: WorkflowThread) -> None:
    def handler(inner: WorkflowThread) -> None:
        inner.execute("say", inner.add_variable("INPUT", STR))

    thread.add_interrupt_handler("changed", handler)
    thread.execute("first")
    thread.execute("second")


def test_an_interrupt_runs_before_the_thread_goes_on(world: World) -> None:
    run = world.run(world.put("order", interruptible))
    done(world.event(run, "changed", "blue"))
    assert world.status(run) == "RUNNING"
    assert world.status(run, 0) == "HALTED"
    handler = world.wf_run(run).thread_runs[1]
    assert handler.type == ThreadType.INTERRUPT
    assert handler.interrupt_trigger_id.external_event_def_id.name == "changed"
    assert world.waiting() == ["say"]
    assert world.work("say") == ["blue"]
    assert world.status(run, 0) == "RUNNING"
    (event,) = world.events(run)
    assert event.claimed
    world.work("first")
    world.work("second")
    assert world.status(run) == "COMPLETED"


def test_an_interrupt_waits_for_the_worker_that_has_the_task(world: World) -> None:
    run = world.run(world.put("order", interruptible))
    task = world.claim("first")
    done(world.event(run, "changed", "blue"))
    assert world.status(run, 0) == "HALTING"
    assert len(world.wf_run(run).pending_interrupts) == 1
    done(world.succeed(task))
    assert world.waiting() == ["say"]
    assert len(world.wf_run(run).pending_interrupts) == 0
    world.work("say")
    assert world.waiting() == ["second"]


def test_interrupts_run_one_after_another(world: World) -> None:
    run = world.run(world.put("order", interruptible))
    done(world.event(run, "changed", "blue"))
    done(world.event(run, "changed", "red"))
    assert world.waiting() == ["say"]
    assert world.work("say") == ["blue"]
    assert world.waiting() == ["say"]
    assert world.work("say") == ["red"]
    assert world.waiting() == ["first"]


def test_an_interrupt_that_fails_fails_the_thread(world: World) -> None:
    run = world.run(world.put("order", interruptible))
    done(world.event(run, "changed", "blue"))
    done(world.throw(world.claim("say"), "colour-blind"))
    assert world.status(run) == "EXCEPTION"
    assert world.node(run).failures[-1].failure_name == "colour-blind"


def test_an_interrupt_stops_the_children_too(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.add_interrupt_handler("cancelled", lambda inner: inner.execute("notify"))
        thread.spawn_thread(lambda child: child.execute("child"), "the-child")
        thread.execute("first")

    run = world.run(world.put("family", body))
    done(world.event(run, "cancelled"))
    assert world.waiting() == ["notify"]
    assert world.status(run, 1) == "HALTED"
    world.work("notify")
    assert world.waiting() == ["child", "first"]


def test_a_stop_holds_an_interrupt_back_and_its_handler_too(world: World) -> None:
    run = world.run(world.put("order", interruptible))
    done(world.stop(run))
    done(world.event(run, "changed", "blue"))
    assert world.waiting() == []
    assert world.status(run) == "HALTED"
    done(world.resume(run))
    assert world.waiting() == ["say"]
    done(world.stop(run))
    assert world.waiting() == []
    assert world.status(run, 1) == "HALTED"
    done(world.resume(run))
    assert world.work("say") == ["blue"]
    assert world.waiting() == ["first"]


def test_a_failure_during_an_interrupt_is_handled_after_it(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.add_interrupt_handler("cancelled", lambda inner: inner.execute("notify"))
        first = thread.execute("first")
        thread.handle_any_failure(first, lambda inner: inner.execute("fix"))
        thread.execute("second")

    run = world.run(world.put("both", body))
    task = world.claim("first")
    done(world.event(run, "cancelled"))
    done(world.fail(task))
    assert world.waiting() == ["notify"]
    world.work("notify")
    assert world.waiting() == ["fix"]
    world.work("fix")
    assert world.waiting() == ["second"]
    world.work("second")
    assert world.status(run) == "COMPLETED"


def test_an_event_interrupts_the_thread_that_it_names(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        def child(inner: WorkflowThread) -> None:
            inner.add_interrupt_handler("cancelled", lambda deep: deep.execute("notify"))
            inner.execute("child")

        thread.spawn_thread(child, "one")
        thread.execute("first")

    run = world.run(world.put("named", body))
    done(world.event(run, "cancelled", thread_run_number=1))
    assert world.status(run, 1) == "HALTED"
    assert world.status(run, 0) == "RUNNING"
    world.work("notify")
    assert world.waiting() == ["child", "first"]


def test_an_interrupt_that_cannot_take_the_content_fails_the_thread(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        def handler(inner: WorkflowThread) -> None:
            inner.add_variable("INPUT", INT)

        thread.add_interrupt_handler("changed", handler)
        thread.execute("first")

    run = world.run(world.put("order", body))
    done(world.event(run, "changed", "not a number"))
    assert world.status(run) == "ERROR"
    assert "the handler of event changed" in world.node(run).error_message


def test_a_thread_that_fails_forgets_what_was_to_interrupt_it(world: World) -> None:
    run = world.run(world.put("order", interruptible))
    for colour in ("blue", "red"):
        done(world.event(run, "changed", colour))
    assert len(world.wf_run(run).pending_interrupts) == 1
    done(world.fail(world.claim("say")))
    assert world.status(run) == "ERROR"
    assert len(world.wf_run(run).pending_interrupts) == 0
    assert world.waiting() == []
