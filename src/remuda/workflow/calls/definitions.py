"""Calls that put and delete definitions."""

from __future__ import annotations

from littlehorse.model.external_event_pb2 import ExternalEventDef
from littlehorse.model.service_pb2 import (
    DeleteExternalEventDefRequest,
    DeleteStructDefRequest,
    DeleteTaskDefRequest,
    DeleteUserTaskDefRequest,
    DeleteWfSpecRequest,
    DeleteWorkflowEventDefRequest,
    PutExternalEventDefRequest,
    PutStructDefRequest,
    PutTaskDefRequest,
    PutUserTaskDefRequest,
    PutWfSpecRequest,
    PutWorkflowEventDefRequest,
)
from littlehorse.model.struct_def_pb2 import StructDef
from littlehorse.model.task_def_pb2 import TaskDef
from littlehorse.model.user_tasks_pb2 import UserTaskDef
from littlehorse.model.wf_spec_pb2 import WfSpec
from littlehorse.model.workflow_event_pb2 import WorkflowEventDef

from remuda.partition.machine import Rejection
from remuda.workflow.commands import Call
from remuda.workflow.definitions import plain, versioned, wf_specs
from remuda.workflow.definitions.definition import Refusal, Version, remove
from remuda.workflow.work import Work


def put_task_def(work: Work, request: PutTaskDefRequest, call: Call) -> TaskDef | Refusal:
    return plain.put_task_def(work, request)


def put_external_event_def(
    work: Work, request: PutExternalEventDefRequest, call: Call
) -> ExternalEventDef | Refusal:
    return plain.put_external_event_def(work, request)


def put_workflow_event_def(
    work: Work, request: PutWorkflowEventDefRequest, call: Call
) -> WorkflowEventDef | Refusal:
    return plain.put_workflow_event_def(work, request)


def put_user_task_def(
    work: Work, request: PutUserTaskDefRequest, call: Call
) -> UserTaskDef | Refusal:
    return versioned.put_user_task_def(work, request)


def put_struct_def(work: Work, request: PutStructDefRequest, call: Call) -> StructDef | Refusal:
    return versioned.put_struct_def(work, request)


def put_wf_spec(work: Work, request: PutWfSpecRequest, call: Call) -> WfSpec | Refusal:
    return wf_specs.put_wf_spec(work, request)


# ── deletes ──────────────────────────────────────────────────────────────────────────────────


def delete_task_def(work: Work, request: DeleteTaskDefRequest, call: Call) -> Refusal | None:
    return _delete(work, "task", "TaskDef", request.id.name, Version())


def delete_external_event_def(
    work: Work, request: DeleteExternalEventDefRequest, call: Call
) -> Refusal | None:
    return _delete(work, "event", "ExternalEventDef", request.id.name, Version())


def delete_workflow_event_def(
    work: Work, request: DeleteWorkflowEventDefRequest, call: Call
) -> Refusal | None:
    return _delete(work, "workflow-event", "WorkflowEventDef", request.id.name, Version())


def delete_user_task_def(
    work: Work, request: DeleteUserTaskDefRequest, call: Call
) -> Refusal | None:
    version = Version(request.id.version)
    return _delete(work, "user-task", "UserTaskDef", request.id.name, version)


def delete_struct_def(work: Work, request: DeleteStructDefRequest, call: Call) -> Refusal | None:
    return _delete(work, "struct", "StructDef", request.id.name, Version(request.id.version))


def delete_wf_spec(work: Work, request: DeleteWfSpecRequest, call: Call) -> Refusal | None:
    version = Version(request.id.major_version, request.id.revision)
    return _delete(work, "spec", "WfSpec", request.id.name, version)


def _delete(work: Work, kind: str, noun: str, name: str, version: Version) -> Refusal | None:
    if min(version.major, version.revision) >= 0 and remove(work, kind, name, version):
        return None
    return Refusal(Rejection.NOT_FOUND, f"there is no such {noun} {name}")
