"""TaskDef, ExternalEventDef and WorkflowEventDef: one version, which never changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from littlehorse.model.common_wfspec_pb2 import VariableDef
from littlehorse.model.external_event_pb2 import ExternalEventDef
from littlehorse.model.service_pb2 import (
    PutExternalEventDefRequest,
    PutTaskDefRequest,
    PutWorkflowEventDefRequest,
)
from littlehorse.model.task_def_pb2 import TaskDef
from littlehorse.model.type_definition_pb2 import TypeDefinition
from littlehorse.model.workflow_event_pb2 import WorkflowEventDef

from remuda.partition.machine import Rejection
from remuda.workflow.data.types import misfit, type_of_def
from remuda.workflow.definitions.definition import Refusal, Version, invalid, store
from remuda.workflow.definitions.names import name_problem
from remuda.workflow.keys import definition_key
from remuda.workflow.work import Work

P = TypeVar("P", TaskDef, ExternalEventDef, WorkflowEventDef)


def put_task_def(work: Work, request: PutTaskDefRequest) -> TaskDef | Refusal:
    problem = name_problem(request.name) or _inputs_problem(work, request.input_vars)
    if problem is None and request.HasField("return_type"):
        problem = type_problem(work, request.return_type.return_type, "return_type")
    if problem is not None:
        return invalid(f"TaskDef {request.name}: {problem}")
    task = TaskDef(created_at=work.now, input_vars=request.input_vars)
    task.id.name = request.name
    if request.HasField("return_type"):
        task.return_type.CopyFrom(request.return_type)
    if request.HasField("description"):
        task.description = request.description
    return _put(work, "task", request.name, task)


def put_external_event_def(
    work: Work, request: PutExternalEventDefRequest
) -> ExternalEventDef | Refusal:
    problem = name_problem(request.name)
    if problem is None and request.HasField("content_type"):
        problem = type_problem(work, request.content_type.return_type, "content_type")
    if problem is not None:
        return invalid(f"ExternalEventDef {request.name}: {problem}")
    event = ExternalEventDef(created_at=work.now, retention_policy=request.retention_policy)
    event.id.name = request.name
    if request.HasField("content_type"):
        event.type_information.CopyFrom(request.content_type)
    if request.HasField("correlated_event_config"):
        event.correlated_event_config.CopyFrom(request.correlated_event_config)
    return _put(work, "event", request.name, event)


def put_workflow_event_def(
    work: Work, request: PutWorkflowEventDefRequest
) -> WorkflowEventDef | Refusal:
    problem = name_problem(request.name)
    if problem is None and request.HasField("content_type"):
        problem = type_problem(work, request.content_type.return_type, "content_type")
    if problem is not None:
        return invalid(f"WorkflowEventDef {request.name}: {problem}")
    event = WorkflowEventDef(created_at=work.now)
    event.id.name = request.name
    if request.HasField("content_type"):
        event.content_type.CopyFrom(request.content_type)
    return _put(work, "workflow-event", request.name, event)


def type_problem(work: Work, type_def: TypeDefinition, place: str) -> str | None:
    """What is wrong with a type, at any depth. A type with nothing in it is "no value"."""
    match type_def.WhichOneof("defined_type"):
        case "struct_def_id":
            if work.struct_def(type_def.struct_def_id) is None:
                return f"{place}: there is no StructDef {type_def.struct_def_id.name}"
            return None
        case "inline_array_def":
            return type_problem(work, type_def.inline_array_def.array_type, f"{place}, items")
        case "inline_map_def":
            found = type_def.inline_map_def
            return type_problem(work, found.key_type, f"{place}, keys") or type_problem(
                work, found.value_type, f"{place}, values"
            )
        case "inline_struct_def":
            fields = type_def.inline_struct_def.fields
            problems = (
                type_problem(work, fields[name].field_type, f"{place}, field {name}")
                for name in sorted(fields)
            )
            return next((problem for problem in problems if problem is not None), None)
        case _:
            return None


def variable_problem(work: Work, variable: VariableDef) -> str | None:
    if not variable.name:
        return "a variable has no name"
    type_def = type_of_def(variable)
    problem = type_problem(work, type_def, f"variable {variable.name}")
    if problem is None and variable.HasField("default_value"):
        reason = misfit(variable.default_value, type_def, work)
        if reason is not None:
            return f"the default of variable {variable.name}: {reason}"
    return problem


def _inputs_problem(work: Work, variables: Iterable[VariableDef]) -> str | None:
    seen: set[str] = set()
    for variable in variables:
        if variable.name in seen:
            return f"there are two inputs {variable.name}"
        seen.add(variable.name)
        problem = variable_problem(work, variable)
        if problem is not None:
            return problem
    return None


def _put(work: Work, kind: str, name: str, new: P) -> P | Refusal:
    data = work.state.get(definition_key(work.tenant, kind, name))
    if data is None:
        store(work, kind, name, Version(), new)
        return new
    old = type(new).FromString(data)
    new.created_at.CopyFrom(old.created_at)
    if new == old:
        return old
    return Refusal(
        Rejection.EXISTS, f"there is another {type(new).__name__} {name}: delete it first"
    )
