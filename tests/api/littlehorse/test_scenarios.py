# The client has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Small stories, told with LittleHorse's own client: its authoring, and its task workers."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from littlehorse.exceptions import LHTaskException
from littlehorse.model.common_enums_pb2 import LHErrorType, LHStatus, TaskStatus, VariableType
from littlehorse.model.common_wfspec_pb2 import ExponentialBackoffRetryPolicy
from littlehorse.model.external_event_pb2 import CorrelatedEventConfig
from littlehorse.model.object_id_pb2 import ExternalEventDefId, WfRunId, WorkflowEventDefId
from littlehorse.model.service_pb2 import (
    AwaitWorkflowEventRequest,
    PutCorrelatedEventRequest,
    PutExternalEventDefRequest,
    PutExternalEventRequest,
    PutUserTaskDefRequest,
    SearchUserTaskRunRequest,
    SearchWfRunRequest,
)
from littlehorse.model.user_tasks_pb2 import (
    AssignUserTaskRunRequest,
    CompleteUserTaskRunRequest,
    UserTaskField,
)
from littlehorse.utils import extract_value, to_variable_value
from littlehorse.worker import WorkerContext
from littlehorse.workflow import SpawnedThreads, WorkflowThread

from tests.api.littlehorse.stable import Stable, fresh
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", autouse=True)
def workers(stable: Stable) -> None:
    stable.work("greet", greet)
    stable.work("note", note)


async def greet(name: str) -> str:
    return f"hello, {name}"


async def note(text: str) -> str:
    return text


def send(stable: Stable, run: WfRunId, event: str, content: Any) -> None:
    stable.stub.PutExternalEvent(
        PutExternalEventRequest(
            wf_run_id=run,
            external_event_def_id=ExternalEventDefId(name=event),
            content=to_variable_value(content),
        )
    )


def event_def(stable: Stable, name: str) -> str:
    stable.stub.PutExternalEventDef(PutExternalEventDefRequest(name=name))
    return name


# ── tasks and data ───────────────────────────────────────────────────────────────────────────


def test_a_greeting(stable: Stable) -> None:
    def greeting(thread: WorkflowThread) -> None:
        name = thread.declare_str("name").required()
        text = thread.declare_str("text")
        text.assign(thread.execute("greet", name))

    run = stable.run(stable.put(fresh("greeting"), greeting), name="ann")
    stable.completed(run)
    assert stable.variable(run, "text") == "hello, ann"
    assert [task.status for task in stable.tasks(run)] == [TaskStatus.TASK_SUCCESS]


def test_an_order_is_priced_by_expressions_and_json_paths(stable: Stable) -> None:
    def pricing(thread: WorkflowThread) -> None:
        order = thread.declare_json_obj("order")
        total = thread.declare_double("total")
        items = order.with_json_path("$.items")
        total.assign(thread.multiply(order.with_json_path("$.price").cast_to_double(), 2.0))
        thread.execute("note", thread.format("{0} of {1}", total, items))

    spec = stable.put(fresh("pricing"), pricing)
    run = stable.run(spec, order={"price": 2.5, "items": ["tea"]})
    stable.completed(run)
    assert stable.variable(run, "total") == 5.0
    assert "tea" in stable.outputs(run)[0]


def test_a_counter_loops_until_it_is_high_enough(stable: Stable) -> None:
    def counting(thread: WorkflowThread) -> None:
        count = thread.declare_int("count", 0)

        def step(body: WorkflowThread) -> None:
            body.execute("note", "again")
            count.assign(count.add(1))

        thread.do_while(count.is_less_than(3), step)

    run = stable.run(stable.put(fresh("counting"), counting))
    stable.completed(run)
    assert stable.variable(run, "count") == 3
    assert stable.outputs(run) == ["again"] * 3


def test_a_secret_is_seen_by_workers_only(stable: Stable) -> None:
    heard: list[str] = []

    async def whisper(secret: str) -> str:
        heard.append(secret)
        return "done"

    stable.work(fresh_task := fresh("whisper"), whisper)

    def telling(thread: WorkflowThread) -> None:
        thread.execute(fresh_task, thread.declare_str("secret").masked())

    run = stable.run(stable.put(fresh("telling"), telling), secret="xyzzy")
    stable.completed(run)
    assert heard == ["xyzzy"]
    assert stable.variable(run, "secret") == "*****"


# ── people ───────────────────────────────────────────────────────────────────────────────────


def test_a_loan_is_approved_by_a_clerk_if_it_is_large(stable: Stable) -> None:
    form = fresh("approval")
    stable.stub.PutUserTaskDef(
        PutUserTaskDefRequest(
            name=form, fields=[UserTaskField(name="ok", type=VariableType.BOOL, required=True)]
        )
    )

    def loan(thread: WorkflowThread) -> None:
        amount = thread.declare_int("amount").required()
        approved = thread.declare_bool("approved", True)

        def ask(body: WorkflowThread) -> None:
            answer = body.assign_user_task(form, user_group="clerks")
            approved.assign(answer.with_json_path("$.ok"))

        thread.do_if(amount.is_greater_than(1000), ask)
        thread.do_if(
            approved.is_equal_to(True),
            lambda body: body.execute("note", "paid"),
            lambda body: body.execute("note", "declined"),
        )

    spec = stable.put(fresh("loan"), loan)
    small = stable.run(spec, amount=10)
    stable.completed(small)
    assert stable.outputs(small) == ["paid"]

    large = stable.run(spec, amount=5000)
    asked = SearchUserTaskRunRequest(user_task_def_name=form, user_group="clerks")
    task = wait_until(
        lambda: next(iter(stable.stub.SearchUserTaskRun(asked).results), None), "a clerk is asked"
    )
    stable.stub.AssignUserTaskRun(AssignUserTaskRunRequest(user_task_run_id=task, user_id="ann"))
    stable.stub.CompleteUserTaskRun(
        CompleteUserTaskRunRequest(
            user_task_run_id=task, user_id="ann", results={"ok": to_variable_value(False)}
        )
    )
    stable.completed(large)
    assert stable.outputs(large) == ["declined"]


# ── failures ─────────────────────────────────────────────────────────────────────────────────


def test_a_saga_gives_the_money_back_when_the_seat_is_gone(stable: Stable) -> None:
    async def book_seat(trip: str) -> str:
        raise LHTaskException("seat-taken", f"no seat on {trip}")

    stable.work(task := fresh("book-seat"), book_seat)

    def saga(thread: WorkflowThread) -> None:
        thread.execute("note", "charged")
        seat = thread.execute(task, "flight 7")
        thread.handle_exception(
            seat, lambda handler: handler.execute("note", "refunded"), "seat-taken"
        )
        thread.execute("note", "told the customer")

    run = stable.run(stable.put(fresh("saga"), saga))
    stable.completed(run)
    notes = [task for task in stable.tasks(run) if task.task_def_id.name == "note"]
    said = [extract_value(task.attempts[-1].output) for task in notes]
    assert said == ["charged", "refunded", "told the customer"]


def test_a_task_is_tried_again_with_growing_pauses(stable: Stable) -> None:
    tries: list[int] = []

    async def flaky(context: WorkerContext) -> str:
        tries.append(context.attempt_number)
        if len(tries) < 3:
            raise ValueError("not yet")
        return "at last"

    stable.work(task := fresh("flaky"), flaky)
    backoff = ExponentialBackoffRetryPolicy(base_interval_ms=20, multiplier=2.0, max_delay_ms=1000)

    def trying(thread: WorkflowThread) -> None:
        thread.execute(task, retries=3, exponential_backoff=backoff)

    run = stable.run(stable.put(fresh("trying"), trying))
    stable.completed(run)
    assert tries == [0, 1, 2]
    statuses = [attempt.status for attempt in stable.tasks(run)[0].attempts]
    assert statuses == [TaskStatus.TASK_FAILED, TaskStatus.TASK_FAILED, TaskStatus.TASK_SUCCESS]


def test_a_failure_that_nobody_handles_ends_the_run(stable: Stable) -> None:
    def failing(thread: WorkflowThread) -> None:
        thread.fail("out-of-stock", "there is none left")

    run = stable.ended(stable.run(stable.put(fresh("failing"), failing)))
    assert run.status == LHStatus.EXCEPTION


def test_checkpoints_are_not_done_twice(stable: Stable) -> None:
    done: list[str] = []

    async def careful(context: WorkerContext) -> str:
        first = await context.execute_and_checkpoint(lambda _: done.append("first") or "one")
        if context.attempt_number == 0:
            raise ValueError("after the first step")
        return f"{first} and two"

    stable.work(task := fresh("careful"), careful)
    spec = stable.put(fresh("checked"), lambda thread: thread.execute(task, retries=1))
    run = stable.run(spec)
    stable.completed(run)
    assert done == ["first"]
    assert stable.outputs(run) == ["one and two"]


# ── events ───────────────────────────────────────────────────────────────────────────────────


def test_an_account_is_closed_when_no_proof_comes_in_time(stable: Stable) -> None:
    name = event_def(stable, fresh("verified"))

    def onboarding(thread: WorkflowThread) -> None:
        proof = thread.wait_for_event(name, timeout=1)
        thread.handle_error(
            proof, lambda handler: handler.execute("note", "closed"), LHErrorType.TIMEOUT
        )

    spec = stable.put(fresh("onboarding"), onboarding)
    late = stable.run(spec)
    in_time = stable.run(spec)
    send(stable, in_time, name, "passport")
    stable.completed(in_time)
    stable.completed(late)
    assert stable.outputs(in_time) == []
    assert stable.outputs(late) == ["closed"]


def test_a_payment_is_found_by_its_key(stable: Stable) -> None:
    name = fresh("paid")
    stable.stub.PutExternalEventDef(
        PutExternalEventDefRequest(name=name, correlated_event_config=CorrelatedEventConfig())
    )

    def shipping(thread: WorkflowThread) -> None:
        order = thread.declare_str("order").required()
        thread.execute("note", thread.wait_for_event(name, correlation_id=order))

    spec = stable.put(fresh("shipping"), shipping)
    runs = [stable.run(spec, order=f"order-{number}") for number in range(3)]
    for number in range(3):
        stable.stub.PutCorrelatedEvent(
            PutCorrelatedEventRequest(
                key=f"order-{number}",
                external_event_def_id=ExternalEventDefId(name=name),
                content=to_variable_value(f"euro {number}"),
            )
        )
    for run in runs:
        stable.completed(run)
    assert [stable.outputs(run) for run in runs] == [["euro 0"], ["euro 1"], ["euro 2"]]


def test_a_run_is_interrupted_and_goes_on(stable: Stable) -> None:
    poke, go = event_def(stable, fresh("poke")), event_def(stable, fresh("go"))

    def patient(thread: WorkflowThread) -> None:
        thread.add_interrupt_handler(poke, lambda handler: handler.execute("note", "poked"))
        thread.wait_for_event(go)
        thread.execute("note", "gone")

    run = stable.run(stable.put(fresh("patient"), patient))
    send(stable, run, poke, "x")
    wait_until(lambda: len(stable.tasks(run)) == 1, "the handler has run")
    send(stable, run, go, "x")
    stable.completed(run)
    assert stable.outputs(run) == ["poked", "gone"]


def test_a_client_waits_for_what_a_run_throws(stable: Stable) -> None:
    pong, ping = fresh("pong"), event_def(stable, fresh("ping"))

    def throwing(thread: WorkflowThread) -> None:
        thread.throw_event(pong, "early", auto_register=True, return_type=str)
        thread.wait_for_event(ping)
        thread.throw_event(pong, "late")

    spec = stable.put(fresh("throwing"), throwing)
    for run in (stable.run(spec) for _ in range(4)):
        wanted = AwaitWorkflowEventRequest(
            wf_run_id=run, event_def_ids=[WorkflowEventDefId(name=pong)]
        )
        early = stable.stub.AwaitWorkflowEvent(wanted, timeout=30)
        wanted.workflow_events_to_ignore.append(early.id)
        with ThreadPoolExecutor(1) as aside:
            late = aside.submit(stable.stub.AwaitWorkflowEvent, wanted, timeout=60)
            send(stable, run, ping, "x")
            contents = [extract_value(one.content) for one in (early, late.result())]
        assert contents == ["early", "late"]


# ── threads, children, time ──────────────────────────────────────────────────────────────────


def test_every_guest_is_greeted_by_a_thread_of_its_own(stable: Stable) -> None:
    def party(thread: WorkflowThread) -> None:
        guests = thread.declare_json_arr("guests")

        def each(child: WorkflowThread) -> None:
            child.execute("greet", child.declare_str("INPUT"))

        thread.wait_for_threads(thread.spawn_thread_for_each(guests, each, "each-guest"))

    run = stable.run(stable.put(fresh("party"), party), guests=["ann", "bob", "cy"])
    stable.completed(run)
    assert sorted(stable.outputs(run)) == ["hello, ann", "hello, bob", "hello, cy"]


def test_two_people_must_agree(stable: Stable) -> None:
    first, second = event_def(stable, fresh("first")), event_def(stable, fresh("second"))

    def agreeing(thread: WorkflowThread) -> None:
        threads = [
            thread.spawn_thread(lambda child, event=event: child.wait_for_event(event), event)
            for event in (first, second)
        ]
        thread.wait_for_threads(SpawnedThreads.from_list(*threads))
        thread.execute("note", "agreed")

    run = stable.run(stable.put(fresh("agreeing"), agreeing))
    send(stable, run, first, "yes")
    assert stable.stub.GetWfRun(run).status == LHStatus.RUNNING
    send(stable, run, second, "yes")
    stable.completed(run)
    assert stable.outputs(run) == ["agreed"]


def test_a_parent_waits_for_its_child(stable: Stable) -> None:
    def child(thread: WorkflowThread) -> None:
        name = thread.declare_str("name").required()
        thread.complete(thread.execute("greet", name))

    child_spec = stable.put(fresh("child"), child)

    def parent(thread: WorkflowThread) -> None:
        started = thread.run_wf(child_spec, {"name": "dee"})
        thread.execute("note", thread.wait_for_child_wf(started))

    run = stable.run(stable.put(fresh("parent"), parent))
    stable.completed(run)
    assert stable.outputs(run) == ["hello, dee"]
    children = stable.stub.SearchWfRun(
        SearchWfRunRequest(wf_spec_name=child_spec, parent_wf_run_id=run)
    )
    assert [one.parent_wf_run_id for one in children.results] == [run]


def test_a_run_sleeps(stable: Stable) -> None:
    def sleepy(thread: WorkflowThread) -> None:
        thread.sleep(1)
        thread.execute("note", "awake")

    began = time.monotonic()
    run = stable.run(stable.put(fresh("sleepy"), sleepy))
    stable.completed(run)
    assert time.monotonic() - began >= 1
    assert stable.outputs(run) == ["awake"]
