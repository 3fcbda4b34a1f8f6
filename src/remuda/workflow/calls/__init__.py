"""Every call of the protocol that changes something: its request, and what answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import littlehorse.model.acls_pb2 as acls
import littlehorse.model.service_pb2 as service
import littlehorse.model.user_tasks_pb2 as people
from google.protobuf.message import Message

from remuda.workflow.calls import (
    access,
    definitions,
    events,
    runs,
    schedules,
    tasks,
    user_tasks,
)
from remuda.workflow.commands import Call
from remuda.workflow.definitions.definition import Refusal
from remuda.workflow.work import Work

Handle: TypeAlias = Callable[[Work, Any, Call], Message | Refusal | None]

DEFINING = frozenset(
    {
        "PutTaskDef",
        "PutExternalEventDef",
        "PutWorkflowEventDef",
        "PutUserTaskDef",
        "PutStructDef",
        "PutWfSpec",
    }
)
"""Calls whose requests are looked through before anything else: what they say is run later."""

CALLS: Mapping[str, tuple[type[Message], Handle]] = {
    # ── definitions, in their partition
    "PutTaskDef": (service.PutTaskDefRequest, definitions.put_task_def),
    "PutExternalEventDef": (
        service.PutExternalEventDefRequest,
        definitions.put_external_event_def,
    ),
    "PutWorkflowEventDef": (
        service.PutWorkflowEventDefRequest,
        definitions.put_workflow_event_def,
    ),
    "PutUserTaskDef": (service.PutUserTaskDefRequest, definitions.put_user_task_def),
    "PutStructDef": (service.PutStructDefRequest, definitions.put_struct_def),
    "PutWfSpec": (service.PutWfSpecRequest, definitions.put_wf_spec),
    "DeleteTaskDef": (service.DeleteTaskDefRequest, definitions.delete_task_def),
    "DeleteExternalEventDef": (
        service.DeleteExternalEventDefRequest,
        definitions.delete_external_event_def,
    ),
    "DeleteWorkflowEventDef": (
        service.DeleteWorkflowEventDefRequest,
        definitions.delete_workflow_event_def,
    ),
    "DeleteUserTaskDef": (service.DeleteUserTaskDefRequest, definitions.delete_user_task_def),
    "DeleteStructDef": (service.DeleteStructDefRequest, definitions.delete_struct_def),
    "DeleteWfSpec": (service.DeleteWfSpecRequest, definitions.delete_wf_spec),
    # ── tenants and principals, in the partition of the definitions
    "PutTenant": (acls.PutTenantRequest, access.put_tenant),
    "PutPrincipal": (acls.PutPrincipalRequest, access.put_principal),
    "DeletePrincipal": (acls.DeletePrincipalRequest, access.delete_principal),
    # ── runs, in the partition of the run
    "RunWf": (service.RunWfRequest, runs.run_wf),
    "StopWfRun": (service.StopWfRunRequest, runs.stop_wf_run),
    "ResumeWfRun": (service.ResumeWfRunRequest, runs.resume_wf_run),
    "RescueThreadRun": (service.RescueThreadRunRequest, runs.rescue_thread_run),
    "DeleteWfRun": (service.DeleteWfRunRequest, runs.delete_wf_run),
    "ReportTask": (service.ReportTaskRun, tasks.report_task),
    "PutCheckpoint": (service.PutCheckpointRequest, tasks.put_checkpoint),
    "PutExternalEvent": (service.PutExternalEventRequest, events.put_external_event),
    "DeleteExternalEvent": (service.DeleteExternalEventRequest, events.delete_external_event),
    # ── in the partition of the key
    "PutCorrelatedEvent": (service.PutCorrelatedEventRequest, events.put_correlated_event),
    "DeleteCorrelatedEvent": (
        service.DeleteCorrelatedEventRequest,
        events.delete_correlated_event,
    ),
    # ── in the partition of the schedule
    "ScheduleWf": (service.ScheduleWfRequest, schedules.schedule_wf),
    "DeleteScheduledWfRun": (
        service.DeleteScheduledWfRunRequest,
        schedules.delete_scheduled,
    ),
    # ── user tasks, in the partition of the run
    "AssignUserTaskRun": (people.AssignUserTaskRunRequest, user_tasks.assign_user_task),
    "CompleteUserTaskRun": (
        people.CompleteUserTaskRunRequest,
        user_tasks.complete_user_task,
    ),
    "CancelUserTaskRun": (people.CancelUserTaskRunRequest, user_tasks.cancel_user_task),
    "SaveUserTaskRunProgress": (
        people.SaveUserTaskRunProgressRequest,
        user_tasks.save_user_task,
    ),
    "PutUserTaskRunComment": (
        people.PutUserTaskRunCommentRequest,
        user_tasks.put_comment,
    ),
    "EditUserTaskRunComment": (
        people.EditUserTaskRunCommentRequest,
        user_tasks.edit_comment,
    ),
    "DeleteUserTaskRunComment": (
        people.DeleteUserTaskRunCommentRequest,
        user_tasks.delete_comment,
    ),
}
