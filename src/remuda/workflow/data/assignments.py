"""A VariableAssignment, in a scope, as a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from littlehorse.model.common_wfspec_pb2 import (
    InlineStructBuilder,
    LHPath,
    MapBuilder,
    StructBuilder,
    VariableAssignment,
)
from littlehorse.model.type_definition_pb2 import InlineStruct, InlineStructDef, VariableValue

from remuda.workflow.data.casts import assigned, cast
from remuda.workflow.data.comparisons import compared
from remuda.workflow.data.formats import formatted
from remuda.workflow.data.inside import read_keys, read_path
from remuda.workflow.data.mutations import mutated
from remuda.workflow.data.paths import parse_path
from remuda.workflow.data.types import Structs
from remuda.workflow.data.values import is_null, size_of, text_of
from remuda.workflow.errors import BadValue


class Scope(Structs, Protocol):
    """What an assignment can see: variables, and what nodes of the thread have put out."""

    def variable(self, name: str) -> VariableValue: ...

    def node_output(self, node_name: str) -> VariableValue: ...


def evaluated(assignment: VariableAssignment, scope: Scope) -> VariableValue:
    """The value that an assignment stands for. Raises `BadValue` where there is none."""
    value = _source(assignment, scope)
    match assignment.WhichOneof("path"):
        case "json_path":
            value = read_path(value, parse_path(assignment.json_path))
        case "lh_path":
            value = read_keys(value, keys_of(assignment.lh_path, scope))
        case _:
            pass
    if assignment.HasField("target_type"):
        return cast(value, assignment.target_type, scope)
    return value


def truth(condition: VariableAssignment, scope: Scope) -> bool:
    value = evaluated(condition, scope)
    if value.WhichOneof("value") != "bool":
        raise BadValue(f"a condition must be a BOOL, and this is {text_of(value)}")
    return value.bool


def keys_of(path: LHPath, scope: Scope) -> Sequence[str | int]:
    keys: list[str | int] = []
    for selector in path.path:
        match selector.WhichOneof("selector_type"):
            case "key":
                keys.append(selector.key)
            case "index":
                keys.append(selector.index)
            case _:
                found = evaluated(selector.dynamic, scope)
                keys.append(found.int if found.WhichOneof("value") == "int" else text_of(found))
    return keys


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _source(assignment: VariableAssignment, scope: Scope) -> VariableValue:
    match assignment.WhichOneof("source"):
        case "variable_name":
            return scope.variable(assignment.variable_name)
        case "literal_value":
            return assignment.literal_value
        case "node_output":
            return scope.node_output(assignment.node_output.node_name)
        case "format_string":
            return _format(assignment.format_string, scope)
        case "expression":
            return _expression(assignment.expression, scope)
        case "struct_builder":
            return _struct(assignment.struct_builder, scope)
        case "map_builder":
            return _map(assignment.map_builder, scope)
        case "size_of":
            return VariableValue(int=size_of(evaluated(assignment.size_of.operand, scope)))
        case _:
            raise BadValue("an assignment has no source")


def _format(found: VariableAssignment.FormatString, scope: Scope) -> VariableValue:
    pattern = evaluated(found.format, scope)
    arguments = [text_of(evaluated(argument, scope)) for argument in found.args]
    return VariableValue(str=formatted(text_of(pattern), arguments))


def _expression(found: VariableAssignment.Expression, scope: Scope) -> VariableValue:
    left, right = evaluated(found.lhs, scope), evaluated(found.rhs, scope)
    if found.WhichOneof("operation") == "comparator":
        return VariableValue(bool=compared(left, found.comparator, right))
    return mutated(left, found.mutation_type, right)


def _struct(builder: StructBuilder, scope: Scope) -> VariableValue:
    definition = scope.struct_def(builder.struct_def_id)
    if definition is None:
        raise BadValue(f"there is no StructDef {builder.struct_def_id.name}")
    value = VariableValue()
    value.struct.struct_def_id.CopyFrom(builder.struct_def_id)
    _build(value.struct.struct, builder.value, definition, scope)
    return value


def _build(
    struct: InlineStruct, builder: InlineStructBuilder, definition: InlineStructDef, scope: Scope
) -> None:
    for name in sorted(builder.fields):
        if name not in definition.fields:
            raise BadValue(f"there is no field {name}")
    for name in sorted(definition.fields):
        wanted = definition.fields[name]
        field = struct.fields[name]
        field.masked = wanted.field_type.masked
        if name not in builder.fields:
            if not wanted.HasField("default_value") and not wanted.is_nullable:
                raise BadValue(f"field {name} is missing")
            field.value.CopyFrom(wanted.default_value)
            continue
        given = builder.fields[name]
        if given.WhichOneof("struct_value") == "sub_structure":
            inner = scope.struct_def(wanted.field_type.struct_def_id)
            if inner is None:
                raise BadValue(f"field {name} is not a struct")
            field.value.struct.struct_def_id.CopyFrom(wanted.field_type.struct_def_id)
            _build(field.value.struct.struct, given.sub_structure, inner, scope)
        else:
            found = evaluated(given.simple_value, scope)
            field.value.CopyFrom(assigned(found, wanted.field_type, scope))


def _map(builder: MapBuilder, scope: Scope) -> VariableValue:
    value = VariableValue()
    value.map.map_type.CopyFrom(builder.map_type)
    typed = builder.HasField("map_type")
    for given in builder.entries:
        key, item = evaluated(given.key, scope), evaluated(given.value, scope)
        if is_null(key):
            raise BadValue("a map has no null key")
        if typed:
            key = assigned(key, builder.map_type.key_type, scope)
            item = assigned(item, builder.map_type.value_type, scope)
        value.map.entries.add(key=key, value=item)
    return value
