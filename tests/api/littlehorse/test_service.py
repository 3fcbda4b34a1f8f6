# The client has no types to rely on.
# pyright: basic, reportArgumentType=false
"""The service as a client sees it: what is found, what is refused and how, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from littlehorse.model.acls_pb2 import (
    ACLAction,
    ACLResource,
    DeletePrincipalRequest,
    PutPrincipalRequest,
    PutTenantRequest,
    ServerACL,
    ServerACLs,
)
from littlehorse.model.common_enums_pb2 import LHStatus, VariableType
from littlehorse.model.common_wfspec_pb2 import VariableDef
from littlehorse.model.object_id_pb2 import (
    NodeRunId,
    PrincipalId,
    ScheduledWfRunId,
    StructDefId,
    TaskDefId,
    TaskRunId,
    TenantId,
    WfRunId,
    WfSpecId,
)
from littlehorse.model.service_pb2 import (
    DeleteScheduledWfRunRequest,
    DeleteTaskDefRequest,
    DeleteWfSpecRequest,
    GetLatestWfSpecRequest,
    ListVariablesRequest,
    PutStructDefRequest,
    PutTaskDefRequest,
    PutWfSpecRequest,
    RegisterTaskWorkerRequest,
    ReportTaskRun,
    RunWfRequest,
    ScheduleWfRequest,
    SearchPrincipalRequest,
    SearchScheduledWfRunRequest,
    SearchTaskDefRequest,
    SearchTenantRequest,
    SearchWfRunRequest,
    SearchWfSpecRequest,
    ValidateStructDefEvolutionRequest,
)
from littlehorse.model.type_definition_pb2 import (
    InlineStructDef,
    StructFieldDef,
    TypeDefinition,
)
from littlehorse.utils import to_variable_value
from littlehorse.workflow import WorkflowThread

from remuda.api.littlehorse.service import UNIMPLEMENTED
from remuda.replica.state import Replica
from tests.api.littlehorse.stable import Stable, fresh, refused
from tests.api.nodes import addresses

pytestmark = pytest.mark.integration

Code = grpc.StatusCode


def waiting(thread: WorkflowThread) -> None:
    thread.declare_str("colour").searchable()
    thread.sleep(10_000)


@pytest.fixture
def spec(stable: Stable) -> str:
    return stable.put(fresh("waiting"), waiting)


# ── definitions ──────────────────────────────────────────────────────────────────────────────


def test_a_definition_is_put_found_and_deleted(stable: Stable) -> None:
    name = fresh("sweep")
    task = stable.stub.PutTaskDef(PutTaskDefRequest(name=name))
    assert stable.stub.GetTaskDef(TaskDefId(name=name)) == task
    assert stable.stub.PutTaskDef(PutTaskDefRequest(name=name)) == task
    found = stable.stub.SearchTaskDef(SearchTaskDefRequest(prefix=name))
    assert [one.name for one in found.results] == [name]
    stable.stub.DeleteTaskDef(DeleteTaskDefRequest(id=task.id))
    code, words = refused(lambda: stable.stub.GetTaskDef(task.id))
    assert (code, words) == (Code.NOT_FOUND, f"there is no TaskDef {name}")


def test_another_definition_of_the_same_name_is_refused(stable: Stable) -> None:
    name = fresh("paint")
    stable.stub.PutTaskDef(PutTaskDefRequest(name=name))
    other = PutTaskDefRequest(
        name=name,
        input_vars=[
            VariableDef(name="x", type_def=TypeDefinition(primitive_type=VariableType.INT))
        ],
    )
    code, _ = refused(lambda: stable.stub.PutTaskDef(other))
    assert code is Code.ALREADY_EXISTS


def test_a_changed_spec_is_a_new_version_and_is_run_at_once(stable: Stable) -> None:
    name = fresh("changing")
    stable.put(name, waiting)
    first = stable.stub.GetLatestWfSpec(GetLatestWfSpecRequest(name=name)).id

    def changed(thread: WorkflowThread) -> None:
        waiting(thread)
        thread.sleep(1)

    stable.put(name, changed)
    latest = stable.stub.GetLatestWfSpec(GetLatestWfSpecRequest(name=name)).id
    assert (latest.major_version, latest.revision) == (0, 1)
    runs = [stable.stub.GetWfRun(stable.run(name)) for _ in range(8)]
    assert [run.wf_spec_id for run in runs] == [latest] * 8
    old = stable.stub.RunWf(RunWfRequest(wf_spec_name=name, major_version=0, revision=0))
    assert old.wf_spec_id == first
    versions = stable.stub.SearchWfSpec(SearchWfSpecRequest(name=name)).results
    assert [*versions] == [first, latest]
    stable.stub.DeleteWfSpec(DeleteWfSpecRequest(id=latest))
    assert stable.stub.GetWfRun(stable.run(name)).wf_spec_id == first


def test_a_struct_may_only_change_so_that_its_values_fit(stable: Stable) -> None:
    name = fresh("car")
    text = StructFieldDef(field_type=TypeDefinition(primitive_type=VariableType.STR))
    number = StructFieldDef(field_type=TypeDefinition(primitive_type=VariableType.INT))
    stable.stub.PutStructDef(
        PutStructDefRequest(name=name, struct_def=InlineStructDef(fields={"colour": text}))
    )

    def fits(**fields: StructFieldDef) -> bool:
        return stable.stub.ValidateStructDefEvolution(
            ValidateStructDefEvolutionRequest(
                struct_def_id=StructDefId(name=name), struct_def=InlineStructDef(fields=fields)
            )
        ).is_valid

    assert fits(colour=text)
    assert not fits(colour=number)
    assert stable.stub.GetStructDef(StructDefId(name=name, version=-1)).id.version == 0


# ── searches and lists ───────────────────────────────────────────────────────────────────────


def test_runs_of_all_partitions_are_found_in_order_of_creation_page_by_page(
    stable: Stable, spec: str
) -> None:
    made = [stable.run(spec) for _ in range(12)]
    request = SearchWfRunRequest(wf_spec_name=spec, status=LHStatus.RUNNING, limit=5)
    pages: list[list[WfRunId]] = []
    while True:
        answer = stable.stub.SearchWfRun(request)
        pages.append([*answer.results])
        if not answer.HasField("bookmark"):
            break
        request.bookmark = answer.bookmark
    assert [len(page) for page in pages] == [5, 5, 2]
    found = [run for page in pages for run in page]
    times = [stable.stub.GetWfRun(run).start_time.ToMilliseconds() for run in found]
    assert times == sorted(times)
    assert sorted(run.id for run in found) == sorted(run.id for run in made)


def test_runs_are_found_by_the_value_of_a_variable(stable: Stable, spec: str) -> None:
    red = stable.run(spec, colour="red")
    stable.run(spec, colour="blue")
    request = SearchWfRunRequest(wf_spec_name=spec)
    request.variable_filters.add(var_name="colour", value=to_variable_value("red"))
    assert [*stable.stub.SearchWfRun(request).results] == [red]


def test_what_a_run_has_is_listed(stable: Stable, spec: str) -> None:
    run = stable.run(spec, colour="red")
    variables = stable.stub.ListVariables(ListVariablesRequest(wf_run_id=run)).results
    assert [(one.id.name, one.value.str) for one in variables] == [("colour", "red")]
    kinds = [node.WhichOneof("node_type") for node in stable.nodes(run)]
    assert kinds == ["entrypoint", "sleep"]


def test_a_schedule_is_found_and_deleted(stable: Stable, spec: str) -> None:
    schedule = stable.stub.ScheduleWf(
        ScheduleWfRequest(wf_spec_name=spec, cron_expression="0 0 1 1 *")
    )
    found = stable.stub.SearchScheduledWfRun(SearchScheduledWfRunRequest(wf_spec_name=spec))
    assert [*found.results] == [schedule.id]
    assert stable.stub.GetScheduledWfRun(schedule.id).wf_spec_id.name == spec
    stable.stub.DeleteScheduledWfRun(DeleteScheduledWfRunRequest(id=schedule.id))
    code, _ = refused(lambda: stable.stub.GetScheduledWfRun(schedule.id))
    assert code is Code.NOT_FOUND


# ── bad input ────────────────────────────────────────────────────────────────────────────────


def test_a_used_id_is_refused(stable: Stable, spec: str) -> None:
    run = stable.run(spec, fresh("only"))
    code, words = refused(lambda: stable.run(spec, run.id))
    assert code is Code.ALREADY_EXISTS
    assert run.id in words


@pytest.mark.parametrize(
    ("call", "request_", "code", "words"),
    [
        ("RunWf", RunWfRequest(wf_spec_name="lost"), Code.NOT_FOUND, "WfSpec lost"),
        (
            "RunWf",
            RunWfRequest(wf_spec_name="lost", major_version=1, revision=-2),
            Code.NOT_FOUND,
            "WfSpec lost 1.-2",
        ),
        ("GetWfRun", WfRunId(id="lost"), Code.NOT_FOUND, "run lost"),
        ("GetWfSpec", WfSpecId(name="lost", major_version=-1), Code.NOT_FOUND, "WfSpec lost"),
        (
            "GetNodeRun",
            NodeRunId(wf_run_id=WfRunId(id="lost"), position=-1),
            Code.INVALID_ARGUMENT,
            "below 0",
        ),
        ("PutTaskDef", PutTaskDefRequest(name="no spaces"), Code.INVALID_ARGUMENT, "no spaces"),
        ("PutTaskDef", PutTaskDefRequest(), Code.INVALID_ARGUMENT, "name is missing"),
        ("PutWfSpec", PutWfSpecRequest(name="empty"), Code.INVALID_ARGUMENT, "empty"),
        (
            "ReportTask",
            ReportTaskRun(task_run_id=TaskRunId(wf_run_id=WfRunId(id="lost"), task_guid="x")),
            Code.NOT_FOUND,
            "run lost",
        ),
        (
            "RegisterTaskWorker",
            RegisterTaskWorkerRequest(task_def_id=TaskDefId(name="lost")),
            Code.NOT_FOUND,
            "TaskDef lost",
        ),
        ("SearchWfRun", SearchWfRunRequest(), Code.INVALID_ARGUMENT, "wf_spec_name"),
        (
            "SearchWfRun",
            SearchWfRunRequest(wf_spec_name="x", bookmark=b"junk"),
            Code.INVALID_ARGUMENT,
            "bookmark",
        ),
        (
            "SearchWfRun",
            SearchWfRunRequest(wf_spec_name="x", limit=-1),
            Code.INVALID_ARGUMENT,
            "limit",
        ),
        ("GetScheduledWfRun", ScheduledWfRunId(), Code.NOT_FOUND, "schedule"),
        ("PutTenant", PutTenantRequest(id="a b"), Code.INVALID_ARGUMENT, "id of a tenant"),
    ],
)
def test_what_is_wrong_is_named_with_its_code(
    stable: Stable, call: str, request_: Any, code: grpc.StatusCode, words: str
) -> None:
    found, said = refused(lambda: getattr(stable.stub, call)(request_))
    assert found is code, said
    assert words in said


def test_variables_that_do_not_fit_are_refused_and_nothing_is_begun(stable: Stable) -> None:
    def strict(thread: WorkflowThread) -> None:
        thread.declare_int("count").required()

    spec = stable.put(fresh("strict"), strict)
    for variables in ({}, {"count": "many"}, {"count": 1, "other": 2}):
        code, words = refused(lambda given=variables: stable.run(spec, **given))
        assert code is Code.INVALID_ARGUMENT, words
    assert not stable.stub.SearchWfRun(SearchWfRunRequest(wf_spec_name=spec)).results


def test_junk_is_refused_and_the_node_goes_on(stable: Stable, replica: Replica) -> None:
    with grpc.insecure_channel(addresses(replica)[0]) as channel:
        for call in ("RunWf", "PutWfSpec", "ReportTask", "GetWfRun"):
            method = channel.unary_unary(f"/littlehorse.LittleHorse/{call}")
            code, words = refused(lambda method=method: method(b"\xff\xff\xff", timeout=30))
            assert code is Code.INVALID_ARGUMENT, words
    assert stable.stub.GetServerVersion(Empty()).major_version >= 1


@pytest.mark.parametrize("call", sorted(UNIMPLEMENTED))
def test_what_is_not_implemented_says_its_name(
    replica: Replica, channel: grpc.Channel, call: str
) -> None:
    method = channel.unary_unary(f"/littlehorse.LittleHorse/{call}")
    code, words = refused(lambda: method(b"", timeout=30))
    assert code is Code.UNIMPLEMENTED
    assert call in words


@pytest.fixture(scope="module")
def channel(replica: Replica) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(addresses(replica)[0]) as channel:
        yield channel


# ── tenants and principals ───────────────────────────────────────────────────────────────────


@pytest.fixture
def tenant(stable: Stable) -> str:
    name = fresh("tenant")
    stable.stub.PutTenant(PutTenantRequest(id=name))
    return name


@pytest.fixture
def stable_of(replica: Replica) -> Iterator[Callable[[str], Stable]]:
    made: list[Stable] = []

    def of(tenant: str) -> Stable:
        made.append(Stable(addresses(replica)[-1], LHC_TENANT_ID=tenant))
        return made[-1]

    yield of
    for stable in made:
        stable.close()


def test_tenants_do_not_see_each_other(
    stable: Stable, tenant: str, stable_of: Callable[[str], Stable], spec: str
) -> None:
    other = stable_of(tenant)
    run = stable.run(spec)
    assert refused(lambda: other.stub.GetWfRun(run))[0] is Code.NOT_FOUND
    assert refused(lambda: other.run(spec))[0] is Code.NOT_FOUND
    other.put(spec, waiting)
    again = other.run(spec, run.id)
    found = other.stub.SearchWfRun(SearchWfRunRequest(wf_spec_name=spec)).results
    assert [*found] == [again]
    names = [one.id for one in stable.stub.SearchTenant(SearchTenantRequest()).results]
    assert {"default", tenant} <= {*names}
    assert stable.stub.GetTenant(TenantId(id=tenant)).id.id == tenant


def test_an_unknown_tenant_is_refused(stable_of: Callable[[str], Stable]) -> None:
    code, words = refused(lambda: stable_of("nobody").stub.Whoami(Empty()))
    assert code is Code.NOT_FOUND
    assert "tenant nobody" in words


def test_a_principal_is_put_found_and_deleted(stable: Stable) -> None:
    name = fresh("ann")
    reader = ServerACLs(acls=[_acl(ACLResource.ACL_WORKFLOW, ACLAction.READ)])
    put = stable.stub.PutPrincipal(
        PutPrincipalRequest(id=name, per_tenant_acls={"default": reader})
    )
    assert stable.stub.GetPrincipal(PrincipalId(id=name)) == put
    search = SearchPrincipalRequest(tenant_id="default")
    assert PrincipalId(id=name) in stable.stub.SearchPrincipal(search).results
    admins = stable.stub.SearchPrincipal(SearchPrincipalRequest(is_admin=True)).results
    assert PrincipalId(id=name) not in admins
    changed = PutPrincipalRequest(id=name)
    assert refused(lambda: stable.stub.PutPrincipal(changed))[0] is Code.ALREADY_EXISTS
    stable.stub.DeletePrincipal(DeletePrincipalRequest(id=PrincipalId(id=name)))
    code, _ = refused(lambda: stable.stub.GetPrincipal(PrincipalId(id=name)))
    assert code is Code.NOT_FOUND


def test_rights_are_looked_at_on_every_call(
    stable: Stable, tenant: str, stable_of: Callable[[str], Stable], spec: str
) -> None:
    """`anonymous` may do everything in one tenant, and only read workflows everywhere else."""
    free = stable_of(tenant)
    free.put(spec, waiting)
    everything = _acl(ACLResource.ACL_ALL_RESOURCES, ACLAction.ALL_ACTIONS)
    stable.stub.PutPrincipal(
        PutPrincipalRequest(
            id="anonymous",
            overwrite=True,
            per_tenant_acls={tenant: ServerACLs(acls=[everything])},
            global_acls=ServerACLs(
                acls=[
                    _acl(ACLResource.ACL_PRINCIPAL, ACLAction.ALL_ACTIONS),
                    _acl(ACLResource.ACL_WORKFLOW, ACLAction.READ),
                ]
            ),
        )
    )
    try:
        code, words = refused(lambda: stable.run(spec))
        assert code is Code.PERMISSION_DENIED
        assert "RunWf" in words
        assert stable.stub.GetLatestWfSpec(GetLatestWfSpecRequest(name=spec)).id.name == spec
        code, _ = refused(lambda: stable.stub.GetTaskDef(TaskDefId(name="greet")))
        assert code is Code.PERMISSION_DENIED
        free.run(spec)
        assert len(stable.stub.Whoami(Empty()).global_acls.acls) == 2
    finally:
        stable.stub.DeletePrincipal(DeletePrincipalRequest(id=PrincipalId(id="anonymous")))
    stable.run(spec)


def test_anonymous_cannot_lock_itself_out(stable: Stable) -> None:
    code, words = refused(
        lambda: stable.stub.PutPrincipal(PutPrincipalRequest(id="anonymous", overwrite=True))
    )
    assert code is Code.FAILED_PRECONDITION
    assert "ACL_PRINCIPAL" in words


def _acl(resource: ACLResource, action: ACLAction) -> ServerACL:
    return ServerACL(resources=[resource], allowed_actions=[action])
