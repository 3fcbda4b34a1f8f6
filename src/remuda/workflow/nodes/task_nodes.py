"""A task node: done when its task run has succeeded."""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import (
    TASK_SUCCESS,
)
from littlehorse.model.common_wfspec_pb2 import TaskNode
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.task_run_pb2 import TaskRunSource
from littlehorse.model.wf_run_pb2 import ThreadRun

from remuda.workflow.attempts import task_failure
from remuda.workflow.failures import Failed
from remuda.workflow.nodes.kind import Kind
from remuda.workflow.run import Run
from remuda.workflow.scope import ThreadScope
from remuda.workflow.task_queue import load_task
from remuda.workflow.tasks import OPEN, start_task


def _arrive(run: Run, thread: ThreadRun, node: NodeRun, spec: TaskNode) -> None:
    node.task.SetInParent()
    source = TaskRunSource(wf_spec_id=run.message.wf_spec_id)
    source.task_node.node_run_id.CopyFrom(node.id)
    task = start_task(run, spec, source, ThreadScope(run, thread))
    node.task.task_run_id.CopyFrom(task.id)


def _poll(run: Run, thread: ThreadRun, node: NodeRun, spec: TaskNode) -> bool | Failed:
    task = load_task(run, node.task.task_run_id.task_guid)
    if task is None:
        raise AssertionError(f"run {run.name} has lost a task run")
    if task.status == TASK_SUCCESS:
        return True
    if task.status in OPEN:
        return False
    return task_failure(task)


TASK = Kind(_arrive, _poll)
