"""The type of an assignment, as far as it can be known before anything runs.

None is "cannot be known": what comes out of JSON, or of a task that does not say what it returns.
Whatever is unknown here is checked when it happens.
"""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.common_wfspec_pb2 import VariableAssignment, VariableMutationType
from littlehorse.model.type_definition_pb2 import TypeDefinition

from remuda.workflow.data.types import (
    BOOL,
    DOUBLE,
    INT,
    JSON_ARR,
    JSON_OBJ,
    STR,
    WF_RUN_ID,
    type_of_value,
)
from remuda.workflow.spec import NodePlan, Plan, VariablePlan
from remuda.workflow.work import Work, event_type


class Names:
    """What the assignments of one thread of a spec can refer to."""

    def __init__(self, work: Work, plan: Plan, thread: str, parents: tuple[str, ...]) -> None:
        self.work = work
        self.plan = plan
        self.thread = plan.threads[thread]
        self._lines = (thread, *parents)

    def variable(self, name: str) -> VariablePlan | None:
        for line in self._lines:
            found = self.plan.threads[line].variables.get(name)
            if found is not None:
                return found
        return None

    def node(self, name: str) -> NodePlan | None:
        return self.thread.nodes.get(name)

    def output_type(self, node: NodePlan) -> TypeDefinition | None:
        match node.kind:
            case "task":
                if node.node.WhichOneof("task_to_execute") == "dynamic_task":
                    return None
                plan = self.work.task_plan(node.node.task_def_id.name)
                return _said(None if plan is None else plan.output)
            case "external_event":
                definition = self.work.event_def(node.node.external_event_def_id.name)
                return _said(None if definition is None else event_type(definition))
            case "start_thread":
                return INT
            case "start_multiple_threads":
                return JSON_ARR
            case "run_child_wf":
                return WF_RUN_ID
            case "user_task":
                return JSON_OBJ
            case _:
                return None


def _said(found: TypeDefinition | None) -> TypeDefinition | None:
    if found is None or found.WhichOneof("defined_type") is None:
        return None
    return found


def type_of(assignment: VariableAssignment, names: Names) -> TypeDefinition | None:
    if assignment.HasField("target_type"):
        return assignment.target_type
    if assignment.WhichOneof("path") is not None:
        return None
    match assignment.WhichOneof("source"):
        case "variable_name":
            found = names.variable(assignment.variable_name)
            return None if found is None else found.type_def
        case "literal_value":
            return type_of_value(assignment.literal_value)
        case "format_string":
            return STR
        case "size_of":
            return INT
        case "struct_builder":
            return TypeDefinition(struct_def_id=assignment.struct_builder.struct_def_id)
        case "map_builder":
            if not assignment.map_builder.HasField("map_type"):
                return None
            return TypeDefinition(inline_map_def=assignment.map_builder.map_type)
        case "node_output":
            node = names.node(assignment.node_output.node_name)
            return None if node is None else names.output_type(node)
        case "expression":
            return _expression(assignment.expression, names)
        case _:
            return None


def _expression(expression: VariableAssignment.Expression, names: Names) -> TypeDefinition | None:
    if expression.WhichOneof("operation") == "comparator":
        return BOOL
    left, right = type_of(expression.lhs, names), type_of(expression.rhs, names)
    match expression.mutation_type:
        case VariableMutationType.ASSIGN:
            return right
        case VariableMutationType.AND | VariableMutationType.OR:
            return BOOL
        case (
            VariableMutationType.ADD
            | VariableMutationType.SUBTRACT
            | VariableMutationType.MULTIPLY
            | VariableMutationType.DIVIDE
        ):
            return _arithmetic(left, right)
        case VariableMutationType.POW:
            return None
        case _:
            return left


def _arithmetic(left: TypeDefinition | None, right: TypeDefinition | None) -> TypeDefinition | None:
    if left is None or left.WhichOneof("defined_type") != "primitive_type":
        return left
    if left.primitive_type not in (VariableType.INT, VariableType.DOUBLE):
        return left
    if right is None:
        return None
    if right.primitive_type == VariableType.DOUBLE:
        return DOUBLE
    return left
