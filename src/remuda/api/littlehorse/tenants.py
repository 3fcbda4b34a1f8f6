"""Calls on tenants and principals, who the caller is, and what it talks to."""

# pyright: basic
# The requests are of many types, and have the fields that their messages say.

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from google.protobuf.message import Message
from littlehorse.model.acls_pb2 import Principal
from littlehorse.model.object_id_pb2 import PrincipalId, TenantId
from littlehorse.model.service_pb2 import LittleHorseVersion

from remuda.api.littlehorse.handlers import RESPONSES, Asked, Desk, Handler, found
from remuda.api.littlehorse.listing import bookmark_of, limit_of, page
from remuda.workflow.access import (
    ANONYMOUS,
    DEFAULT,
    EVERYWHERE,
    anonymous,
    default_tenant,
    is_admin,
)
from remuda.workflow.data.casts import ms_of_timestamp

_BATCH = 200


async def _put(desk: Desk, asked: Asked, request: Message) -> Message:
    data = await desk.gateway.call(EVERYWHERE, asked.call, request)
    return RESPONSES[asked.call].FromString(data)


async def _tenant(desk: Desk, asked: Asked, request: Any) -> Message:
    data = await desk.gateway.definition(EVERYWHERE, "tenant", request.id)
    if data is None and request.id == DEFAULT:
        return default_tenant()
    return found(data, asked, f"tenant {request.id}")


async def _principal(desk: Desk, asked: Asked, request: Any) -> Message:
    data = await desk.gateway.definition(EVERYWHERE, "principal", request.id)
    if data is None and request.id == ANONYMOUS:
        return anonymous()
    return found(data, asked, f"principal {request.id}")


async def _tenants(desk: Desk, asked: Asked, request: Any) -> Message:
    names = {DEFAULT, *await _names(desk, "tenant")}
    return _page(asked, request, names, TenantId)


async def _principals(desk: Desk, asked: Asked, request: Any) -> Message:
    names = {ANONYMOUS, *await _names(desk, "principal")}
    chosen = {name for name in names if _fits(await _principal_named(desk, name), request)}
    return _page(asked, request, chosen, PrincipalId)


async def _whoami(desk: Desk, asked: Asked, request: Message) -> Message:
    return asked.caller.principal


async def _server_version(desk: Desk, asked: Asked, request: Message) -> Message:
    """That of the protocol which is spoken."""
    major, minor, patch = version("littlehorse-client").split(".")[:3]
    return LittleHorseVersion(
        major_version=int(major), minor_version=int(minor), patch_version=int(patch)
    )


# ── inside ───────────────────────────────────────────────────────────────────────────────────


async def _names(desk: Desk, kind: str) -> list[str]:
    names: list[str] = []
    start = None
    while True:
        some = await desk.gateway.definitions(EVERYWHERE, kind, "", start, _BATCH)
        names += [name for name, _, _ in some]
        if len(some) < _BATCH:
            return names
        start = some[-1]


async def _principal_named(desk: Desk, name: str) -> Principal:
    data = await desk.gateway.definition(EVERYWHERE, "principal", name)
    return anonymous() if data is None else Principal.FromString(data)


def _fits(principal: Principal, request: Any) -> bool:
    if request.HasField("is_admin") and request.is_admin != is_admin(principal):
        return False
    if request.HasField("tenant_id") and request.tenant_id not in principal.per_tenant_acls:
        return False
    at_ms = ms_of_timestamp(principal.created_at)
    if request.HasField("earliest_start") and at_ms < ms_of_timestamp(request.earliest_start):
        return False
    return not request.HasField("latest_start") or at_ms <= ms_of_timestamp(request.latest_start)


def _page(asked: Asked, request: Any, names: set[str], kind: Any) -> Message:
    limit = limit_of(request)
    start = bookmark_of(request, str)
    rest = sorted(name for name in names if start is None or name > start)
    results = [kind(id=name) for name in rest[:limit]]
    return page(asked, results, rest[limit - 1] if len(rest) > limit else None)


HANDLERS: Mapping[str, Handler] = {
    "PutTenant": _put,
    "GetTenant": _tenant,
    "SearchTenant": _tenants,
    "PutPrincipal": _put,
    "DeletePrincipal": _put,
    "GetPrincipal": _principal,
    "SearchPrincipal": _principals,
    "Whoami": _whoami,
    "GetServerVersion": _server_version,
}
