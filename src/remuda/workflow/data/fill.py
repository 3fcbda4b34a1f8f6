"""A struct as it is kept: with the defaults of what it leaves out, and its masks."""

from __future__ import annotations

from littlehorse.model.type_definition_pb2 import (
    InlineStruct,
    InlineStructDef,
    TypeDefinition,
    VariableValue,
)

from remuda.workflow.data.types import Structs


def filled(value: VariableValue, type_def: TypeDefinition, structs: Structs) -> VariableValue:
    """Of a value that fits its type. What is no struct stays as it is."""
    definition = definition_of(type_def, structs)
    if definition is None or value.WhichOneof("value") != "struct":
        return value
    copy = VariableValue()
    copy.CopyFrom(value)
    _fill(copy.struct.struct, definition, structs)
    return copy


def definition_of(type_def: TypeDefinition, structs: Structs) -> InlineStructDef | None:
    match type_def.WhichOneof("defined_type"):
        case "struct_def_id":
            return structs.struct_def(type_def.struct_def_id)
        case "inline_struct_def":
            return type_def.inline_struct_def
        case _:
            return None


def _fill(struct: InlineStruct, definition: InlineStructDef, structs: Structs) -> None:
    for name in sorted(definition.fields):
        wanted = definition.fields[name]
        field = struct.fields[name]
        if field.value.WhichOneof("value") is None and wanted.HasField("default_value"):
            field.value.CopyFrom(wanted.default_value)
        field.masked = wanted.field_type.masked
        inner = definition_of(wanted.field_type, structs)
        if inner is not None and field.value.WhichOneof("value") == "struct":
            _fill(field.value.struct.struct, inner, structs)
