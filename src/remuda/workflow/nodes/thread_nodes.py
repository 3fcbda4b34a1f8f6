"""Starting child threads: one, or one for each item of an array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from littlehorse.model.common_wfspec_pb2 import VariableAssignment
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.wf_run_pb2 import ThreadRun, ThreadType
from littlehorse.model.wf_spec_pb2 import StartMultipleThreadsNode, StartThreadNode

from remuda.workflow.data.assignments import evaluated
from remuda.workflow.data.values import data_of, is_null, text_of, value_of
from remuda.workflow.errors import BadValue
from remuda.workflow.nodes.kind import Kind
from remuda.workflow.run import Run
from remuda.workflow.scope import ThreadScope
from remuda.workflow.threads import INPUT, start_thread, starting_values


def evaluated_inputs(
    given: Mapping[str, VariableAssignment], scope: ThreadScope
) -> dict[str, VariableValue]:
    return {name: evaluated(given[name], scope) for name in sorted(given)}


def _start(run: Run, thread: ThreadRun, node: NodeRun, spec: StartThreadNode) -> None:
    node.start_thread.thread_spec_name = spec.thread_spec_name
    inputs = evaluated_inputs(spec.variables, ThreadScope(run, thread))
    child = start_thread(run, spec.thread_spec_name, ThreadType.CHILD, thread, inputs)
    node.start_thread.child_thread_id = child.number


def _start_each(run: Run, thread: ThreadRun, node: NodeRun, spec: StartMultipleThreadsNode) -> None:
    node.start_multiple_threads.thread_spec_name = spec.thread_spec_name
    scope = ThreadScope(run, thread)
    inputs = evaluated_inputs(spec.variables, scope)
    plan = run.plan.threads[spec.thread_spec_name]
    items = _items(evaluated(spec.iterable, scope))
    each = [{**inputs, INPUT: item} if INPUT in plan.variables else inputs for item in items]
    for given in each:  # all fit, or none is started
        starting_values(run.work, plan, given)
    for given in each:
        child = start_thread(run, spec.thread_spec_name, ThreadType.CHILD, thread, given)
        node.start_multiple_threads.child_thread_ids.append(child.number)


def _items(value: VariableValue) -> list[VariableValue]:
    if value.WhichOneof("value") == "array":
        return list(value.array.items)
    if value.WhichOneof("value") == "json_arr":
        found: list[Any] = data_of(value)
        return [value_of(item) for item in found]
    if is_null(value):
        return []
    raise BadValue(f"threads are started for each item of an array, not of {text_of(value)}")


START_THREAD = Kind(_start)
START_MULTIPLE_THREADS = Kind(_start_each)
