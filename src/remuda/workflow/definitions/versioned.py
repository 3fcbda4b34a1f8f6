"""UserTaskDef and StructDef: a change is a new version."""

from __future__ import annotations

from littlehorse.model.service_pb2 import (
    PutStructDefRequest,
    PutUserTaskDefRequest,
    StructDefCompatibilityType,
)
from littlehorse.model.struct_def_pb2 import StructDef
from littlehorse.model.type_definition_pb2 import InlineStructDef
from littlehorse.model.user_tasks_pb2 import UserTaskDef

from remuda.partition.machine import Rejection
from remuda.workflow.data.types import misfit, same_type
from remuda.workflow.definitions.definition import Refusal, Version, invalid, last_version, store
from remuda.workflow.definitions.names import name_problem
from remuda.workflow.definitions.plain import type_problem
from remuda.workflow.work import Work


def put_user_task_def(work: Work, request: PutUserTaskDefRequest) -> UserTaskDef | Refusal:
    problem = name_problem(request.name)
    names = [field.name for field in request.fields]
    if problem is None and not all(names):
        problem = "a field has no name"
    if problem is None and len(set(names)) != len(names):
        problem = "two fields have the same name"
    if problem is not None:
        return invalid(f"UserTaskDef {request.name}: {problem}")
    new = UserTaskDef(name=request.name, fields=request.fields, created_at=work.now)
    if request.HasField("description"):
        new.description = request.description
    data = work.latest("user-task", request.name)
    if data is not None:
        old = UserTaskDef.FromString(data)
        new.created_at.CopyFrom(old.created_at)
        new.version = old.version
        if new == old:
            return old
        new.created_at.CopyFrom(work.now)
    new.version = _next(work, "user-task", request.name)
    store(work, "user-task", request.name, Version(new.version), new)
    return new


def put_struct_def(work: Work, request: PutStructDefRequest) -> StructDef | Refusal:
    problem = name_problem(request.name) or fields_problem(work, request.struct_def)
    if problem is not None:
        return invalid(f"StructDef {request.name}: {problem}")
    new = StructDef(created_at=work.now, struct_def=request.struct_def)
    new.id.name = request.name
    if request.HasField("description"):
        new.description = request.description
    data = work.latest("struct", request.name)
    if data is not None:
        old = StructDef.FromString(data)
        if old.struct_def == new.struct_def:
            return old
        if request.allowed_updates == StructDefCompatibilityType.NO_SCHEMA_UPDATES:
            reason = f"there is another StructDef {request.name}, and updates are not allowed"
            return Refusal(Rejection.EXISTS, reason)
        reason = incompatibility(old.struct_def, new.struct_def)
        if reason is not None:
            return invalid(f"StructDef {request.name} would not be compatible: {reason}")
    new.id.version = _next(work, "struct", request.name)
    store(work, "struct", request.name, Version(new.id.version), new)
    return new


def fields_problem(work: Work, definition: InlineStructDef) -> str | None:
    for name in sorted(definition.fields):
        field = definition.fields[name]
        problem = type_problem(work, field.field_type, f"field {name}")
        if problem is not None:
            return problem
        if field.HasField("default_value"):
            reason = misfit(field.default_value, field.field_type, work)
            if reason is not None:
                return f"the default of field {name}: {reason}"
    return None


def incompatibility(old: InlineStructDef, new: InlineStructDef) -> str | None:
    """Why values of one would not do for the other; None if they do, both ways."""
    for name in sorted({*old.fields, *new.fields}):
        before = old.fields.get(name)
        after = new.fields.get(name)
        if before is not None and after is not None:
            if not same_type(before.field_type, after.field_type):
                return f"field {name} has another type"
            continue
        field = after if after is not None else before
        verb = "new" if after is not None else "gone"
        if field is not None and not field.HasField("default_value") and not field.is_nullable:
            return f"field {name} is {verb}, and has no default"
    return None


def _next(work: Work, kind: str, name: str) -> int:
    last = last_version(work, kind, name)
    return 0 if last is None else last.major + 1
