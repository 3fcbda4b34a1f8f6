"""Who may do what: tenants, principals, and the rights that a principal has.

Tenants and principals are definitions that belong to no tenant. The tenant `default` and the
principal `anonymous` are there without being put, and may be put to change what they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from littlehorse.model.acls_pb2 import ACLAction, ACLResource, Principal, ServerACL, Tenant
from littlehorse.model.object_id_pb2 import PrincipalId, TenantId

EVERYWHERE = ""
"""The tenant under which tenants and principals are kept; no tenant has this name."""

DEFAULT = "default"
ANONYMOUS = "anonymous"


def default_tenant() -> Tenant:
    return Tenant(id=TenantId(id=DEFAULT))


def anonymous() -> Principal:
    """Who calls, as long as nobody has said what it may do: it may do everything."""
    principal = Principal(id=PrincipalId(id=ANONYMOUS))
    principal.global_acls.acls.add(
        resources=[ACLResource.ACL_ALL_RESOURCES], allowed_actions=[ACLAction.ALL_ACTIONS]
    )
    return principal


def may(
    principal: Principal, tenant: str, resource: ACLResource, action: ACLAction, name: str = ""
) -> bool:
    """Whether it may do this to what is called `name`: by its global rights, or the tenant's."""
    granted = [*principal.global_acls.acls]
    if tenant in principal.per_tenant_acls:
        granted += principal.per_tenant_acls[tenant].acls
    return _granted(granted, resource, action, name)


def can_change_principals(principal: Principal) -> bool:
    return _granted(
        principal.global_acls.acls, ACLResource.ACL_PRINCIPAL, ACLAction.WRITE_METADATA, ""
    )


def is_admin(principal: Principal) -> bool:
    return _granted(
        principal.global_acls.acls, ACLResource.ACL_ALL_RESOURCES, ACLAction.ALL_ACTIONS, ""
    )


def _granted(
    acls: Iterable[ServerACL], resource: ACLResource, action: ACLAction, name: str
) -> bool:
    return any(
        (ACLResource.ACL_ALL_RESOURCES in acl.resources or resource in acl.resources)
        and (ACLAction.ALL_ACTIONS in acl.allowed_actions or action in acl.allowed_actions)
        and _is_about(acl, name)
        for acl in acls
    )


def _is_about(acl: ServerACL, name: str) -> bool:
    if acl.HasField("name"):
        return acl.name == name
    return not acl.HasField("prefix") or (bool(name) and name.startswith(acl.prefix))
