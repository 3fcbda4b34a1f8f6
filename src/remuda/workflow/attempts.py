"""How an attempt ends: reported, or timed out; and whether there is another.

A report counts if it is for the last attempt and that attempt is running. Whatever comes later, or
twice, changes nothing.
"""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import (
    TASK_FAILED,
    TASK_OUTPUT_SERDE_ERROR,
    TASK_PENDING,
    TASK_RUNNING,
    TASK_TIMEOUT,
    LHErrorType,
    TaskStatus,
)
from littlehorse.model.service_pb2 import ReportTaskRun
from littlehorse.model.task_run_pb2 import LHTaskError, LHTaskException, TaskAttempt, TaskRun
from littlehorse.model.type_definition_pb2 import VariableValue

from remuda.workflow.commands import AttemptDue
from remuda.workflow.data.casts import assigned, timestamp_from_ms
from remuda.workflow.data.sound import ensure_sound
from remuda.workflow.data.values import is_null
from remuda.workflow.errors import BadValue
from remuda.workflow.failures import Failed
from remuda.workflow.run import Run
from remuda.workflow.task_queue import clear_attempt_timer, schedule_unless_halted, task_changed
from remuda.workflow.tasks import OPEN

DELAY_MS_MAX = 366 * 24 * 60 * 60 * 1000
"""The longest wait before a retry."""

KNOWN = frozenset(TaskStatus.values())
RETRYABLE = frozenset({TASK_FAILED, TASK_TIMEOUT})


def report(run: Run, task: TaskRun, reported: ReportTaskRun) -> None:
    attempt = task.attempts[-1]
    attempt.end_time.CopyFrom(run.work.now)
    if reported.HasField("log_output"):
        attempt.log_output.CopyFrom(reported.log_output)
    clear_attempt_timer(run, task)
    status = reported.status
    match reported.WhichOneof("result"):
        case "error":
            attempt.error.CopyFrom(reported.error)
        case "exception":
            attempt.exception.CopyFrom(reported.exception)
        case _:
            status = _take_output(run, task, attempt, reported)
    if status in OPEN or status not in KNOWN:
        status = TASK_FAILED
        attempt.error.CopyFrom(
            LHTaskError(type=LHErrorType.TASK_ERROR, message="the worker reported no end")
        )
    _end_attempt(run, task, status)


def _take_output(
    run: Run, task: TaskRun, attempt: TaskAttempt, reported: ReportTaskRun
) -> TaskStatus:
    plan = run.work.task_plan(task.task_def_id.name)
    output = reported.output
    wanted = None if plan is None else plan.output
    attempt.masked_value = plan is not None and plan.masked
    try:
        if wanted is not None and wanted.WhichOneof("defined_type") is not None:
            output = assigned(output, wanted, run.work)
        else:
            ensure_sound(output)
    except BadValue as error:
        attempt.error.CopyFrom(
            LHTaskError(type=LHErrorType.VAR_SUB_ERROR, message=f"output: {error}")
        )
        return TASK_OUTPUT_SERDE_ERROR
    attempt.output.CopyFrom(output)
    return reported.status


def time_out(run: Run, task: TaskRun) -> None:
    attempt = task.attempts[-1]
    attempt.end_time.CopyFrom(run.work.now)
    attempt.error.CopyFrom(
        LHTaskError(
            type=LHErrorType.TIMEOUT,
            message=f"no report from {attempt.task_worker_id} within {task.timeout_seconds} s",
        )
    )
    _end_attempt(run, task, TASK_TIMEOUT)


def attempt_due(run: Run, task: TaskRun) -> None:
    """The timer of the last attempt has fired."""
    if task.status == TASK_RUNNING:
        time_out(run, task)
    elif task.status == TASK_PENDING:
        schedule_unless_halted(run, task)


def _end_attempt(run: Run, task: TaskRun, status: TaskStatus) -> None:
    task.attempts[-1].status = status
    task.status = status
    task_changed(run, task)
    run.work.stir(run)
    if status not in RETRYABLE or len(task.attempts) >= task.total_attempts:
        return
    delay_ms = _backoff_ms(task)
    task.attempts.add(status=TASK_PENDING)
    task.status = TASK_PENDING
    if delay_ms:
        work = run.work
        due_ms = work.now_ms + delay_ms
        task.attempts[-1].schedule_time.CopyFrom(timestamp_from_ms(due_ms))
        due = AttemptDue(work.tenant, run.name, task.id.task_guid, len(task.attempts) - 1)
        work.set_timer(due_ms, due)
    else:
        schedule_unless_halted(run, task)


def _backoff_ms(task: TaskRun) -> int:
    """How long to wait after the attempts that there were."""
    if not task.HasField("exponential_backoff"):
        return 0
    policy = task.exponential_backoff
    failed = len(task.attempts)
    delay_ms = float(max(policy.base_interval_ms, 0))
    limit_ms = policy.max_delay_ms if policy.max_delay_ms > 0 else DELAY_MS_MAX
    for _ in range(failed - 1):
        if delay_ms < limit_ms:
            delay_ms *= policy.multiplier or 1.0
    return int(min(delay_ms, limit_ms, DELAY_MS_MAX))


# ── how it ended ─────────────────────────────────────────────────────────────────────────────


def task_failure(task: TaskRun) -> Failed:
    """The failure of a node whose task has ended badly."""
    attempt = task.attempts[-1]
    match attempt.WhichOneof("result"):
        case "exception":
            return _exception(attempt.exception)
        case "error":
            known = attempt.error.type in LHErrorType.values()
            name = LHErrorType.Name(attempt.error.type) if known else "TASK_ERROR"
            return Failed(name, attempt.error.message)
        case _:
            name = TaskStatus.Name(task.status)
            return Failed("TASK_ERROR", f"task {task.task_def_id.name} ended as {name}")


def _exception(found: LHTaskException) -> Failed:
    content: VariableValue | None = None
    if found.HasField("content") and not is_null(found.content):
        content = found.content
    return Failed(found.name, found.message, content)
