# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""A run from node to node: tasks, conditions, loops, mutations, outputs."""

from __future__ import annotations

import pytest
from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.common_wfspec_pb2 import (
    ExponentialBackoffRetryPolicy,
    VariableMutationType,
)
from littlehorse.model.external_event_pb2 import (
    CorrelatedEventConfig,
    ExternalEventRetentionPolicy,
)
from littlehorse.model.object_id_pb2 import WfRunId
from littlehorse.model.service_pb2 import DeleteWfRunRequest, RunWfRequest
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.wf_run_pb2 import WfRun
from littlehorse.model.wf_spec_pb2 import NopNode, WorkflowRetentionPolicy
from littlehorse.workflow import Workflow, WorkflowThread

from remuda.partition.machine import Rejection
from remuda.workflow.advance import STEPS_MAX
from remuda.workflow.commands import Call, encode
from remuda.workflow.data.masks import shown
from remuda.workflow.effects import RunEnded
from remuda.workflow.keys import PREFIX
from remuda.workflow.runs import ANCESTORS_MAX, RUNS_MAX
from tests.workflow.world import TENANT, World, done, refused

STR, INT, BOOL = VariableType.STR, VariableType.INT, VariableType.BOOL
JSON_OBJ, JSON_ARR, DOUBLE = VariableType.JSON_OBJ, VariableType.JSON_ARR, VariableType.DOUBLE


@pytest.fixture
def world() -> World:
    world = World()
    world.task_def("greet", STR, returns=STR)
    world.task_def("count", INT, returns=INT)
    world.task_def("note", STR)
    return world


def test_a_greeting_is_made_and_put_out(world: World) -> None:
    def greeting(thread: WorkflowThread) -> None:
        name = thread.add_variable("name", STR).required()
        message = thread.add_variable("message", STR)
        message.assign(thread.execute("greet", name))
        thread.complete(message)

    run = world.run(world.put("greeting", greeting), name="Ann")
    assert world.status(run) == "RUNNING"
    assert world.node(run).node_name == "1-greet-TASK"
    assert world.work("greet", "Hello, Ann") == ["Ann"]
    assert world.status(run) == "COMPLETED"
    assert world.variable(run, "message") == "Hello, Ann"
    assert world.output(run) == "Hello, Ann"
    assert world.kinds(run) == ["entrypoint-ENTRYPOINT", "greet-TASK", "complete-EXIT"]
    assert world.wf_run(run).HasField("end_time")


def test_a_spec_without_a_task_is_done_in_one_command(world: World) -> None:
    run = world.run(world.put("nothing", lambda thread: None))
    assert world.status(run) == "COMPLETED"


@pytest.mark.parametrize(
    ("amount", "task"), [(1500, "approve"), (500, "file"), (50, "refuse"), (100, "file")]
)
def test_a_loan_takes_the_first_edge_that_is_satisfied(
    world: World, amount: int, task: str
) -> None:
    for name in ("approve", "file", "refuse"):
        world.task_def(name)

    def loan(thread: WorkflowThread) -> None:
        asked = thread.add_variable("amount", INT).required()
        branch = thread.do_if(asked.is_greater_than(1000), lambda body: body.execute("approve"))
        branch.do_else_if(asked.is_greater_than_eq(100), lambda body: body.execute("file"))
        branch.do_else(lambda body: body.execute("refuse"))

    run = world.run(world.put("loan", loan), amount=amount)
    assert world.waiting() == [task]
    world.work(task)
    assert world.status(run) == "COMPLETED"


def test_a_loop_goes_round_while_its_condition_holds(world: World) -> None:
    def countdown(thread: WorkflowThread) -> None:
        left = thread.add_variable("left", INT, default_value=3)

        def body(inner: WorkflowThread) -> None:
            inner.execute("count", left)
            left.assign(left.subtract(1))

        thread.do_while(left.is_greater_than(0), body)
        thread.complete(left)

    run = world.run(world.put("countdown", countdown))
    seen = [world.work("count", 0) for _ in range(3)]
    assert seen == [[3], [2], [1]]
    assert (world.status(run), world.output(run)) == ("COMPLETED", 0)


def test_mutations_of_an_edge_see_those_before_them(world: World) -> None:
    def sums(thread: WorkflowThread) -> None:
        one = thread.add_variable("one", INT, default_value=1)
        two = thread.add_variable("two", INT, default_value=0)
        one.assign(one.add(10))
        two.assign(one.multiply(2))

    run = world.run(world.put("sums", sums))
    assert (world.variable(run, "one"), world.variable(run, "two")) == (11, 22)


def test_mutations_of_an_edge_apply_together_or_not_at_all(world: World) -> None:
    def broken(thread: WorkflowThread) -> None:
        one = thread.add_variable("one", INT, default_value=1)
        data = thread.add_variable("data", JSON_OBJ, default_value={"text": "x"})
        one.assign(2)
        one.assign(data.with_json_path("$.text"))

    run = world.run(world.put("broken", broken))
    assert world.status(run) == "ERROR"
    assert world.variable(run, "one") == 1
    assert world.node(run).failures[0].failure_name == "VAR_MUTATION_ERROR"


def test_json_is_read_and_written_by_path(world: World) -> None:
    def order(thread: WorkflowThread) -> None:
        found = thread.add_variable("order", JSON_OBJ)
        thread.execute("greet", found.with_json_path("$.customer.name"))
        thread.mutate(found.with_json_path("$.state"), VariableMutationType.ASSIGN, "sent")
        thread.mutate(found.with_json_path("$.items"), VariableMutationType.ADD, 3)
        thread.execute("note", found.with_json_path("$.nothing.here"))

    spec = world.put("order", order)
    run = world.run(spec, order={"customer": {"name": "Ann"}, "items": [1, 2]})
    assert world.work("greet", "") == ["Ann"]
    assert world.work("note") == [None]
    expected = {"customer": {"name": "Ann"}, "items": [1, 2, 3], "state": "sent"}
    assert world.variable(run, "order") == expected


def test_a_task_is_named_by_a_variable(world: World) -> None:
    def dynamic(thread: WorkflowThread) -> None:
        which = thread.add_variable("which", STR)
        thread.execute(thread.format("{0}", which), "x")

    spec = world.put("dynamic", dynamic)
    world.run(spec, which="greet")
    assert world.work("greet", "") == ["x"]
    lost = world.run(spec, which="nobody")
    assert world.status(lost) == "ERROR"
    assert "no TaskDef nobody" in world.node(lost).error_message


def test_what_a_worker_puts_out_must_be_what_the_task_promises(world: World) -> None:
    run = world.run(world.put("counts", lambda thread: thread.execute("count", 1)))
    done(world.succeed(world.claim("count"), "not a number"))
    assert world.status(run) == "ERROR"
    assert world.node(run).failures[0].failure_name == "VAR_SUB_ERROR"


def test_an_int_is_taken_where_a_double_or_text_is_wanted(world: World) -> None:
    world.task_def("scale", DOUBLE, STR)

    def scaled(thread: WorkflowThread) -> None:
        number = thread.add_variable("number", INT)
        thread.execute("scale", number, number)

    world.run(world.put("scaled", scaled), number=4)
    (double, text) = world.work("scale")
    assert (double, type(double), text) == (4.0, float, "4")


# ── running ──────────────────────────────────────────────────────────────────────────────────


def test_a_used_id_is_refused(world: World) -> None:
    spec = world.put("nothing", lambda thread: None)
    world.run(spec, "mine")
    assert refused(world.try_run(spec, "mine")).kind == Rejection.EXISTS


def test_an_id_that_the_proposer_has_chosen_is_taken_where_there_is_none(world: World) -> None:
    spec = world.put("nothing", lambda thread: None)
    answer = world.call(0, "RunWf", RunWfRequest(wf_spec_name=spec.id.name), chosen="abc")
    assert WfRun.FromString(done(answer)).id.id == "abc"


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({}, "name is required"),
        ({"name": None}, "name is required"),
        ({"name": "x", "age": "old"}, "age: expected INT, got STR"),
        ({"name": "x", "size": 3}, "no variable size"),
    ],
)
def test_variables_that_do_not_fit_are_refused_by_name(
    world: World, variables: dict[str, object], reason: str
) -> None:
    def person(thread: WorkflowThread) -> None:
        thread.add_variable("name", STR).required()
        thread.add_variable("age", INT)

    outcome = refused(world.try_run(world.put("person", person), "p", variables))
    assert outcome.kind == Rejection.INVALID
    assert reason in outcome.reason


def test_a_spec_that_has_not_come_to_the_partition_is_asked_for_again(world: World) -> None:
    outcome = refused(world.call(0, "RunWf", RunWfRequest(wf_spec_name="x", id="r")))
    assert outcome.kind == Rejection.STALE


def test_a_spec_that_spins_is_stopped(world: World) -> None:
    def spins(thread: WorkflowThread) -> None:
        number = thread.add_variable("number", INT, default_value=0)

        def body(inner: WorkflowThread) -> None:
            inner.add_node("nop", NopNode())
            number.assign(number.add(1))

        thread.do_while(number.is_greater_than_eq(0), body)

    run = world.run(world.put("spins", spins))
    assert world.status(run) == "ERROR"
    assert "spins" in world.wf_run(run).thread_runs[0].error_message
    assert len(world.nodes(run)) == STEPS_MAX + 2


def test_many_threads_are_no_spin(world: World) -> None:
    def many(thread: WorkflowThread) -> None:
        items = thread.add_variable("items", JSON_ARR)
        spawned = thread.spawn_thread_for_each(items, lambda child: None, "each")
        thread.wait_for_threads(spawned)

    run = world.run(world.put("many", many), items=list(range(STEPS_MAX + 200)))
    assert world.status(run) == "COMPLETED"


def test_a_spec_that_runs_itself_is_stopped(world: World) -> None:
    """However deep it goes, and however wide."""
    deep = world.put("deep", lambda thread: thread.run_wf("deep"))
    world.run(deep, "first")
    assert sum(isinstance(effect, RunEnded) for effect in world.effects) == ANCESTORS_MAX + 1

    def wide(thread: WorkflowThread) -> None:
        for _ in range(RUNS_MAX):
            thread.run_wf("deep")

    run = world.run(world.put("wide", wide), "second")
    assert world.status(run) == "ERROR"
    assert "runs begun at once" in world.node(run).error_message


# ── masks, retention, deletion ───────────────────────────────────────────────────────────────


def test_a_masked_variable_is_kept_and_marked(world: World) -> None:
    def secret(thread: WorkflowThread) -> None:
        word = thread.add_variable("word", STR).masked()
        thread.execute("note", word)

    run = world.run(world.put("secret", secret), word="sesame")
    assert world.variable(run, "word") == "sesame"
    assert world.work("note") == ["sesame"]
    assert shown(VariableValue(str="sesame"), True) == VariableValue(str="*****")
    assert shown(VariableValue(str="sesame"), False) == VariableValue(str="sesame")
    assert shown(VariableValue(), True) == VariableValue()


def of_run(world: World) -> list[bytes]:
    """Every key that a run has left behind; definitions are not of a run."""
    keep = (PREFIX + b"d", PREFIX + b"l")
    return [k for k, _ in world.partitions[0].items if k[:1] == PREFIX and k[:2] not in keep]


def test_a_deleted_run_leaves_nothing(world: World) -> None:
    """Neither objects nor tags nor timers, wherever it was when it went."""
    world.event_def("ping", STR)
    world.event_def("sign", STR, correlated_event_config=CorrelatedEventConfig())
    world.event_def("rumour", retention_policy=ExternalEventRetentionPolicy(seconds_after_put=9))
    world.user_task_def("form")
    backoff = ExponentialBackoffRetryPolicy(base_interval_ms=1000)

    def busy(thread: WorkflowThread) -> None:
        name = thread.add_variable("name", STR).searchable()
        thread.spawn_thread(lambda child: child.execute("greet", "x"), "claimed")
        thread.spawn_thread(lambda child: child.execute("greet", "y"), "scheduled")
        thread.spawn_thread(lambda child: child.wait_for_event("ping", timeout=60), "waits")
        thread.spawn_thread(lambda child: child.wait_for_event("sign", correlation_id=name), "key")
        thread.spawn_thread(lambda child: child.sleep(60), "sleeps")

        def asks(child: WorkflowThread) -> None:
            task = child.assign_user_task("form", "ann", "all")
            child.cancel_user_task_run_after(task, 60)
            child.cancel_user_task_run_after_assignment(task, 60)

        thread.spawn_thread(asks, "asks")
        thread.execute("note", "z", retries=3, exponential_backoff=backoff)

    run = world.run(world.put("busy", busy), name="Ann")
    world.event(run, "rumour")
    world.claim("greet")
    done(world.fail(world.claim("note")))
    assert len(of_run(world)) > 40
    request = DeleteWfRunRequest(id=WfRunId(id=run))
    done(world.at_run(run, "DeleteWfRun", request))
    assert of_run(world) == []
    assert world.partitions[0].next_due_ms is None
    assert refused(world.at_run(run, "DeleteWfRun", request)).kind == Rejection.NOT_FOUND


def test_a_run_is_kept_as_long_as_its_spec_says(world: World) -> None:
    workflow = Workflow("short", lambda thread: None)
    workflow.with_retention_policy(WorkflowRetentionPolicy(seconds_after_wf_termination=30))
    world.run(world.put_workflow(workflow))
    world.pass_time(29)
    assert of_run(world)
    world.pass_time(2)
    assert of_run(world) == []


def test_tenants_do_not_see_each_other(world: World) -> None:
    spec = world.put("nothing", lambda thread: None)
    world.run(spec, "mine")
    request = DeleteWfRunRequest(id=WfRunId(id="mine")).SerializeToString()
    outcome = world.apply(0, Call("another", "DeleteWfRun", request))
    assert refused(outcome).kind == Rejection.NOT_FOUND
    assert world.status("mine") == "COMPLETED"
    assert TENANT != "another"


def test_junk_is_refused(world: World) -> None:
    partition = world.partitions[0]
    assert refused(partition.apply("workflow", b"\xff\x00junk")).kind == Rejection.INVALID
    for call in (Call(TENANT, "RunWf", b"\xff\xff\xff"), Call(TENANT, "NoSuchCall", b"")):
        assert refused(partition.apply("workflow", encode(call))).kind == Rejection.INVALID
