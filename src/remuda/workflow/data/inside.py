"""Reading and writing inside typed values: structs, arrays and maps keep the types of their parts.

JSON inside them, and JSON values themselves, are handled as data by `paths`.
"""

from __future__ import annotations

from collections.abc import Sequence

from littlehorse.model.type_definition_pb2 import Map, VariableValue

from remuda.workflow.data.paths import Step, keys_path, read, written
from remuda.workflow.data.values import NULL, data_of, text_of, value_of
from remuda.workflow.errors import BadValue


def read_keys(value: VariableValue, keys: Sequence[str | int]) -> VariableValue:
    """What the keys and indexes lead to; null where they lead nowhere."""
    for number, key in enumerate(keys):
        match value.WhichOneof("value"):
            case "struct":
                fields = value.struct.struct.fields
                value = fields[str(key)].value if str(key) in fields else NULL
            case "array":
                items = value.array.items
                inside = isinstance(key, int) and -len(items) <= key < len(items)
                value = items[int(key)] if inside else NULL
            case "map":
                entry = _entry(value.map, key)
                value = NULL if entry is None else entry.value
            case "json_obj" | "json_arr":
                return value_of(read(data_of(value), keys_path(keys[number:])))
            case _:
                return NULL
    return value


def read_path(value: VariableValue, steps: Sequence[Step]) -> VariableValue:
    return value_of(read(data_of(value), steps))


def written_keys(
    value: VariableValue, keys: Sequence[str | int], new: VariableValue
) -> VariableValue:
    """The value with `new` at the place that keys and indexes say."""
    if not keys:
        return new
    key, rest = keys[0], keys[1:]
    copy = VariableValue()
    copy.CopyFrom(value)
    match value.WhichOneof("value"):
        case "struct":
            fields = copy.struct.struct.fields
            fields[str(key)].value.CopyFrom(written_keys(fields[str(key)].value, rest, new))
        case "array":
            items = copy.array.items
            if not isinstance(key, int) or not -len(items) <= key < len(items):
                raise BadValue(f"there is no place {key!r} in an array of {len(items)}")
            items[key].CopyFrom(written_keys(items[key], rest, new))
        case "map":
            entry = _entry(copy.map, key)
            if entry is None:
                entry = copy.map.entries.add(key=value_of(key))
            entry.value.CopyFrom(written_keys(entry.value, rest, new))
        case "json_obj" | "json_arr":
            return value_of(written(data_of(value), keys_path(keys), data_of(new)))
        case _:
            raise BadValue(f"there is no place {key!r} in a value that has no parts")
    return copy


def written_path(value: VariableValue, steps: Sequence[Step], new: VariableValue) -> VariableValue:
    if value.WhichOneof("value") in ("struct", "array", "map"):
        return written_keys(value, [step.at for step in steps], new)
    return value_of(written(data_of(value), steps, data_of(new)))


def _entry(found: Map, key: str | int) -> Map.Entry | None:
    return next((entry for entry in found.entries if text_of(entry.key) == str(key)), None)
