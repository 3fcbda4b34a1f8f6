"""What readers may not see: a masked value reads as `*****`, wherever it is shown."""

from __future__ import annotations

from littlehorse.model.type_definition_pb2 import InlineStruct, VariableValue

from remuda.workflow.data.values import is_null

MASK = VariableValue(str="*****")


def shown(value: VariableValue, masked: bool) -> VariableValue:
    """As a reader sees it. That a value is null is no secret."""
    if is_null(value):
        return value
    if masked:
        return MASK
    if value.WhichOneof("value") == "struct" and _has_masked_field(value.struct.struct):
        return _struct_shown(value)
    return value


def _has_masked_field(struct: InlineStruct) -> bool:
    return any(
        field.masked
        or (
            field.value.WhichOneof("value") == "struct"
            and _has_masked_field(field.value.struct.struct)
        )
        for field in struct.fields.values()
    )


def _struct_shown(value: VariableValue) -> VariableValue:
    copy = VariableValue()
    copy.CopyFrom(value)
    for field in copy.struct.struct.fields.values():
        field.value.CopyFrom(shown(field.value, field.masked))
    return copy
