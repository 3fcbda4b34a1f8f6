"""Task runs: what a task is given, and the states it goes through.

The status of a task run is that of its last attempt:

    TASK_SCHEDULED   it waits for a worker, in the queue of its TaskDef; see `task_queue`
    TASK_RUNNING     a worker has claimed it; a timer runs from that moment; see `attempts`
    TASK_PENDING     it waits for the time of its next attempt, or its thread stands still
    anything else    it has ended
"""

from __future__ import annotations

from collections.abc import Sequence

from littlehorse.model.common_enums_pb2 import TASK_PENDING, TASK_RUNNING, TASK_SCHEDULED
from littlehorse.model.common_wfspec_pb2 import TaskNode, VariableAssignment
from littlehorse.model.task_run_pb2 import TaskRun, TaskRunSource

from remuda.workflow.data.assignments import Scope, evaluated
from remuda.workflow.data.casts import assigned
from remuda.workflow.data.values import text_of
from remuda.workflow.errors import BadValue
from remuda.workflow.keys import task_key
from remuda.workflow.run import Run
from remuda.workflow.spec import TaskPlan
from remuda.workflow.task_queue import enqueue

TIMEOUT_SECONDS = 60
"""What a worker has for an attempt where the spec does not say."""

OPEN = frozenset({TASK_SCHEDULED, TASK_RUNNING, TASK_PENDING})


def start_task(run: Run, node: TaskNode, source: TaskRunSource, scope: Scope) -> TaskRun:
    """A task run in the queue. Raises `BadValue` if there is no such task, or its inputs fail."""
    work = run.work
    if node.WhichOneof("task_to_execute") == "dynamic_task":
        name = text_of(evaluated(node.dynamic_task, scope))
    else:
        name = node.task_def_id.name
    plan = work.task_plan(name)
    if plan is None:
        raise BadValue(f"there is no TaskDef {name}")
    task = TaskRun(
        status=TASK_SCHEDULED,
        scheduled_at=work.now,
        timeout_seconds=node.timeout_seconds or TIMEOUT_SECONDS,
        total_attempts=1 + max(node.retries, 0),
        source=source,
    )
    task.id.wf_run_id.CopyFrom(run.run_id)
    task.id.task_guid = work.new_guid(run.name)
    task.task_def_id.name = name
    if node.HasField("exponential_backoff"):
        task.exponential_backoff.CopyFrom(node.exponential_backoff)
    _give_inputs(task, plan, node.variables, scope)
    work.objects.put(task_key(run.at, task.id.task_guid), task)
    task.attempts.add()
    enqueue(run, task)
    return task


def _give_inputs(
    task: TaskRun, plan: TaskPlan, given: Sequence[VariableAssignment], scope: Scope
) -> None:
    if len(given) > len(plan.inputs):
        raise BadValue(
            f"TaskDef {task.task_def_id.name} takes {len(plan.inputs)} inputs, not {len(given)}"
        )
    for number, (name, type_def, masked, default) in enumerate(plan.inputs):
        if number < len(given):
            value = evaluated(given[number], scope)
        elif default is not None:
            value = default
        else:
            raise BadValue(f"input {name} of TaskDef {task.task_def_id.name} is missing")
        try:
            value = assigned(value, type_def, scope)
        except BadValue as error:
            raise BadValue(f"input {name} of TaskDef {task.task_def_id.name}: {error}") from error
        task.input_variables.add(var_name=name, value=value, masked=masked)
