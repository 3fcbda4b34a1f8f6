"""Which partition each call is for, and which calls may be asked twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from littlehorse.model.object_id_pb2 import WfRunId

from remuda.workflow.placement import (
    DEFINITIONS,
    partition_of_correlation,
    partition_of_run,
    partition_of_schedule,
)

_RUN_OF: Mapping[str, Callable[[Any], WfRunId]] = {
    "StopWfRun": lambda request: request.wf_run_id,
    "ResumeWfRun": lambda request: request.wf_run_id,
    "RescueThreadRun": lambda request: request.wf_run_id,
    "DeleteWfRun": lambda request: request.id,
    "ReportTask": lambda request: request.task_run_id.wf_run_id,
    "PutCheckpoint": lambda request: request.task_run_id.wf_run_id,
    "PutExternalEvent": lambda request: request.wf_run_id,
    "DeleteExternalEvent": lambda request: request.id.wf_run_id,
    "AssignUserTaskRun": lambda request: request.user_task_run_id.wf_run_id,
    "CompleteUserTaskRun": lambda request: request.user_task_run_id.wf_run_id,
    "CancelUserTaskRun": lambda request: request.user_task_run_id.wf_run_id,
    "SaveUserTaskRunProgress": lambda request: request.user_task_run_id.wf_run_id,
    "PutUserTaskRunComment": lambda request: request.user_task_run_id.wf_run_id,
    "EditUserTaskRunComment": lambda request: request.user_task_run_id.wf_run_id,
    "DeleteUserTaskRunComment": lambda request: request.user_task_run_id.wf_run_id,
}

ONCE = frozenset(
    {
        "PutCheckpoint",
        "PutCorrelatedEvent",
        "PutUserTaskRunComment",
        "DeleteUserTaskRunComment",
        "CompleteUserTaskRun",
        "CancelUserTaskRun",
        "RescueThreadRun",
        "DeleteWfRun",
        "DeleteExternalEvent",
        "DeleteCorrelatedEvent",
        "DeleteScheduledWfRun",
        "DeletePrincipal",
    }
)
"""What happens again, or is refused, when it is asked again: so it is not, if an answer is lost."""


def home_of(tenant: str, call: str, request: Any, chosen: str, partitions: int) -> int:
    run_of = _RUN_OF.get(call)
    if run_of is not None:
        return partition_of_run(tenant, run_of(request), partitions)
    match call:
        case "RunWf":
            return partition_of_run(tenant, new_run_id(request, chosen), partitions)
        case "PutCorrelatedEvent":
            name = request.external_event_def_id.name
            return partition_of_correlation(tenant, name, request.key, partitions)
        case "DeleteCorrelatedEvent":
            name = request.id.external_event_def_id.name
            return partition_of_correlation(tenant, name, request.id.key, partitions)
        case "ScheduleWf":
            return partition_of_schedule(tenant, request.id or chosen, partitions)
        case "DeleteScheduledWfRun":
            return partition_of_schedule(tenant, request.id.id, partitions)
        case _:
            return DEFINITIONS


def new_run_id(request: Any, chosen: str) -> WfRunId:
    """Of the run that a RunWf makes."""
    run_id = WfRunId(id=request.id or chosen)
    if request.HasField("parent_wf_run_id"):
        run_id.parent_wf_run_id.CopyFrom(request.parent_wf_run_id)
    return run_id
