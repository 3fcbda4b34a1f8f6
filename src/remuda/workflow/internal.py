"""The commands that no client sends: claims, and events from other partitions."""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import (
    TASK_RUNNING,
    TASK_SCHEDULED,
)
from littlehorse.model.service_pb2 import PutExternalEventRequest, ScheduledTask
from littlehorse.model.task_run_pb2 import TaskRun
from littlehorse.model.type_definition_pb2 import VariableValue

from remuda.partition.machine import Rejection
from remuda.workflow.commands import ClaimTask, Correlated, UnclaimTask
from remuda.workflow.data.values import run_id_from_text
from remuda.workflow.definitions.definition import Refusal
from remuda.workflow.events import put_event
from remuda.workflow.run import ENDED, Run
from remuda.workflow.task_queue import claim, load_task, unclaim
from remuda.workflow.work import Work


def claim_task(work: Work, command: ClaimTask) -> ScheduledTask | Refusal:
    """The answer is what the worker gets. A claim that comes too late is stale."""
    found = _find(work, command.run, command.guid)
    if found is None or found[1].status != TASK_SCHEDULED:
        return Refusal(Rejection.STALE, f"task {command.guid} waits for no worker")
    run, task = found
    return claim(run, task, command.worker, command.worker_version)


def unclaim_task(work: Work, command: UnclaimTask) -> Refusal | None:
    """Only the claim that is meant is undone: not one of a later attempt, or another worker."""
    found = _find(work, command.run, command.guid)
    if found is None:
        return Refusal(Rejection.STALE, f"there is no task {command.guid}")
    run, task = found
    attempt = task.attempts[-1]
    if (
        attempt.status != TASK_RUNNING
        or len(task.attempts) - 1 != command.attempt
        or attempt.task_worker_id != command.worker
    ):
        return Refusal(Rejection.STALE, f"task {command.guid} is not claimed by {command.worker}")
    unclaim(run, task)
    return None


def deliver_correlated(work: Work, command: Correlated) -> None:
    """For a node that still waits, and for nobody else."""
    run = work.run(run_id_from_text(command.run))
    definition = work.event_def(command.event)
    if run is None or definition is None or not run.has_thread(command.thread):
        return
    thread = run.thread(command.thread)
    if thread.current_node_position != command.position or thread.status in ENDED:
        return
    request = PutExternalEventRequest(content=VariableValue.FromString(command.content))
    request.thread_run_number = command.thread
    request.node_run_position = command.position
    put_event(run, definition, request, command.guid)


def _find(work: Work, run_name: str, guid: str) -> tuple[Run, TaskRun] | None:
    run = work.run(run_id_from_text(run_name))
    if run is None:
        return None
    task = load_task(run, guid)
    return None if task is None else (run, task)
