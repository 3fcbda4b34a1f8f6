"""The queues of tasks: in, out, claimed by a worker, and back.

What is in the state as `wq …` waits for a worker: exactly the task runs that are TASK_SCHEDULED. A
task of a thread that stands still is TASK_PENDING until the thread goes on.
"""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import TASK_PENDING, TASK_RUNNING, TASK_SCHEDULED
from littlehorse.model.service_pb2 import ScheduledTask
from littlehorse.model.task_run_pb2 import TaskRun

from remuda.workflow.commands import AttemptDue
from remuda.workflow.data.casts import ms_of_timestamp
from remuda.workflow.effects import TaskScheduled
from remuda.workflow.keys import queue_key, task_key
from remuda.workflow.run import Run


def load_task(run: Run, guid: str) -> TaskRun | None:
    return run.work.objects.get(task_key(run.at, guid), TaskRun)


def task_changed(run: Run, task: TaskRun) -> None:
    run.work.objects.change(task_key(run.at, task.id.task_guid))


def enqueue(run: Run, task: TaskRun) -> None:
    work = run.work
    attempt = task.attempts[-1]
    attempt.status = TASK_SCHEDULED
    attempt.schedule_time.CopyFrom(work.now)
    task.status = TASK_SCHEDULED
    task_changed(run, task)
    name, guid = task.task_def_id.name, task.id.task_guid
    work.state.put(queue_key(work.tenant, name, work.now_ms, guid), run.name.encode())
    work.effects.append(TaskScheduled(work.tenant, name, run.name, guid))


def dequeue(run: Run, task: TaskRun) -> None:
    at_ms = ms_of_timestamp(task.attempts[-1].schedule_time)
    run.work.state.delete(
        queue_key(run.work.tenant, task.task_def_id.name, at_ms, task.id.task_guid)
    )


def claim(run: Run, task: TaskRun, worker: str, worker_version: str) -> ScheduledTask:
    """Give a task that is in the queue to a worker; its time runs from now."""
    work = run.work
    dequeue(run, task)
    attempt = task.attempts[-1]
    attempt.status = TASK_RUNNING
    attempt.start_time.CopyFrom(work.now)
    attempt.task_worker_id = worker
    if worker_version:
        attempt.task_worker_version = worker_version
    task.status = TASK_RUNNING
    task_changed(run, task)
    due = AttemptDue(work.tenant, run.name, task.id.task_guid, len(task.attempts) - 1)
    work.set_timer(work.now_ms + task.timeout_seconds * 1000, due)
    return ScheduledTask(
        task_run_id=task.id,
        task_def_id=task.task_def_id,
        attempt_number=len(task.attempts) - 1,
        variables=task.input_variables,
        created_at=attempt.schedule_time,
        source=task.source,
        total_observed_checkpoints=task.total_checkpoints,
    )


def unclaim(run: Run, task: TaskRun) -> None:
    """The worker never heard of its claim: the same attempt is in the queue again."""
    attempt = task.attempts[-1]
    clear_attempt_timer(run, task)
    attempt.ClearField("start_time")
    attempt.ClearField("task_worker_id")
    attempt.ClearField("task_worker_version")
    schedule_unless_halted(run, task)


def forget_task(run: Run, task: TaskRun) -> None:
    """Its run is deleted: nobody is to get it any more, nor wait for its time."""
    if task.status == TASK_SCHEDULED:
        dequeue(run, task)
    clear_attempt_timer(run, task)


# ── threads that stand still ─────────────────────────────────────────────────────────────────


def claimed_by_worker(run: Run, guid: str) -> bool:
    task = load_task(run, guid)
    return task is not None and task.status == TASK_RUNNING


def hold_task(run: Run, guid: str) -> None:
    """Take a task that no worker has out of the queue."""
    task = load_task(run, guid)
    if task is not None and task.status == TASK_SCHEDULED:
        dequeue(run, task)
        task.attempts[-1].status = TASK_PENDING
        task.status = TASK_PENDING
        task_changed(run, task)


def resume_task(run: Run, guid: str) -> None:
    """Put it back, unless it has to wait for its time anyway."""
    task = load_task(run, guid)
    if task is not None and task.status == TASK_PENDING:
        due_ms = ms_of_timestamp(task.attempts[-1].schedule_time)
        if due_ms <= run.work.now_ms:
            enqueue(run, task)


def schedule_unless_halted(run: Run, task: TaskRun) -> None:
    if _stands_still(run, task):
        task.attempts[-1].status = TASK_PENDING
        task.attempts[-1].schedule_time.CopyFrom(run.work.now)
        task.status = TASK_PENDING
        task_changed(run, task)
        run.work.stir(run)
    else:
        enqueue(run, task)


def _stands_still(run: Run, task: TaskRun) -> bool:
    """Tasks of a user task's actions belong to no node, and never stand still."""
    if task.source.WhichOneof("task_run_source") != "task_node":
        return False
    thread = run.thread(task.source.task_node.node_run_id.thread_run_number)
    return bool(thread.halt_reasons)


def clear_attempt_timer(run: Run, task: TaskRun) -> None:
    work = run.work
    number = len(task.attempts) - 1
    work.clear_timer(AttemptDue(work.tenant, run.name, task.id.task_guid, number))
