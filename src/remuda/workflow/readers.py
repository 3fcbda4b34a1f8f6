"""Objects as readers see them: what is masked is not in them. Workers see what is stored."""

from __future__ import annotations

from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.task_run_pb2 import TaskRun
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.variable_pb2 import Variable

from remuda.workflow.data.masks import MASK, shown


def variable_shown(variable: Variable) -> Variable:
    copy = Variable()
    copy.CopyFrom(variable)
    copy.value.CopyFrom(shown(variable.value, variable.masked))
    return copy


def task_run_shown(task: TaskRun) -> TaskRun:
    copy = TaskRun()
    copy.CopyFrom(task)
    for given in copy.input_variables:
        _mask(given.value, given.masked)
    for attempt in copy.attempts:
        if attempt.WhichOneof("result") == "output":
            _mask(attempt.output, attempt.masked_value)
    return copy


def node_run_shown(node: NodeRun) -> NodeRun:
    event = node.external_event
    if not (event.mask_correlation_key and event.HasField("correlation_key")):
        return node
    copy = NodeRun()
    copy.CopyFrom(node)
    copy.external_event.correlation_key = MASK.str
    return copy


def _mask(value: VariableValue, masked: bool) -> None:
    value.CopyFrom(shown(value, masked))
