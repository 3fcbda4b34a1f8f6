"""Calls that work on user tasks."""

from __future__ import annotations

from littlehorse.model.object_id_pb2 import UserTaskRunId
from littlehorse.model.user_tasks_pb2 import (
    AssignUserTaskRunRequest,
    CancelUserTaskRunRequest,
    CompleteUserTaskRunRequest,
    DeleteUserTaskRunCommentRequest,
    EditUserTaskRunCommentRequest,
    PutUserTaskRunCommentRequest,
    SaveUserTaskRunProgressRequest,
    UserTaskDef,
    UserTaskEvent,
    UserTaskRun,
)

from remuda.partition.machine import Rejection
from remuda.workflow import user_tasks
from remuda.workflow.calls.runs import no_run
from remuda.workflow.commands import Call
from remuda.workflow.definitions.definition import Refusal, invalid
from remuda.workflow.run import Run
from remuda.workflow.work import Work


def assign_user_task(work: Work, request: AssignUserTaskRunRequest, call: Call) -> Refusal | None:
    found = _find_open(work, request.user_task_run_id)
    if isinstance(found, Refusal):
        return found
    run, task = found
    if not request.user_id and not request.user_group:
        return invalid("user_id or user_group: a user task is for somebody")
    taken = task.HasField("user_id") and task.user_id != request.user_id
    if taken and not request.override_claim:
        reason = f"the user task is {task.user_id}'s; override_claim takes it away"
        return Refusal(Rejection.PRECONDITION, reason)
    user_tasks.assign(run, task, request.user_id, request.user_group)
    return None


def complete_user_task(
    work: Work, request: CompleteUserTaskRunRequest, call: Call
) -> Refusal | None:
    found = _find_open(work, request.user_task_run_id)
    if isinstance(found, Refusal):
        return found
    run, task = found
    definition = _definition(run, task)
    if isinstance(definition, Refusal):
        return definition
    if not request.user_id:
        return invalid("user_id: somebody completes a user task")
    user_tasks.complete(run, task, definition, request.user_id, request.results)
    return None


def save_user_task(
    work: Work, request: SaveUserTaskRunProgressRequest, call: Call
) -> UserTaskRun | Refusal:
    found = _find_open(work, request.user_task_run_id)
    if isinstance(found, Refusal):
        return found
    run, task = found
    definition = _definition(run, task)
    if isinstance(definition, Refusal):
        return definition
    careful = request.policy == SaveUserTaskRunProgressRequest.FAIL_IF_CLAIMED_BY_OTHER
    if careful and task.HasField("user_id") and task.user_id != request.user_id:
        return Refusal(Rejection.PRECONDITION, f"the user task is {task.user_id}'s")
    user_tasks.save(run, task, definition, request.user_id, request.results)
    return task


def cancel_user_task(work: Work, request: CancelUserTaskRunRequest, call: Call) -> Refusal | None:
    found = _find_open(work, request.user_task_run_id)
    if isinstance(found, Refusal):
        return found
    user_tasks.cancel(*found, "it was cancelled")
    return None


def put_comment(
    work: Work, request: PutUserTaskRunCommentRequest, call: Call
) -> UserTaskEvent.UTECommented | Refusal:
    found = _find(work, request.user_task_run_id)
    if isinstance(found, Refusal):
        return found
    run, task = found
    number = user_tasks.comment(run, task, request.user_id, request.comment)
    return UserTaskEvent.UTECommented(
        user_comment_id=number, user_id=request.user_id, comment=request.comment
    )


def edit_comment(
    work: Work, request: EditUserTaskRunCommentRequest, call: Call
) -> UserTaskEvent.UTECommented | Refusal:
    found = _find(work, request.user_task_run_id)
    if isinstance(found, Refusal):
        return found
    run, task = found
    number = request.user_comment_id
    reason = user_tasks.edit_comment(run, task, number, request.user_id, request.comment)
    if reason is not None:
        return Refusal(Rejection.PRECONDITION, reason)
    return UserTaskEvent.UTECommented(
        user_comment_id=number, user_id=request.user_id, comment=request.comment
    )


def delete_comment(
    work: Work, request: DeleteUserTaskRunCommentRequest, call: Call
) -> Refusal | None:
    found = _find(work, request.user_task_run_id)
    if isinstance(found, Refusal):
        return found
    run, task = found
    reason = user_tasks.delete_comment(run, task, request.user_comment_id, request.user_id)
    return None if reason is None else Refusal(Rejection.PRECONDITION, reason)


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _find(work: Work, task_id: UserTaskRunId) -> tuple[Run, UserTaskRun] | Refusal:
    run = work.run(task_id.wf_run_id)
    if run is None:
        return no_run(task_id.wf_run_id)
    task = user_tasks.load_user_task(run, task_id.user_task_guid)
    if task is None:
        reason = f"run {run.name} has no user task {task_id.user_task_guid}"
        return Refusal(Rejection.NOT_FOUND, reason)
    return run, task


def _find_open(work: Work, task_id: UserTaskRunId) -> tuple[Run, UserTaskRun] | Refusal:
    found = _find(work, task_id)
    if not isinstance(found, Refusal) and found[1].status in user_tasks.OVER:
        return Refusal(Rejection.PRECONDITION, "the user task is done or cancelled")
    return found


def _definition(run: Run, task: UserTaskRun) -> UserTaskDef | Refusal:
    wanted = task.user_task_def_id
    found = run.work.user_task_def(wanted.name, wanted.version)
    if found is None:
        return Refusal(Rejection.NOT_FOUND, f"UserTaskDef {wanted.name} was deleted")
    return found
