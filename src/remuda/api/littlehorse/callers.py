"""Who calls, for which tenant, and whether that is allowed.

Nodes take calls without credentials, so every caller is the principal `anonymous`. It may do
everything until somebody puts that principal with fewer rights.
"""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import grpc.aio
from littlehorse.model.acls_pb2 import ACLAction, ACLResource, Principal
from msgspec import Struct

from remuda.errors import NotAllowed
from remuda.workflow.access import ANONYMOUS, DEFAULT, EVERYWHERE, anonymous, may
from remuda.workflow.announcements import Announcements
from remuda.workflow.effects import DefinitionChanged
from remuda.workflow.gateway import Gateway, missing

TENANT = "tenantid"
_KEPT_S = 1.0
"""A node that owns no partition hears of no change; it looks again after this time."""

_ROLES = frozenset({"tenant", "principal"})


class Caller(Struct, frozen=True):
    principal: Principal
    tenant: str


class Callers:
    def __init__(self, gateway: Gateway, announcements: Announcements) -> None:
        self._gateway = gateway
        self._known: dict[str, tuple[float, Caller]] = {}
        announcements.on_defined(self._note)

    async def caller(self, context: grpc.aio.ServicerContext) -> Caller:
        """Whoever makes this call. Raises if there is no such tenant."""
        given = dict(context.invocation_metadata() or ()).get(TENANT, "")
        tenant = str(given) or DEFAULT
        known = self._known.get(tenant)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        if tenant != DEFAULT and not await self._stored("tenant", tenant):
            raise missing(f"there is no tenant {tenant[:120]}: put it first")
        data = await self._stored("principal", ANONYMOUS)
        principal = anonymous() if data is None else Principal.FromString(data)
        caller = Caller(principal, tenant)
        self._known[tenant] = time.monotonic() + _KEPT_S, caller
        return caller

    def forget(self) -> None:
        """Rights may have changed."""
        self._known.clear()

    async def _stored(self, kind: str, name: str) -> bytes | None:
        return await self._gateway.definition(EVERYWHERE, kind, name)

    def _note(self, changed: DefinitionChanged) -> None:
        if changed.kind in _ROLES:
            self.forget()


# ── what a call needs ────────────────────────────────────────────────────────────────────────


class Right(Struct, frozen=True):
    resource: ACLResource
    action: ACLAction


def check(caller: Caller, call: str, right: Right | None, request: Any) -> None:
    """Raises `NotAllowed`."""
    if right is None:
        return
    name = subject(request)
    if not may(caller.principal, caller.tenant, right.resource, right.action, name):
        action, resource = ACLAction.Name(right.action), ACLResource.Name(right.resource)
        raise NotAllowed(
            f"principal {caller.principal.id.id} may not call {call} for tenant {caller.tenant}: "
            f"it needs {action} on {resource}"
        )


def subject(request: Any) -> str:
    """The name of the definition that a call is about, where it says one."""
    for field, inner in _NAMED:
        if field in request.DESCRIPTOR.fields_by_name:
            value = getattr(request, field)
            if not inner:
                return value if isinstance(value, str) else ""
            if inner in value.DESCRIPTOR.fields_by_name:
                return getattr(value, inner)
    return ""


_NAMED = (
    ("wf_spec_name", ""),
    ("task_def_name", ""),
    ("task_def_id", "name"),
    ("external_event_def_id", "name"),
    ("workflow_event_def_id", "name"),
    ("name", ""),
)

_R, _X, _W = ACLAction.READ, ACLAction.RUN, ACLAction.WRITE_METADATA
_SPEC, _TASK = ACLResource.ACL_WORKFLOW, ACLResource.ACL_TASK
_EVENT, _PERSON = ACLResource.ACL_EXTERNAL_EVENT, ACLResource.ACL_USER_TASK
_THROWN, _STRUCT = ACLResource.ACL_WORKFLOW_EVENT, ACLResource.ACL_STRUCT
_TENANT, _PRINCIPAL = ACLResource.ACL_TENANT, ACLResource.ACL_PRINCIPAL

_BY_RIGHT: Mapping[tuple[ACLResource, ACLAction], str] = {
    (_SPEC, _W): "PutWfSpec DeleteWfSpec",
    (_SPEC, _R): (
        "GetWfSpec GetLatestWfSpec SearchWfSpec GetWfRun SearchWfRun GetNodeRun ListNodeRuns "
        "SearchNodeRun GetVariable ListVariables SearchVariable GetScheduledWfRun "
        "SearchScheduledWfRun"
    ),
    (_SPEC, _X): (
        "RunWf StopWfRun ResumeWfRun RescueThreadRun DeleteWfRun ScheduleWf DeleteScheduledWfRun"
    ),
    (_TASK, _W): "PutTaskDef DeleteTaskDef",
    (_TASK, _R): "GetTaskDef SearchTaskDef GetTaskRun ListTaskRuns SearchTaskRun GetCheckpoint",
    (_TASK, _X): "RegisterTaskWorker PollTask ReportTask PutCheckpoint",
    (_EVENT, _W): "PutExternalEventDef DeleteExternalEventDef",
    (_EVENT, _R): (
        "GetExternalEventDef SearchExternalEventDef GetExternalEvent ListExternalEvents "
        "SearchExternalEvent GetCorrelatedEvent SearchCorrelatedEvent"
    ),
    (_EVENT, _X): "PutExternalEvent PutCorrelatedEvent DeleteCorrelatedEvent",
    (_THROWN, _W): "PutWorkflowEventDef DeleteWorkflowEventDef",
    (_THROWN, _R): (
        "GetWorkflowEventDef SearchWorkflowEventDef GetWorkflowEvent ListWorkflowEvents "
        "SearchWorkflowEvent AwaitWorkflowEvent"
    ),
    (_PERSON, _W): "PutUserTaskDef DeleteUserTaskDef",
    (_PERSON, _R): (
        "GetUserTaskDef GetLatestUserTaskDef SearchUserTaskDef GetUserTaskRun ListUserTaskRuns "
        "SearchUserTaskRun"
    ),
    (_PERSON, _X): (
        "AssignUserTaskRun CompleteUserTaskRun CancelUserTaskRun SaveUserTaskRunProgress "
        "PutUserTaskRunComment EditUserTaskRunComment DeleteUserTaskRunComment"
    ),
    (_STRUCT, _W): "PutStructDef DeleteStructDef",
    (_STRUCT, _R): "GetStructDef SearchStructDef ValidateStructDefEvolution",
    (_TENANT, _W): "PutTenant",
    (_TENANT, _R): "GetTenant SearchTenant",
    (_PRINCIPAL, _W): "PutPrincipal DeletePrincipal",
    (_PRINCIPAL, _R): "GetPrincipal SearchPrincipal",
}

RIGHTS: Mapping[str, Right] = {
    call: Right(*right) for right, calls in _BY_RIGHT.items() for call in calls.split()
}
FREE = frozenset({"Whoami", "GetServerVersion"})
"""Calls that need no right."""
