# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Events: waited for, too late, correlated; thrown; sleeps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.external_event_pb2 import (
    CorrelatedEventConfig,
    ExternalEvent,
    ExternalEventRetentionPolicy,
)
from littlehorse.model.object_id_pb2 import WfRunId
from littlehorse.model.service_pb2 import DeleteExternalEventRequest, DeleteWfRunRequest
from littlehorse.model.wf_spec_pb2 import SleepNode
from littlehorse.workflow import WorkflowThread, to_variable_assignment

from remuda.partition.machine import Rejection
from remuda.workflow.data.values import data_of
from remuda.workflow.effects import EventThrown
from tests.workflow.world import World, done, refused

STR, INT, TIMESTAMP = VariableType.STR, VariableType.INT, VariableType.TIMESTAMP


@pytest.fixture
def world() -> World:
    world = World()
    world.task_def("say", STR)
    world.event_def("paid", STR)
    return world


def waits(thread: WorkflowThread) -> None:
    paid = thread.add_variable("paid", STR)
    event = thread.wait_for_event("paid", timeout=60)
    paid.assign(event)
    thread.complete(paid)


def test_an_event_lets_a_run_go_on(world: World) -> None:
    run = world.run(world.put("pays", waits))
    assert world.status(run) == "RUNNING"
    event = ExternalEvent.FromString(done(world.event(run, "paid", "12 pounds")))
    assert event.claimed
    assert (event.thread_run_number, event.node_run_position) == (0, 1)
    assert world.output(run) == "12 pounds"
    assert world.partitions[0].next_due_ms is None


def test_an_event_may_come_early(world: World) -> None:
    def late(thread: WorkflowThread) -> None:
        thread.execute("say", "x")
        thread.execute("say", thread.wait_for_event("paid"))
        thread.execute("say", thread.wait_for_event("paid"))

    run = world.run(world.put("late", late))
    done(world.event(run, "paid", "one"))
    done(world.event(run, "paid", "two"))
    world.work("say")
    assert world.work("say") == ["one"]
    assert world.work("say") == ["two"]
    assert world.status(run) == "COMPLETED"


def test_the_same_event_again_changes_nothing(world: World) -> None:
    run = world.run(world.put("pays", waits))
    first = done(world.event(run, "paid", "one", guid="g"))
    before = world.partitions[0].items
    assert done(world.event(run, "paid", "two", guid="g")) == first
    assert world.partitions[0].items == before


def test_a_wait_that_is_too_long_is_a_failure(world: World) -> None:
    run = world.run(world.put("pays", waits))
    world.pass_time(59)
    assert world.status(run) == "RUNNING"
    world.pass_time(1)
    assert world.status(run) == "ERROR"
    node = world.node(run)
    assert node.external_event.timed_out
    assert node.failures[0].failure_name == "TIMEOUT"


def test_a_time_out_is_handled_like_any_failure(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        event = thread.wait_for_event("paid", timeout=5)
        thread.handle_error(event, lambda inner: inner.execute("say", "never mind"))

    run = world.run(world.put("forgives", body))
    world.pass_time(5)
    assert world.work("say") == ["never mind"]
    assert world.status(run) == "COMPLETED"


def test_an_event_is_for_the_node_that_it_names(world: World) -> None:
    run = world.run(world.put("pays", waits))
    done(world.event(run, "paid", "not yours", node_run_position=7))
    assert world.status(run) == "RUNNING"
    done(world.event(run, "paid", "yours", node_run_position=1))
    assert world.output(run) == "yours"


def test_events_that_cannot_be_are_refused(world: World) -> None:
    run = world.run(world.put("pays", waits))
    assert refused(world.event(run, "unknown")).kind == Rejection.NOT_FOUND
    assert refused(world.event("nowhere", "paid")).kind == Rejection.NOT_FOUND
    assert refused(world.event(run, "paid", {"a": 1})).kind == Rejection.INVALID


def test_an_event_that_nobody_claims_is_kept_for_a_while(world: World) -> None:
    world.event_def(
        "rumour", STR, retention_policy=ExternalEventRetentionPolicy(seconds_after_put=10)
    )
    run = world.run(world.put("pays", waits))
    done(world.event(run, "rumour", "x"))
    world.pass_time(9)
    assert len(world.events(run)) == 1
    world.pass_time(1)
    assert world.events(run) == []


def test_a_deleted_event_is_not_claimed(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.execute("say", "x")
        thread.wait_for_event("paid")

    run = world.run(world.put("late", body))
    event = ExternalEvent.FromString(done(world.event(run, "paid", "one")))
    request = DeleteExternalEventRequest(id=event.id)
    done(world.at_run(run, "DeleteExternalEvent", request))
    assert refused(world.at_run(run, "DeleteExternalEvent", request)).kind == Rejection.NOT_FOUND
    world.work("say")
    assert world.status(run) == "RUNNING"
    claimed = ExternalEvent.FromString(done(world.event(run, "paid", "two")))
    request = DeleteExternalEventRequest(id=claimed.id)
    assert refused(world.at_run(run, "DeleteExternalEvent", request)).kind == Rejection.PRECONDITION


# ── correlated events ────────────────────────────────────────────────────────────────────────


def correlated_world(partitions: int, **config: bool | int) -> World:
    world = World(partitions)
    world.event_def("signed", STR, correlated_event_config=CorrelatedEventConfig(**config))
    return world


def signs(thread: WorkflowThread) -> None:
    document = thread.add_variable("document", STR)
    who = thread.add_variable("who", STR)
    who.assign(thread.wait_for_event("signed", timeout=60, correlation_id=document))
    thread.complete(who)


@pytest.mark.parametrize("partitions", [1, 4])
@pytest.mark.parametrize("early", [True, False])
def test_an_event_is_found_by_its_key_in_whichever_partition(partitions: int, early: bool) -> None:
    world = correlated_world(partitions)
    spec = world.put("signs", signs)
    if early:
        done(world.correlated("signed", "doc-1", "Ann"))
    runs = [world.run(spec, f"run-{n}", document="doc-1") for n in range(3)]
    other = world.run(spec, "other", document="doc-2")
    if not early:
        assert [world.status(run) for run in runs] == ["RUNNING"] * 3
        done(world.correlated("signed", "doc-1", "Ann"))
    assert [world.output(run) for run in runs] == ["Ann"] * 3
    assert world.status(other) == "RUNNING"
    event = world.correlated_event("signed", "doc-1")
    assert event is not None
    assert sorted(one.wf_run_id.id for one in event.external_events) == sorted(runs)


def test_an_event_for_one_is_gone_after_one() -> None:
    world = correlated_world(2, delete_after_first_correlation=True)
    spec = world.put("signs", signs)
    done(world.correlated("signed", "doc-1", "Ann"))
    first = world.run(spec, "first", document="doc-1")
    second = world.run(spec, "second", document="doc-1")
    assert (world.output(first), world.status(second)) == ("Ann", "RUNNING")
    assert world.correlated_event("signed", "doc-1") is None
    done(world.correlated("signed", "doc-1", "Bob"))
    assert world.output(second) == "Bob"
    assert world.correlated_event("signed", "doc-1") is None


def test_a_key_is_used_once_while_its_event_is_there() -> None:
    world = correlated_world(1, ttl_seconds=30)
    done(world.correlated("signed", "doc-1", "Ann"))
    assert refused(world.correlated("signed", "doc-1", "Bob")).kind == Rejection.EXISTS
    world.pass_time(30)
    done(world.correlated("signed", "doc-1", "Bob"))


def test_an_event_that_is_not_for_correlation_is_refused() -> None:
    world = World()
    world.event_def("plain", STR)
    assert refused(world.correlated("plain", "k", "x")).kind == Rejection.PRECONDITION


def test_a_node_that_waits_no_more_gets_nothing() -> None:
    world = correlated_world(2)
    run = world.run(world.put("signs", signs), document="doc-1")
    world.pass_time(60)
    assert world.status(run) == "ERROR"
    done(world.correlated("signed", "doc-1", "Ann"))
    assert world.events(run) == []


def test_a_thread_that_failed_takes_no_event_from_those_that_wait() -> None:
    world = correlated_world(2, delete_after_first_correlation=True)
    world.event_def("stop")
    world.task_def("fails")

    def body(thread: WorkflowThread) -> None:
        thread.add_interrupt_handler("stop", lambda handler: handler.execute("fails"))
        signs(thread)

    spec = world.put("signs", body)
    dead = world.run(spec, "dead", document="doc-1")
    alive = world.run(spec, "alive", document="doc-1")
    done(world.event(dead, "stop"))
    done(world.fail(world.claim("fails")))
    assert world.status(dead) == "ERROR"
    done(world.correlated("signed", "doc-1", "Ann"))
    assert world.output(alive) == "Ann"


# ── thrown events ────────────────────────────────────────────────────────────────────────────


def test_a_run_throws_events_for_those_outside(world: World) -> None:
    world.thrown_def("progress", STR)

    def body(thread: WorkflowThread) -> None:
        thread.throw_event("progress", "begun")
        thread.throw_event("progress", "done")

    run = world.run(world.put("tells", body))
    thrown = world.thrown(run)
    assert [(one.id.number, data_of(one.content)) for one in thrown] == [(0, "begun"), (1, "done")]
    effects = [one for one in world.effects if isinstance(one, EventThrown)]
    assert [(one.run, one.event, one.number) for one in effects] == [
        (run, "progress", 0),
        (run, "progress", 1),
    ]


def test_what_is_thrown_is_of_the_type_that_was_promised(world: World) -> None:
    world.thrown_def("progress", INT)

    def body(thread: WorkflowThread) -> None:
        thread.throw_event("progress", thread.add_variable("data", VariableType.JSON_OBJ))

    run = world.run(world.put("tells", body), data={"a": 1})
    assert world.status(run) == "ERROR"
    assert world.thrown(run) == []


# ── sleeps ───────────────────────────────────────────────────────────────────────────────────


def test_a_sleep_ends_after_its_seconds(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.sleep(thread.add_variable("seconds", INT))

    run = world.run(world.put("sleeps", body), seconds=30)
    world.pass_time(29)
    assert world.status(run) == "RUNNING"
    world.pass_time(1)
    assert world.status(run) == "COMPLETED"
    assert world.node(run, 0, 1).sleep.matured


@pytest.mark.parametrize("kind", [TIMESTAMP, STR])
def test_a_sleep_ends_at_a_time(world: World, kind: VariableType) -> None:
    def body(thread: WorkflowThread) -> None:
        moment = to_variable_assignment(thread.add_variable("moment", kind))
        sleep = SleepNode(timestamp=moment) if kind == TIMESTAMP else SleepNode(iso_date=moment)
        thread.add_node("sleep", sleep)

    until = datetime.fromtimestamp(world.now_ms / 1000 + 10, UTC)
    text = until.isoformat().replace("+00:00", "Z")
    run = world.run(world.put("until", body), moment=until if kind == TIMESTAMP else text)
    assert world.status(run) == "RUNNING"
    world.pass_time(10)
    assert world.status(run) == "COMPLETED"


def test_a_sleep_that_is_over_before_it_begins_is_no_sleep(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        thread.sleep_until(thread.add_variable("moment", INT))

    run = world.run(world.put("sleeps", body), moment=5)
    assert world.status(run) == "COMPLETED"


def test_a_sleep_of_a_run_that_stands_still_ends_in_time(world: World) -> None:
    run = world.run(world.put("sleeps", lambda thread: thread.sleep(30)))
    done(world.stop(run))
    world.pass_time(60)
    assert world.status(run) == "HALTED"
    done(world.resume(run))
    assert world.status(run) == "COMPLETED"


def test_a_run_that_was_deleted_does_not_wake(world: World) -> None:
    run = world.run(world.put("sleeps", lambda thread: thread.sleep(30)))
    done(world.at_run(run, "DeleteWfRun", DeleteWfRunRequest(id=WfRunId(id=run))))
    world.pass_time(60)
