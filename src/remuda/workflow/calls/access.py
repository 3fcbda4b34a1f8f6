"""Calls that put tenants and principals. They belong to no tenant: theirs is `EVERYWHERE`."""

from __future__ import annotations

from littlehorse.model.acls_pb2 import (
    DeletePrincipalRequest,
    Principal,
    PutPrincipalRequest,
    PutTenantRequest,
    Tenant,
)

from remuda.partition.machine import Rejection
from remuda.workflow.access import ANONYMOUS, can_change_principals
from remuda.workflow.commands import Call
from remuda.workflow.definitions.definition import Refusal, Version, invalid, remove, store
from remuda.workflow.definitions.names import name_problem
from remuda.workflow.keys import definition_key
from remuda.workflow.work import Work


def put_tenant(work: Work, request: PutTenantRequest, call: Call) -> Tenant | Refusal:
    """The same again is the old one, with the configuration that is given now."""
    problem = name_problem(request.id)
    if problem is not None:
        return invalid(f"the id of a tenant: {problem}")
    tenant = Tenant(created_at=work.now)
    tenant.id.id = request.id
    if request.HasField("output_topic_config"):
        tenant.output_topic_config.CopyFrom(request.output_topic_config)
    data = work.state.get(definition_key(work.tenant, "tenant", request.id))
    if data is not None:
        old = Tenant.FromString(data)
        tenant.created_at.CopyFrom(old.created_at)
        if tenant == old:
            return old
    store(work, "tenant", request.id, Version(), tenant)
    return tenant


def put_principal(work: Work, request: PutPrincipalRequest, call: Call) -> Principal | Refusal:
    problem = name_problem(request.id)
    if problem is not None:
        return invalid(f"the id of a principal: {problem}")
    principal = Principal(created_at=work.now, global_acls=request.global_acls)
    principal.id.id = request.id
    for tenant in sorted(request.per_tenant_acls):
        principal.per_tenant_acls[tenant].CopyFrom(request.per_tenant_acls[tenant])
    if request.id == ANONYMOUS and not can_change_principals(principal):
        reason = (
            f"principal {ANONYMOUS} would lose the right to change principals, and nobody else "
            "could give it back: leave it WRITE_METADATA on ACL_PRINCIPAL in global_acls"
        )
        return Refusal(Rejection.PRECONDITION, reason)
    data = work.state.get(definition_key(work.tenant, "principal", request.id))
    if data is not None:
        old = Principal.FromString(data)
        principal.created_at.CopyFrom(old.created_at)
        if principal == old:
            return old
        if not request.overwrite:
            reason = f"there is a principal {request.id} already: set overwrite to change it"
            return Refusal(Rejection.EXISTS, reason)
    store(work, "principal", request.id, Version(), principal)
    return principal


def delete_principal(work: Work, request: DeletePrincipalRequest, call: Call) -> Refusal | None:
    if remove(work, "principal", request.id.id, Version()):
        return None
    return Refusal(Rejection.NOT_FOUND, f"there is no principal {request.id.id}")
