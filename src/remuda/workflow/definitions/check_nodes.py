"""What a node of a WfSpec must be: that what it names is there, and that types can fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from google.protobuf.message import Message
from littlehorse.model.common_wfspec_pb2 import TaskNode, VariableAssignment, VariableMutation
from littlehorse.model.common_wfspec_pb2 import VariableMutationType as Operation
from littlehorse.model.type_definition_pb2 import TypeDefinition
from littlehorse.model.wf_spec_pb2 import (
    ExitNode,
    LegacyEdgeCondition,
    RunChildWfNode,
    UserTaskNode,
    WaitForThreadsNode,
)

from remuda.workflow.data.casts import assignable, castable
from remuda.workflow.data.paths import parse_path
from remuda.workflow.data.types import BOOL, same_type, type_name
from remuda.workflow.definitions.names import name_problem
from remuda.workflow.definitions.typing import Names, type_of
from remuda.workflow.errors import BadValue
from remuda.workflow.spec import Condition, EdgePlan, NodePlan, is_error
from remuda.workflow.threads import INPUT


def node_problems(names: Names, node: NodePlan) -> Iterator[str]:
    for edge in node.edges:
        yield from _edge_problems(names, edge)
    for handler in node.handlers:
        if handler.thread not in names.plan.threads:
            yield f"there is no thread {handler.thread} to handle its failure"
    yield from _own_problems(names, node)


# ── by kind ──────────────────────────────────────────────────────────────────────────────────


def _own_problems(names: Names, node: NodePlan) -> Iterator[str]:
    spec, work = node.node, names.work
    match node.kind:
        case "task":
            yield from _task_problems(names, spec)
        case "exit":
            yield from _exit_problems(names, spec)
        case "external_event":
            if work.event_def(spec.external_event_def_id.name) is None:
                yield f"there is no ExternalEventDef {spec.external_event_def_id.name}"
            yield from _given(names, spec, "timeout_seconds", "correlation_key")
        case "sleep":
            which = spec.WhichOneof("sleep_length")
            if which is None:
                yield "it does not say how long"
            else:
                yield from _given(names, spec, which)
        case "throw_event":
            if work.thrown_def(spec.event_def_id.name) is None:
                yield f"there is no WorkflowEventDef {spec.event_def_id.name}"
            yield from _given(names, spec, "content")
        case "user_task":
            yield from _user_task_problems(names, spec)
        case "start_thread":
            yield from _start_problems(names, spec.thread_spec_name, spec.variables, ())
        case "start_multiple_threads":
            yield from _start_problems(names, spec.thread_spec_name, spec.variables, (INPUT,))
            yield from _given(names, spec, "iterable")
        case "wait_for_threads":
            yield from _wait_problems(names, spec)
        case "wait_for_condition":
            which = spec.WhichOneof("node_condition")
            if which is None:
                yield "it has no condition"
            else:
                yield from _condition_problems(names, getattr(spec, which))
        case "run_child_wf":
            yield from _run_child_problems(names, spec)
        case "wait_for_child_wf":
            yield from _given(names, spec, "child_wf_run_id")
        case _:
            return


def _task_problems(names: Names, task: TaskNode) -> Iterator[str]:
    for assignment in task.variables:
        yield from assignment_problems(names, assignment)
    if task.retries < 0:
        yield f"it cannot have {task.retries} retries"
    if task.timeout_seconds < 0:
        yield f"it cannot time out after {task.timeout_seconds} s"
    if task.HasField("exponential_backoff"):
        policy = task.exponential_backoff
        if not (math.isfinite(policy.multiplier) and policy.multiplier >= 0):
            yield f"a wait cannot grow by {policy.multiplier}"
        if policy.base_interval_ms < 0 or policy.max_delay_ms < 0:
            yield "a wait before a retry is not negative"
    if task.WhichOneof("task_to_execute") != "task_def_id":
        yield from _given(names, task, "dynamic_task")
        return
    name = task.task_def_id.name
    plan = names.work.task_plan(name)
    if plan is None:
        yield f"there is no TaskDef {name}"
        return
    needed = sum(1 for _, _, _, default in plan.inputs if default is None)
    if not needed <= len(task.variables) <= len(plan.inputs):
        yield f"TaskDef {name} takes {len(plan.inputs)} inputs, not {len(task.variables)}"
        return
    for (label, wanted, _, _), given in zip(plan.inputs, task.variables, strict=False):
        yield from _fit(names, given, wanted, f"input {label} of TaskDef {name}")


def _exit_problems(names: Names, spec: ExitNode) -> Iterator[str]:
    yield from _given(names, spec, "return_content")
    if spec.WhichOneof("result") == "failure_def":
        failure = spec.failure_def
        problem = None if is_error(failure.failure_name) else name_problem(failure.failure_name)
        if problem is not None:
            yield f"the name of its failure: {problem}"
        yield from _given(names, failure, "content")


def _user_task_problems(names: Names, spec: UserTaskNode) -> Iterator[str]:
    version = spec.user_task_def_version if spec.HasField("user_task_def_version") else None
    if names.work.user_task_def(spec.user_task_def_name, version) is None:
        yield f"there is no UserTaskDef {spec.user_task_def_name}"
    yield from _given(
        names, spec, "user_id", "user_group", "notes", "on_cancellation_exception_name"
    )
    for action in spec.actions:
        yield from _given(names, action, "delay_seconds")
        if action.WhichOneof("action") == "task":
            yield from _task_problems(names, action.task.task)
        elif action.WhichOneof("action") == "reassign":
            yield from _given(names, action.reassign, "user_id", "user_group")


def _start_problems(
    names: Names,
    thread_name: str,
    given: Mapping[str, VariableAssignment],
    also: tuple[str, ...],
) -> Iterator[str]:
    thread = names.plan.threads.get(thread_name)
    if thread is None:
        yield f"there is no thread {thread_name}"
        return
    for name in sorted(given):
        yield from assignment_problems(names, given[name])
        if name not in thread.variables:
            yield f"thread {thread_name} has no variable {name}"
        else:
            wanted = thread.variables[name].type_def
            yield from _fit(names, given[name], wanted, f"variable {name} of thread {thread_name}")
    for name, variable in thread.variables.items():
        if variable.required and name not in given and name not in also:
            yield f"thread {thread_name} requires variable {name}"


def _wait_problems(names: Names, spec: WaitForThreadsNode) -> Iterator[str]:
    if spec.WhichOneof("threads_to_wait_for") == "threads":
        for one in spec.threads.threads:
            yield from assignment_problems(names, one.thread_run_number)
    else:
        yield from _given(names, spec, "thread_list")
    for handler in spec.per_thread_failure_handlers:
        if handler.handler_spec_name not in names.plan.threads:
            yield f"there is no thread {handler.handler_spec_name} to handle a failure"


def _run_child_problems(names: Names, spec: RunChildWfNode) -> Iterator[str]:
    yield from _given(names, spec, "child_id")
    for key in sorted(spec.inputs):
        yield from assignment_problems(names, spec.inputs[key])
    if spec.WhichOneof("wf_spec") == "wf_spec_var":
        yield from _given(names, spec, "wf_spec_var")
        return
    if spec.wf_spec_name == names.plan.spec_id.name:
        return
    plan = names.work.latest_plan(spec.wf_spec_name, spec.major_version)
    if plan is None:
        yield f"there is no WfSpec {spec.wf_spec_name}"
        return
    variables = plan.threads[plan.entrypoint].variables
    for key in sorted(spec.inputs):
        if key not in variables:
            yield f"WfSpec {spec.wf_spec_name} has no variable {key}"
        else:
            place = f"variable {key} of WfSpec {spec.wf_spec_name}"
            yield from _fit(names, spec.inputs[key], variables[key].type_def, place)


# ── edges ────────────────────────────────────────────────────────────────────────────────────


def _edge_problems(names: Names, edge: EdgePlan) -> Iterator[str]:
    yield from _condition_problems(names, edge.condition)
    for mutation in edge.mutations:
        yield from _mutation_problems(names, mutation)


def _condition_problems(names: Names, condition: Condition) -> Iterator[str]:
    if condition is None:
        return
    if isinstance(condition, LegacyEdgeCondition):
        yield from assignment_problems(names, condition.left)
        yield from assignment_problems(names, condition.right)
        return
    yield from assignment_problems(names, condition)
    found = type_of(condition, names)
    if found is not None and not same_type(found, BOOL):
        yield f"a condition is a {type_name(found)}, not a BOOL"


def _mutation_problems(names: Names, mutation: VariableMutation) -> Iterator[str]:
    variable = names.variable(mutation.lhs_name)
    if variable is None:
        yield f"there is no variable {mutation.lhs_name} to change"
        return
    if mutation.HasField("lhs_json_path"):
        yield from path_problems(mutation.lhs_json_path)
    which = mutation.WhichOneof("rhs_value")
    if which is None:
        yield f"the change of {mutation.lhs_name} has no right side"
    if which != "rhs_assignment":
        return
    yield from assignment_problems(names, mutation.rhs_assignment)
    inside = mutation.HasField("lhs_json_path") or mutation.HasField("lhs_lh_path")
    if mutation.operation == Operation.ASSIGN and not inside:
        place = f"variable {mutation.lhs_name}"
        yield from _fit(names, mutation.rhs_assignment, variable.type_def, place)


# ── assignments ──────────────────────────────────────────────────────────────────────────────


def _given(names: Names, message: Message, *fields: str) -> Iterator[str]:
    """The problems of those of these fields that are set."""
    for field in fields:
        if message.HasField(field):
            yield from assignment_problems(names, getattr(message, field))


def assignment_problems(names: Names, assignment: VariableAssignment) -> Iterator[str]:
    if assignment.WhichOneof("path") == "json_path":
        yield from path_problems(assignment.json_path)
    match assignment.WhichOneof("source"):
        case "variable_name":
            if names.variable(assignment.variable_name) is None:
                yield f"there is no variable {assignment.variable_name}"
        case "node_output":
            if names.node(assignment.node_output.node_name) is None:
                yield f"there is no node {assignment.node_output.node_name}"
        case "format_string":
            yield from assignment_problems(names, assignment.format_string.format)
            for argument in assignment.format_string.args:
                yield from assignment_problems(names, argument)
        case "expression":
            yield from assignment_problems(names, assignment.expression.lhs)
            yield from assignment_problems(names, assignment.expression.rhs)
        case "size_of":
            yield from assignment_problems(names, assignment.size_of.operand)
        case "struct_builder":
            if names.work.struct_def(assignment.struct_builder.struct_def_id) is None:
                yield f"there is no StructDef {assignment.struct_builder.struct_def_id.name}"
        case "map_builder":
            for entry in assignment.map_builder.entries:
                yield from assignment_problems(names, entry.key)
                yield from assignment_problems(names, entry.value)
        case None:
            yield "an assignment has no source"
        case _:
            return
    yield from _cast_problems(names, assignment)


def _cast_problems(names: Names, assignment: VariableAssignment) -> Iterator[str]:
    if not assignment.HasField("target_type"):
        return
    bare = VariableAssignment()
    bare.CopyFrom(assignment)
    bare.ClearField("target_type")
    found, wanted = type_of(bare, names), assignment.target_type
    if found is not None and not same_type(found, wanted) and not castable(found, wanted):
        yield f"a {type_name(found)} cannot be cast to {type_name(wanted)}"


def path_problems(path: str) -> Iterator[str]:
    try:
        parse_path(path)
    except BadValue as error:
        yield str(error)


def _fit(
    names: Names, given: VariableAssignment, wanted: TypeDefinition, place: str
) -> Iterator[str]:
    found = type_of(given, names)
    if found is not None and not same_type(found, wanted) and not assignable(found, wanted):
        yield f"{place} is a {type_name(wanted)} and is given a {type_name(found)}; cast it"
