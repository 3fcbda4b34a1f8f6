"""A WfSpec as the advance reads it: plain attributes instead of fields of messages.

What is compiled is kept by the bytes it was compiled from, so it can never be stale.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from littlehorse.model.common_enums_pb2 import LHErrorType
from littlehorse.model.common_wfspec_pb2 import VariableAssignment, VariableMutation
from littlehorse.model.object_id_pb2 import WfSpecId
from littlehorse.model.task_def_pb2 import TaskDef
from littlehorse.model.type_definition_pb2 import TypeDefinition, VariableValue
from littlehorse.model.wf_spec_pb2 import (
    Edge,
    FailureHandlerDef,
    LegacyEdgeCondition,
    Node,
    ThreadSpec,
    ThreadVarDef,
    WfRunVariableAccessLevel,
    WfSpec,
)
from msgspec import Struct

from remuda.workflow.data.types import type_of_def
from remuda.workflow.data.values import NULL

Condition: TypeAlias = VariableAssignment | LegacyEdgeCondition | None

ERROR_NAMES = frozenset(LHErrorType.keys())
TASK_FAILED_NAMES = frozenset({"TASK_FAILURE", "TASK_ERROR"})
"""Clients in different languages report the one or the other, and mean the same."""


def is_error(failure_name: str) -> bool:
    """ERRORs are the system's and in upper case; every other name is an EXCEPTION."""
    return failure_name in ERROR_NAMES or failure_name.isupper()


class EdgePlan(Struct, frozen=True):
    sink: str
    condition: Condition
    mutations: tuple[VariableMutation, ...]


class HandlerPlan(Struct, frozen=True):
    thread: str
    specific: str = ""
    any_error: bool = False
    any_exception: bool = False

    def catches(self, failure_name: str) -> bool:
        if self.specific in TASK_FAILED_NAMES:
            return failure_name in TASK_FAILED_NAMES
        if self.specific:
            return self.specific == failure_name
        if self.any_error:
            return is_error(failure_name)
        if self.any_exception:
            return not is_error(failure_name)
        return True


class NodePlan(Struct, frozen=True):
    name: str
    kind: str
    """The field of Node that is set: `task`, `sleep`, …"""
    node: Any
    """The message in that field."""
    edges: tuple[EdgePlan, ...]
    handlers: tuple[HandlerPlan, ...]


class VariablePlan(Struct, frozen=True):
    name: str
    type_def: TypeDefinition
    default: VariableValue
    required: bool
    masked: bool
    inherited: bool
    public: bool
    searchable: bool
    indexes: tuple[str, ...]
    """JSON paths of fields to search by."""


class ThreadPlan(Struct, frozen=True):
    name: str
    entrypoint: str
    nodes: Mapping[str, NodePlan]
    variables: Mapping[str, VariablePlan]
    """In the order in which they are declared."""
    interrupts: Mapping[str, str]
    """The thread that handles an event, by the event's name."""


class Plan(Struct, frozen=True):
    spec_id: WfSpecId
    entrypoint: str
    threads: Mapping[str, ThreadPlan]
    retention_ms: int | None


class TaskPlan(Struct, frozen=True):
    """A TaskDef, compiled."""

    inputs: tuple[tuple[str, TypeDefinition, bool, VariableValue | None], ...]
    """Name, type, masked, default."""
    output: TypeDefinition | None
    """None where the definition does not say; a void task has a type with nothing in it."""
    masked: bool


@lru_cache(maxsize=1024)
def plan_of(data: bytes) -> Plan:
    """Of a serialised WfSpec."""
    spec = WfSpec.FromString(data)
    policy = spec.retention_policy
    return Plan(
        spec_id=spec.id,
        entrypoint=spec.entrypoint_thread_name,
        threads={
            name: _thread(name, spec.thread_specs[name]) for name in sorted(spec.thread_specs)
        },
        retention_ms=policy.seconds_after_wf_termination * 1000
        if policy.HasField("seconds_after_wf_termination")
        else None,
    )


@lru_cache(maxsize=4096)
def task_plan_of(data: bytes) -> TaskPlan:
    """Of a serialised TaskDef."""
    task = TaskDef.FromString(data)
    inputs: list[tuple[str, TypeDefinition, bool, VariableValue | None]] = []
    for variable in task.input_vars:
        found = type_of_def(variable)
        default = variable.default_value if variable.HasField("default_value") else None
        inputs.append((variable.name, found, found.masked, default))
    output = task.return_type.return_type if task.HasField("return_type") else None
    return TaskPlan(tuple(inputs), output, output is not None and output.masked)


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _thread(name: str, thread: ThreadSpec) -> ThreadPlan:
    nodes = {node_name: _node(node_name, thread.nodes[node_name]) for node_name in thread.nodes}
    return ThreadPlan(
        name=name,
        entrypoint=next((node.name for node in nodes.values() if node.kind == "entrypoint"), ""),
        nodes=nodes,
        variables={v.var_def.name: _variable(v) for v in thread.variable_defs},
        interrupts={
            one.external_event_def_id.name: one.handler_spec_name for one in thread.interrupt_defs
        },
    )


def _node(name: str, node: Node) -> NodePlan:
    kind = node.WhichOneof("node") or ""
    return NodePlan(
        name=name,
        kind=kind,
        node=getattr(node, kind) if kind else None,
        edges=tuple(map(_edge, node.outgoing_edges)),
        handlers=tuple(map(handler_plan, node.failure_handlers)),
    )


def _edge(edge: Edge) -> EdgePlan:
    which = edge.WhichOneof("edge_condition")
    condition = None if which is None else getattr(edge, which)
    return EdgePlan(edge.sink_node_name, condition, tuple(edge.variable_mutations))


def handler_plan(handler: FailureHandlerDef) -> HandlerPlan:
    which = handler.WhichOneof("failure_to_catch")
    kind = handler.any_failure_of_type
    typed = which == "any_failure_of_type"
    return HandlerPlan(
        thread=handler.handler_spec_name,
        specific=handler.specific_failure if which == "specific_failure" else "",
        any_error=typed and kind == FailureHandlerDef.FAILURE_TYPE_ERROR,
        any_exception=typed and kind == FailureHandlerDef.FAILURE_TYPE_EXCEPTION,
    )


def _variable(declared: ThreadVarDef) -> VariablePlan:
    definition = declared.var_def
    found = type_of_def(definition)
    return VariablePlan(
        name=definition.name,
        type_def=found,
        default=definition.default_value if definition.HasField("default_value") else NULL,
        required=declared.required,
        masked=found.masked,
        inherited=declared.access_level == WfRunVariableAccessLevel.INHERITED_VAR,
        public=declared.access_level == WfRunVariableAccessLevel.PUBLIC_VAR,
        searchable=declared.searchable,
        indexes=tuple(index.field_path for index in declared.json_indexes),
    )
