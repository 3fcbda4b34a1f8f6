"""Calls of workers: reports and checkpoints. (A poll is a `ClaimTask`.)"""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import (
    TASK_RUNNING,
)
from littlehorse.model.object_id_pb2 import TaskRunId
from littlehorse.model.service_pb2 import (
    PutCheckpointRequest,
    PutCheckpointResponse,
    ReportTaskRun,
)
from littlehorse.model.task_run_pb2 import Checkpoint, TaskRun

from remuda.partition.machine import Rejection
from remuda.workflow.attempts import report
from remuda.workflow.calls.runs import no_run
from remuda.workflow.commands import Call
from remuda.workflow.data.sound import ensure_sound
from remuda.workflow.definitions.definition import Refusal
from remuda.workflow.keys import checkpoint_key, task_key
from remuda.workflow.run import Run
from remuda.workflow.task_queue import load_task
from remuda.workflow.work import Work


def report_task(work: Work, request: ReportTaskRun, call: Call) -> Refusal | None:
    found = _find(work, request.task_run_id)
    if isinstance(found, Refusal):
        return found
    run, task = found
    ensure_sound(request.exception.content)
    if _is_running(task, request.attempt_number):
        report(run, task, request)
    return None


def put_checkpoint(
    work: Work, request: PutCheckpointRequest, call: Call
) -> PutCheckpointResponse | Refusal:
    """An attempt that is over is told to stop."""
    found = _find(work, request.task_run_id)
    if isinstance(found, Refusal):
        return found
    run, task = found
    if not _is_running(task, request.task_attempt):
        return PutCheckpointResponse(flow_control_continue_type=PutCheckpointResponse.STOP_TASK)
    ensure_sound(request.value)
    checkpoint = Checkpoint(value=request.value, created_at=work.now)
    checkpoint.id.task_run.CopyFrom(task.id)
    checkpoint.id.checkpoint_number = task.total_checkpoints
    if request.HasField("logs"):
        checkpoint.logs = request.logs
    guid = task.id.task_guid
    work.objects.put(checkpoint_key(run.at, guid, task.total_checkpoints), checkpoint)
    task.total_checkpoints += 1
    work.objects.change(task_key(run.at, guid))
    return PutCheckpointResponse(
        flow_control_continue_type=PutCheckpointResponse.CONTINUE_TASK,
        created_checkpoint=checkpoint,
    )


def _is_running(task: TaskRun, attempt: int) -> bool:
    return task.status == TASK_RUNNING and len(task.attempts) - 1 == attempt


def _find(work: Work, task_run_id: TaskRunId) -> tuple[Run, TaskRun] | Refusal:
    run = work.run(task_run_id.wf_run_id)
    if run is None:
        return no_run(task_run_id.wf_run_id)
    task = load_task(run, task_run_id.task_guid)
    if task is None:
        reason = f"run {run.name} has no task {task_run_id.task_guid}"
        return Refusal(Rejection.NOT_FOUND, reason)
    return run, task
