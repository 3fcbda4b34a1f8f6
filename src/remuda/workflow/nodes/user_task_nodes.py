"""A user task: done when somebody has completed it, failed when it was cancelled."""

from __future__ import annotations

from littlehorse.model.common_wfspec_pb2 import VariableAssignment
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.user_tasks_pb2 import UserTaskRun, UserTaskRunStatus
from littlehorse.model.wf_run_pb2 import ThreadRun
from littlehorse.model.wf_spec_pb2 import UserTaskNode

from remuda.workflow.data.assignments import evaluated
from remuda.workflow.data.values import is_null, text_of
from remuda.workflow.errors import BadValue
from remuda.workflow.failures import Failed
from remuda.workflow.keys import user_task_key
from remuda.workflow.nodes.kind import Kind
from remuda.workflow.run import Run
from remuda.workflow.scope import ThreadScope
from remuda.workflow.user_tasks import ON_ARRIVAL, assign, load_user_task, schedule_actions


def _arrive(run: Run, thread: ThreadRun, node: NodeRun, spec: UserTaskNode) -> None:
    work = run.work
    scope = ThreadScope(run, thread)
    node.user_task.SetInParent()
    version = spec.user_task_def_version if spec.HasField("user_task_def_version") else None
    definition = work.user_task_def(spec.user_task_def_name, version)
    if definition is None:
        raise BadValue(f"there is no UserTaskDef {spec.user_task_def_name}")
    user_id = _text(spec.user_id, scope) if spec.HasField("user_id") else ""
    group = _text(spec.user_group, scope) if spec.HasField("user_group") else ""
    if not user_id and not group:
        raise BadValue(f"user task {spec.user_task_def_name} is for nobody")
    task = UserTaskRun(status=UserTaskRunStatus.UNASSIGNED, scheduled_time=work.now)
    task.id.wf_run_id.CopyFrom(run.run_id)
    task.id.user_task_guid = work.new_guid(run.name)
    task.user_task_def_id.name = definition.name
    task.user_task_def_id.version = definition.version
    task.node_run_id.CopyFrom(node.id)
    if spec.HasField("notes"):
        task.notes = _text(spec.notes, scope)
    work.objects.put(user_task_key(run.at, task.id.user_task_guid), task)
    node.user_task.user_task_run_id.CopyFrom(task.id)
    assign(run, task, user_id, group)
    schedule_actions(run, task, ON_ARRIVAL)


def _text(assignment: VariableAssignment, scope: ThreadScope) -> str:
    value = evaluated(assignment, scope)
    return "" if is_null(value) else text_of(value)


def _poll(run: Run, thread: ThreadRun, node: NodeRun, spec: UserTaskNode) -> bool | Failed:
    task = load_user_task(run, node.user_task.user_task_run_id.user_task_guid)
    if task is None:
        raise AssertionError(f"run {run.name} has lost a user task")
    if task.status == UserTaskRunStatus.DONE:
        return True
    if task.status != UserTaskRunStatus.CANCELLED:
        return False
    name = "USER_TASK_CANCELLED"
    if spec.HasField("on_cancellation_exception_name"):
        name = _text(spec.on_cancellation_exception_name, ThreadScope(run, thread)) or name
    return Failed(name, task.events[-1].cancelled.message)


USER_TASK = Kind(_arrive, _poll)
