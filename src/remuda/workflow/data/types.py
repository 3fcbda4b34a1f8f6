"""What a TypeDefinition allows, and its name."""

from __future__ import annotations

from typing import Protocol

from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.common_wfspec_pb2 import VariableDef
from littlehorse.model.object_id_pb2 import StructDefId
from littlehorse.model.type_definition_pb2 import (
    InlineStruct,
    InlineStructDef,
    TypeDefinition,
    VariableValue,
)

from remuda.workflow.data.values import parse_json
from remuda.workflow.errors import BadValue

KIND_OF_PRIMITIVE = {
    VariableType.JSON_OBJ: "json_obj",
    VariableType.JSON_ARR: "json_arr",
    VariableType.DOUBLE: "double",
    VariableType.BOOL: "bool",
    VariableType.STR: "str",
    VariableType.INT: "int",
    VariableType.BYTES: "bytes",
    VariableType.WF_RUN_ID: "wf_run_id",
    VariableType.TIMESTAMP: "utc_timestamp",
}
PRIMITIVE_OF_KIND = {kind: primitive for primitive, kind in KIND_OF_PRIMITIVE.items()}


class Structs(Protocol):
    """Where struct definitions are found."""

    def struct_def(self, struct_def_id: StructDefId) -> InlineStructDef | None: ...


def primitive(variable_type: VariableType) -> TypeDefinition:
    return TypeDefinition(primitive_type=variable_type)


STR = primitive(VariableType.STR)
INT = primitive(VariableType.INT)
BOOL = primitive(VariableType.BOOL)
DOUBLE = primitive(VariableType.DOUBLE)
JSON_ARR = primitive(VariableType.JSON_ARR)
JSON_OBJ = primitive(VariableType.JSON_OBJ)
TIMESTAMP = primitive(VariableType.TIMESTAMP)
WF_RUN_ID = primitive(VariableType.WF_RUN_ID)


def type_of_def(variable: VariableDef) -> TypeDefinition:
    """Of a variable: older clients say `type` and `masked_value` instead of `type_def`."""
    if variable.HasField("type_def"):
        return variable.type_def
    return TypeDefinition(primitive_type=variable.type, masked=variable.masked_value)


def type_of_value(value: VariableValue) -> TypeDefinition | None:
    """None for null, which fits every type."""
    match value.WhichOneof("value"):
        case None:
            return None
        case "struct":
            return TypeDefinition(struct_def_id=value.struct.struct_def_id)
        case "array":
            return TypeDefinition(inline_array_def={"array_type": value.array.element_type})
        case "map":
            return TypeDefinition(inline_map_def=value.map.map_type)
        case kind:
            return primitive(PRIMITIVE_OF_KIND[kind])


def type_name(type_def: TypeDefinition) -> str:
    match type_def.WhichOneof("defined_type"):
        case "primitive_type":
            return VariableType.Name(type_def.primitive_type)
        case "struct_def_id":
            return f"Struct<{type_def.struct_def_id.name}>"
        case "inline_array_def":
            return f"Array<{type_name(type_def.inline_array_def.array_type)}>"
        case "inline_map_def":
            keys, values = type_def.inline_map_def.key_type, type_def.inline_map_def.value_type
            return f"Map<{type_name(keys)}, {type_name(values)}>"
        case "inline_struct_def":
            return f"Struct<{', '.join(sorted(type_def.inline_struct_def.fields))}>"
        case _:
            return "nothing"


def same_type(one: TypeDefinition, other: TypeDefinition) -> bool:
    """Equal but for masks, and for the version of a struct where one side does not say it."""
    kind = one.WhichOneof("defined_type")
    if kind != other.WhichOneof("defined_type"):
        return False
    match kind:
        case "primitive_type":
            return one.primitive_type == other.primitive_type
        case "struct_def_id":
            return _same_struct(one.struct_def_id, other.struct_def_id)
        case "inline_array_def":
            return same_type(one.inline_array_def.array_type, other.inline_array_def.array_type)
        case "inline_map_def":
            mine, theirs = one.inline_map_def, other.inline_map_def
            return same_type(mine.key_type, theirs.key_type) and same_type(
                mine.value_type, theirs.value_type
            )
        case _:
            return one.inline_struct_def == other.inline_struct_def


def _same_struct(one: StructDefId, other: StructDefId) -> bool:
    return one.name == other.name and (
        one.version == other.version or -1 in (one.version, other.version)
    )


# ── does a value fit? ────────────────────────────────────────────────────────────────────────


def misfit(value: VariableValue, type_def: TypeDefinition, structs: Structs) -> str | None:
    """Why this value is not of this type; None if it is. Null is of every type."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    match type_def.WhichOneof("defined_type"):
        case "primitive_type":
            if kind != KIND_OF_PRIMITIVE[type_def.primitive_type]:
                return f"expected {type_name(type_def)}, got {_kind_name(value)}"
            return _bad_json(value, kind)
        case "struct_def_id":
            return _struct_misfit(value, type_def.struct_def_id, structs)
        case "inline_struct_def":
            if kind != "struct":
                return f"expected a struct, got {_kind_name(value)}"
            return fields_misfit(value.struct.struct, type_def.inline_struct_def, structs)
        case "inline_array_def":
            return _array_misfit(value, type_def, structs)
        case "inline_map_def":
            return _map_misfit(value, type_def, structs)
        case _:
            return f"expected nothing, got {_kind_name(value)}"


def _kind_name(value: VariableValue) -> str:
    found = type_of_value(value)
    return "null" if found is None else type_name(found)


def _bad_json(value: VariableValue, kind: str) -> str | None:
    if kind not in ("json_obj", "json_arr"):
        return None
    text: str = getattr(value, kind)
    wanted = dict if kind == "json_obj" else list
    try:
        found: object = parse_json(text)
    except BadValue:
        found = None
    if isinstance(found, wanted):
        return None
    noun = "object" if kind == "json_obj" else "array"
    return f"expected a JSON {noun}, got {text[:40]!r}"


def _struct_name(struct_def_id: StructDefId) -> str:
    return f"Struct<{struct_def_id.name}, {struct_def_id.version}>"


def _struct_misfit(value: VariableValue, wanted: StructDefId, structs: Structs) -> str | None:
    if value.WhichOneof("value") != "struct":
        return f"expected Struct<{wanted.name}>, got {_kind_name(value)}"
    found = value.struct.struct_def_id
    if not _same_struct(found, wanted):
        return f"expected {_struct_name(wanted)}, got {_struct_name(found)}"
    definition = structs.struct_def(wanted)
    if definition is None:
        return f"there is no StructDef {wanted.name}"
    return fields_misfit(value.struct.struct, definition, structs)


def fields_misfit(
    struct: InlineStruct, definition: InlineStructDef, structs: Structs
) -> str | None:
    for name in sorted(struct.fields):
        if name not in definition.fields:
            return f"there is no field {name}"
    for name in sorted(definition.fields):
        field = definition.fields[name]
        if name not in struct.fields:
            if not field.HasField("default_value") and not field.is_nullable:
                return f"field {name} is missing"
            continue
        reason = misfit(struct.fields[name].value, field.field_type, structs)
        if reason is not None:
            return f"field {name}: {reason}"
    return None


def _array_misfit(value: VariableValue, type_def: TypeDefinition, structs: Structs) -> str | None:
    if value.WhichOneof("value") != "array":
        return f"expected {type_name(type_def)}, got {_kind_name(value)}"
    for index, item in enumerate(value.array.items):
        reason = misfit(item, type_def.inline_array_def.array_type, structs)
        if reason is not None:
            return f"item {index}: {reason}"
    return None


def _map_misfit(value: VariableValue, type_def: TypeDefinition, structs: Structs) -> str | None:
    if value.WhichOneof("value") != "map":
        return f"expected {type_name(type_def)}, got {_kind_name(value)}"
    for index, entry in enumerate(value.map.entries):
        reason = misfit(entry.key, type_def.inline_map_def.key_type, structs) or misfit(
            entry.value, type_def.inline_map_def.value_type, structs
        )
        if reason is not None:
            return f"entry {index}: {reason}"
    return None
