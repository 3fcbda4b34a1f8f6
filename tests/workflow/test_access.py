"""Who may do what: rights for all tenants and for one, for a name and for a prefix."""

from __future__ import annotations

from google.protobuf.message import Message
from littlehorse.model.acls_pb2 import (
    ACLAction,
    ACLResource,
    DeletePrincipalRequest,
    Principal,
    PutPrincipalRequest,
    PutTenantRequest,
    ServerACL,
    Tenant,
)
from littlehorse.model.object_id_pb2 import PrincipalId

from remuda.partition.machine import Applied, Outcome, Rejected, Rejection
from remuda.workflow.access import EVERYWHERE, anonymous, can_change_principals, is_admin, may
from remuda.workflow.commands import Call
from remuda.workflow.keys import definition_key
from tests.workflow.world import World

SPEC, TASK = ACLResource.ACL_WORKFLOW, ACLResource.ACL_TASK
READ, RUN = ACLAction.READ, ACLAction.RUN


def principal(*acls: ServerACL, tenant: str = "") -> Principal:
    found = Principal()
    granted = found.per_tenant_acls[tenant] if tenant else found.global_acls
    granted.acls.extend(acls)
    return found


def test_anonymous_may_do_everything_until_somebody_says_otherwise() -> None:
    assert may(anonymous(), "any", TASK, ACLAction.WRITE_METADATA, "x")
    assert is_admin(anonymous())
    assert can_change_principals(anonymous())


def test_a_right_is_for_its_resource_and_its_action() -> None:
    reader = principal(ServerACL(resources=[SPEC], allowed_actions=[READ]))
    assert may(reader, "any", SPEC, READ)
    assert not may(reader, "any", SPEC, RUN)
    assert not may(reader, "any", TASK, READ)
    assert not is_admin(reader)


def test_a_right_in_a_tenant_is_for_that_tenant() -> None:
    local = principal(ServerACL(resources=[SPEC], allowed_actions=[READ]), tenant="here")
    assert may(local, "here", SPEC, READ)
    assert not may(local, "there", SPEC, READ)


def test_a_right_may_be_for_a_name_or_a_prefix() -> None:
    named = principal(ServerACL(resources=[SPEC], allowed_actions=[RUN], name="order"))
    assert may(named, "any", SPEC, RUN, "order")
    assert not may(named, "any", SPEC, RUN, "orders")
    assert not may(named, "any", SPEC, RUN)
    begun = principal(ServerACL(resources=[SPEC], allowed_actions=[RUN], prefix="or"))
    assert may(begun, "any", SPEC, RUN, "orders")
    assert not may(begun, "any", SPEC, RUN, "bill")
    assert not may(begun, "any", SPEC, RUN)


# ── as commands ──────────────────────────────────────────────────────────────────────────────


def put(world: World, name: str, request: Message) -> Outcome:
    data = request.SerializeToString(deterministic=True)
    return world.apply(0, Call(EVERYWHERE, name, data))


def test_a_tenant_is_learned_by_every_partition() -> None:
    world = World(partitions=3)
    outcome = put(world, "PutTenant", PutTenantRequest(id="acme"))
    assert isinstance(outcome, Applied)
    key = definition_key(EVERYWHERE, "tenant", "acme")
    for partition in world.partitions:
        data = partition.view.get(key)
        assert data is not None
        assert Tenant.FromString(data).id.id == "acme"


def test_the_same_tenant_again_is_the_old_one() -> None:
    world = World()
    first = put(world, "PutTenant", PutTenantRequest(id="acme"))
    world.pass_time(5)
    assert isinstance(first, Applied)
    again = put(world, "PutTenant", PutTenantRequest(id="acme"))
    assert isinstance(again, Applied)
    assert again.answer == first.answer


def test_a_principal_is_changed_only_on_purpose() -> None:
    world = World()
    request = PutPrincipalRequest(id="ann")
    put(world, "PutPrincipal", request)
    request.global_acls.acls.add(resources=[SPEC], allowed_actions=[READ])
    refused = put(world, "PutPrincipal", request)
    assert isinstance(refused, Rejected)
    assert refused.kind is Rejection.EXISTS
    request.overwrite = True
    changed = put(world, "PutPrincipal", request)
    assert isinstance(changed, Applied)
    assert may(Principal.FromString(changed.answer), "any", SPEC, READ)
    gone = DeletePrincipalRequest(id=PrincipalId(id="ann"))
    assert isinstance(put(world, "DeletePrincipal", gone), Applied)
    missing = put(world, "DeletePrincipal", gone)
    assert isinstance(missing, Rejected)
    assert missing.kind is Rejection.NOT_FOUND


def test_anonymous_keeps_the_right_to_change_principals() -> None:
    refused = put(World(), "PutPrincipal", PutPrincipalRequest(id="anonymous", overwrite=True))
    assert isinstance(refused, Rejected)
    assert refused.kind is Rejection.PRECONDITION
