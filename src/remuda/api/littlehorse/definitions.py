"""Calls on definitions: TaskDef, WfSpec, StructDef, UserTaskDef and those of events."""

# pyright: basic
# The requests are of many types, and have the fields that their messages say.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message
from littlehorse.model.object_id_pb2 import (
    ExternalEventDefId,
    StructDefId,
    TaskDefId,
    UserTaskDefId,
    WfSpecId,
    WorkflowEventDefId,
)
from littlehorse.model.service_pb2 import ValidateStructDefEvolutionResponse
from littlehorse.model.struct_def_pb2 import StructDef

from remuda.api.littlehorse.handlers import Asked, Desk, Handler, found, put
from remuda.api.littlehorse.listing import definitions_by_name
from remuda.workflow.definitions.versioned import incompatibility
from remuda.workflow.gateway import invalid


def _plain(kind: str, noun: str) -> Handler:
    """A definition that has no versions."""

    async def got(desk: Desk, asked: Asked, request: Any) -> Message:
        data = await desk.gateway.definition(asked.tenant, kind, request.name)
        return found(data, asked, f"{noun} {request.name}")

    return got


def _versioned(kind: str, noun: str) -> Handler:
    """A definition of one version; the newest if that is below 0."""

    async def got(desk: Desk, asked: Asked, request: Any) -> Message:
        if request.version < 0:
            data = await desk.gateway.latest(asked.tenant, kind, request.name)
            return found(data, asked, f"{noun} {request.name}")
        data = await desk.gateway.definition(asked.tenant, kind, request.name, request.version)
        return found(data, asked, f"{noun} {request.name} {request.version}")

    return got


async def _wf_spec(desk: Desk, asked: Asked, request: WfSpecId) -> Message:
    version = request.major_version, request.revision
    data = await desk.gateway.definition(asked.tenant, "spec", request.name, *version)
    return found(data, asked, f"WfSpec {request.name} {version[0]}.{version[1]}")


async def _latest_wf_spec(desk: Desk, asked: Asked, request: Any) -> Message:
    major = request.major_version if request.HasField("major_version") else -1
    data = await desk.gateway.latest(asked.tenant, "spec", request.name, major)
    return found(data, asked, f"WfSpec {request.name}")


async def _wf_specs(desk: Desk, asked: Asked, request: Any) -> Message:
    if request.HasField("task_def_name"):
        raise invalid("task_def_name: specs can be searched for by name and prefix only")
    return await _wf_specs_by_name(desk, asked, request)


_wf_specs_by_name = definitions_by_name(
    "spec",
    lambda name, major, revision: WfSpecId(name=name, major_version=major, revision=revision),
)


async def _latest_user_task_def(desk: Desk, asked: Asked, request: Any) -> Message:
    data = await desk.gateway.latest(asked.tenant, "user-task", request.name)
    return found(data, asked, f"UserTaskDef {request.name}")


async def _validate_struct_def(desk: Desk, asked: Asked, request: Any) -> Message:
    """Whether it may follow the newest that there is; if there is none, any may."""
    name = request.struct_def_id.name
    if not name:
        raise invalid("struct_def_id: a name is missing")
    data = await desk.gateway.latest(asked.tenant, "struct", name)
    is_valid = data is None or (
        incompatibility(StructDef.FromString(data).struct_def, request.struct_def) is None
    )
    return ValidateStructDefEvolutionResponse(is_valid=is_valid)


HANDLERS: Mapping[str, Handler] = {
    "PutTaskDef": put,
    "DeleteTaskDef": put,
    "GetTaskDef": _plain("task", "TaskDef"),
    "SearchTaskDef": definitions_by_name("task", lambda name, *_: TaskDefId(name=name)),
    "PutExternalEventDef": put,
    "DeleteExternalEventDef": put,
    "GetExternalEventDef": _plain("event", "ExternalEventDef"),
    "SearchExternalEventDef": definitions_by_name(
        "event", lambda name, *_: ExternalEventDefId(name=name)
    ),
    "PutWorkflowEventDef": put,
    "DeleteWorkflowEventDef": put,
    "GetWorkflowEventDef": _plain("workflow-event", "WorkflowEventDef"),
    "SearchWorkflowEventDef": definitions_by_name(
        "workflow-event", lambda name, *_: WorkflowEventDefId(name=name)
    ),
    "PutWfSpec": put,
    "DeleteWfSpec": put,
    "GetWfSpec": _wf_spec,
    "GetLatestWfSpec": _latest_wf_spec,
    "SearchWfSpec": _wf_specs,
    "PutUserTaskDef": put,
    "DeleteUserTaskDef": put,
    "GetUserTaskDef": _versioned("user-task", "UserTaskDef"),
    "GetLatestUserTaskDef": _latest_user_task_def,
    "SearchUserTaskDef": definitions_by_name(
        "user-task", lambda name, version, _: UserTaskDefId(name=name, version=version)
    ),
    "PutStructDef": put,
    "DeleteStructDef": put,
    "GetStructDef": _versioned("struct", "StructDef"),
    "SearchStructDef": definitions_by_name(
        "struct", lambda name, version, _: StructDefId(name=name, version=version)
    ),
    "ValidateStructDefEvolution": _validate_struct_def,
}
