# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Searches by tags: what is found, in order of creation, page by page; and what readers see."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from littlehorse.model.common_enums_pb2 import LHStatus, TaskStatus, VariableType
from littlehorse.model.common_wfspec_pb2 import VariableDef
from littlehorse.model.external_event_pb2 import CorrelatedEventConfig
from littlehorse.model.object_id_pb2 import (
    ExternalEventDefId,
    ExternalEventId,
    NodeRunId,
    TaskRunId,
    UserTaskRunId,
    VariableId,
    WfRunId,
    WorkflowEventDefId,
    WorkflowEventId,
)
from littlehorse.model.service_pb2 import (
    PutTaskDefRequest,
    SearchExternalEventRequest,
    SearchNodeRunRequest,
    SearchTaskRunRequest,
    SearchUserTaskRunRequest,
    SearchVariableRequest,
    SearchWfRunRequest,
    SearchWorkflowEventRequest,
    VariableMatch,
)
from littlehorse.model.type_definition_pb2 import ReturnType, TypeDefinition
from littlehorse.model.user_tasks_pb2 import UserTaskRunStatus
from littlehorse.model.variable_pb2 import Variable
from littlehorse.utils import to_variable_value
from littlehorse.workflow import WorkflowThread

from remuda.partition.machine import View
from remuda.workflow.data.values import data_of
from remuda.workflow.errors import BadValue
from remuda.workflow.readers import node_run_shown, task_run_shown, variable_shown
from remuda.workflow.searches import (
    Hit,
    ids,
    search_definitions,
    search_external_events,
    search_node_runs,
    search_runs,
    search_task_runs,
    search_user_tasks,
    search_variables,
    search_workflow_events,
)
from tests.workflow.world import TENANT, World, done

STR, INT, JSON_OBJ = VariableType.STR, VariableType.INT, VariableType.JSON_OBJ


@pytest.fixture
def world() -> World:
    world = World()
    world.task_def("step", STR)

    def body(thread: WorkflowThread) -> None:
        name = thread.add_variable("name", STR).searchable()
        thread.add_variable("data", JSON_OBJ).searchable_on("$.city", STR)
        thread.execute("step", name)
        name.assign("changed")

    spec = world.put("flow", body)
    for number, name in enumerate(["Ann", "Bob", "Ann"]):
        world.now_ms += 1000
        world.run(spec, f"run-{number}", name=name, data={"city": "Bath"})
    return world


def view(world: World) -> View:
    return world.partitions[0].view


def runs(world: World, start: Hit | None = None, limit: int = 100, **asked: object) -> list[str]:
    request = SearchWfRunRequest(**asked)
    hits = search_runs(view(world), TENANT, request, start, limit)
    return [one.id for one in ids(hits, WfRunId)]


def test_runs_are_found_by_spec_and_status_in_order_of_creation(world: World) -> None:
    assert runs(world, wf_spec_name="flow") == ["run-0", "run-1", "run-2"]
    world.work("step")
    assert runs(world, wf_spec_name="flow", status=LHStatus.COMPLETED) == ["run-0"]
    assert runs(world, wf_spec_name="flow", status=LHStatus.RUNNING) == ["run-1", "run-2"]
    assert runs(world, wf_spec_name="fl") == []


def test_runs_are_found_by_version(world: World) -> None:
    spec = world.put("flow", lambda thread: thread.execute("step", "x"))
    world.run(spec, "newer")
    found = {"wf_spec_name": "flow", "wf_spec_major_version": 0}
    assert runs(world, **found, wf_spec_revision=1) == ["newer"]
    assert len(runs(world, **found)) == 4
    assert runs(world, wf_spec_name="flow", wf_spec_major_version=1) == []


def test_runs_are_found_by_time(world: World) -> None:
    second = Timestamp(seconds=1002)
    assert runs(world, wf_spec_name="flow", earliest_start=second) == ["run-1", "run-2"]
    assert runs(world, wf_spec_name="flow", latest_start=second) == ["run-0", "run-1"]


def test_a_page_begins_where_the_last_one_ended(world: World) -> None:
    request = SearchWfRunRequest(wf_spec_name="flow")
    start: Hit | None = None
    seen: list[str] = []
    for _ in range(4):
        hits = search_runs(view(world), TENANT, request, start, 1)
        seen += [one.id for one in ids(hits, WfRunId)]
        start = hits[-1] if hits else start
    assert seen == ["run-0", "run-1", "run-2"]


def test_runs_are_found_by_the_values_of_their_variables(world: World) -> None:
    def asked(**values: str) -> dict[str, object]:
        matches = [
            VariableMatch(var_name=name.replace("__", "."), value=to_variable_value(value))
            for name, value in values.items()
        ]
        return {"wf_spec_name": "flow", "variable_filters": matches}

    assert runs(world, **asked(name="Ann")) == ["run-0", "run-2"]
    assert runs(world, **asked(name="Ann", data__city="Bath")) == ["run-0", "run-2"]
    assert runs(world, **asked(name="Ann", data__city="York")) == []
    world.work("step")
    assert runs(world, **asked(name="Ann")) == ["run-2"]
    assert runs(world, **asked(name="changed")) == ["run-0"]
    assert runs(world, **asked(name="changed"), status=LHStatus.RUNNING) == []


def test_a_search_for_runs_of_nothing_is_refused(world: World) -> None:
    with pytest.raises(BadValue, match="wf_spec_name"):
        runs(world)


def test_children_are_found_by_their_parent(world: World) -> None:
    spec = world.put("child", lambda thread: None)
    done(world.try_run(spec, "kid", parent="run-1"))
    assert runs(world, parent_wf_run_id=WfRunId(id="run-1")) == ["kid"]
    assert runs(world, parent_wf_run_id=WfRunId(id="run-2")) == []


def test_variables_are_found_by_value(world: World) -> None:
    request = SearchVariableRequest(
        wf_spec_name="flow", var_name="name", value=to_variable_value("Bob")
    )
    hits = search_variables(view(world), TENANT, request, None, 10)
    assert [(one.wf_run_id.id, one.name) for one in ids(hits, VariableId)] == [("run-1", "name")]


def test_task_runs_are_found_by_task_and_status(world: World) -> None:
    world.claim("step")

    def found(**asked: object) -> list[str]:
        request = SearchTaskRunRequest(task_def_name="step", **asked)
        hits = search_task_runs(view(world), TENANT, request, None, 10)
        return [one.wf_run_id.id for one in ids(hits, TaskRunId)]

    assert found() == ["run-0", "run-1", "run-2"]
    assert found(status=TaskStatus.TASK_RUNNING) == ["run-0"]
    assert found(status=TaskStatus.TASK_SCHEDULED) == ["run-1", "run-2"]


def test_events_and_those_who_wait_for_them_are_found(world: World) -> None:
    world.event_def("ping", STR)
    world.thrown_def("pong", STR)

    def body(thread: WorkflowThread) -> None:
        thread.wait_for_event("ping")
        thread.throw_event("pong", "x")

    spec = world.put("waits", body)
    world.run(spec, "one")
    world.run(spec, "two")
    ping = ExternalEventDefId(name="ping")

    def waiting() -> list[str]:
        request = SearchNodeRunRequest(external_event_def=ping, status=LHStatus.RUNNING)
        hits = search_node_runs(view(world), TENANT, request, None, 10)
        return [one.wf_run_id.id for one in ids(hits, NodeRunId)]

    assert waiting() == ["one", "two"]
    world.event("one", "ping", "a")
    world.event("one", "ping", "b")
    assert waiting() == ["two"]

    def events(**asked: bool) -> int:
        request = SearchExternalEventRequest(external_event_def_id=ping, **asked)
        hits = search_external_events(view(world), TENANT, request, None, 10)
        return len(ids(hits, ExternalEventId))

    assert (events(), events(is_claimed=True), events(is_claimed=False)) == (2, 1, 1)
    request = SearchWorkflowEventRequest(workflow_event_def_id=WorkflowEventDefId(name="pong"))
    thrown = ids(search_workflow_events(view(world), TENANT, request, None, 10), WorkflowEventId)
    assert [one.wf_run_id.id for one in thrown] == ["one"]


def test_user_tasks_are_found_by_person_group_definition_and_status(world: World) -> None:
    world.user_task_def("form")
    world.user_task_def("poll")
    people = {
        "a": ("form", "ann", "clerks"),
        "b": ("form", "bob", None),
        "c": ("poll", None, "all"),
    }

    def asking(name: str, user: str | None, group: str | None) -> Callable[[WorkflowThread], None]:
        def body(thread: WorkflowThread) -> None:
            thread.assign_user_task(name, user, group)

        return body

    for run, whom in people.items():
        world.run(world.put(f"asks-{run}", asking(*whom)), run)

    def found(**asked: object) -> list[str]:
        request = SearchUserTaskRunRequest(**asked)
        hits = search_user_tasks(view(world), TENANT, request, None, 10)
        return sorted(one.wf_run_id.id for one in ids(hits, UserTaskRunId))

    assert found() == ["a", "b", "c"]
    assert found(user_id="ann") == ["a"]
    assert found(user_group="all") == ["c"]
    assert found(user_task_def_name="form") == ["a", "b"]
    assert found(user_task_def_name="poll", user_id="ann") == []
    assert found(status=UserTaskRunStatus.UNASSIGNED) == ["c"]
    assert found(status=UserTaskRunStatus.ASSIGNED, user_id="bob") == ["b"]


def test_definitions_are_found_by_the_beginning_of_their_name(world: World) -> None:
    world.put("flow", lambda thread: None)
    world.put("flower", lambda thread: None)
    world.put("other", lambda thread: None)
    found = search_definitions(view(world), TENANT, "spec", "flow", None, 10)
    assert found == [("flow", 0, 0), ("flow", 0, 1), ("flower", 0, 0)]
    assert search_definitions(view(world), TENANT, "spec", "", found[1], 1) == [("flower", 0, 0)]
    assert search_definitions(view(world), TENANT, "task", "", None, 10) == [("step", 0, 0)]


# ── what readers see ─────────────────────────────────────────────────────────────────────────


def test_what_is_masked_is_not_shown_to_readers() -> None:
    world = World()
    hidden = TypeDefinition(primitive_type=STR, masked=True)
    request = PutTaskDefRequest(
        name="secret",
        input_vars=[VariableDef(name="word", type_def=hidden)],
        return_type=ReturnType(return_type=hidden),
    )
    done(world.define("PutTaskDef", request))
    world.event_def("knock", STR, correlated_event_config=CorrelatedEventConfig())

    def body(thread: WorkflowThread) -> None:
        word = thread.add_variable("word", STR).masked()
        thread.execute("secret", word)
        thread.wait_for_event("knock", correlation_id=word)

    run = world.run(world.put("hides", body), word="sesame")
    claimed = world.claim("secret")
    assert data_of(claimed.variables[0].value) == "sesame"
    done(world.succeed(claimed, "cave"))
    task = task_run_shown(world.task_runs(run)[0])
    assert data_of(task.input_variables[0].value) == "*****"
    assert data_of(task.attempts[0].output) == "*****"
    assert "sesame" not in str(node_run_shown(world.node(run)))
    stored = Variable(value=to_variable_value("sesame"), masked=True)
    assert data_of(variable_shown(stored).value) == "*****"
    assert data_of(stored.value) == "sesame"
