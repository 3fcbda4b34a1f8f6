"""What a node puts out when it is done, by kind. Null for the kinds that are not here.

task                    the output of the attempt that succeeded
external_event          the content of the event
start_thread            the number of the thread, an INT
start_multiple_threads  the numbers of the threads, a JSON_ARR
user_task               the results, a JSON_OBJ
run_child_wf            the id of the run
wait_for_child_wf       the output of the run
wait_for_threads        the output of the thread, if it was one; of all, a JSON_ARR
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from littlehorse.model.external_event_pb2 import ExternalEvent
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.task_run_pb2 import TaskRun
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.user_tasks_pb2 import UserTaskRun

from remuda.workflow.data.values import NULL, data_of, value_of
from remuda.workflow.keys import event_key, task_key, user_task_key
from remuda.workflow.run import Run


def output_of(run: Run, node: NodeRun) -> VariableValue:
    make = _OUTPUTS.get(node.WhichOneof("node_type") or "")
    return NULL if make is None else make(run, node)


def _task(run: Run, node: NodeRun) -> VariableValue:
    task = run.work.objects.get(task_key(run.at, node.task.task_run_id.task_guid), TaskRun)
    if task is None or not task.attempts:
        return NULL
    attempt = task.attempts[-1]
    return attempt.output if attempt.WhichOneof("result") == "output" else NULL


def _event(run: Run, node: NodeRun) -> VariableValue:
    event_id = node.external_event.external_event_id
    key = event_key(run.at, event_id.external_event_def_id.name, event_id.guid)
    event = run.work.objects.get(key, ExternalEvent)
    return NULL if event is None else event.content


def _start_thread(run: Run, node: NodeRun) -> VariableValue:
    return VariableValue(int=node.start_thread.child_thread_id)


def _start_multiple(run: Run, node: NodeRun) -> VariableValue:
    return value_of(list(node.start_multiple_threads.child_thread_ids))


def _user_task(run: Run, node: NodeRun) -> VariableValue:
    guid = node.user_task.user_task_run_id.user_task_guid
    task = run.work.objects.get(user_task_key(run.at, guid), UserTaskRun)
    if task is None:
        return NULL
    return value_of({name: data_of(task.results[name]) for name in sorted(task.results)})


def _run_child(run: Run, node: NodeRun) -> VariableValue:
    return VariableValue(wf_run_id=node.run_child_wf.child_wf_run_id)


def _wait_for_child(run: Run, node: NodeRun) -> VariableValue:
    child = run.work.run(node.wait_for_child_wf.child_wf_run_id)
    return NULL if child is None else child.thread(0).output


def _wait_for_threads(run: Run, node: NodeRun) -> VariableValue:
    outputs = [run.thread(one.thread_run_number).output for one in node.wait_for_threads.threads]
    if len(outputs) == 1:
        return outputs[0]
    return value_of([data_of(output) for output in outputs])


_OUTPUTS: Mapping[str, Callable[[Run, NodeRun], VariableValue]] = {
    "task": _task,
    "external_event": _event,
    "start_thread": _start_thread,
    "start_multiple_threads": _start_multiple,
    "user_task": _user_task,
    "run_child_wf": _run_child,
    "wait_for_child_wf": _wait_for_child,
    "wait_for_threads": _wait_for_threads,
}
