# JSON is of any shape.
# pyright: basic
"""A VariableValue as Python data and back, as text, and as a size."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from littlehorse.model.object_id_pb2 import WfRunId
from littlehorse.model.type_definition_pb2 import InlineStruct, VariableValue

from remuda.workflow.errors import BadValue

NULL = VariableValue()

JSON_DEPTH_MAX = 100

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1


def is_null(value: VariableValue) -> bool:
    return value.WhichOneof("value") is None


# ── as Python data ───────────────────────────────────────────────────────────────────────────


def data_of(value: VariableValue) -> Any:
    """What is inside: JSON as dicts and lists, structs and maps as dicts, arrays as lists.

    Bytes, timestamps and run ids stay what they are; inside JSON they would be text.
    """
    match value.WhichOneof("value"):
        case None:
            return None
        case "json_obj" | "json_arr" as kind:
            return parse_json(getattr(value, kind))
        case "struct":
            return _struct_data(value.struct.struct)
        case "array":
            return [data_of(item) for item in value.array.items]
        case "map":
            return {text_of(entry.key): data_of(entry.value) for entry in value.map.entries}
        case kind:
            return getattr(value, kind)


def value_of(data: Any) -> VariableValue:
    """The value that JSON data, bytes, a timestamp or a run id is."""
    match data:
        case None:
            return NULL
        case bool():
            return VariableValue(bool=data)
        case int():
            return int_value(data)
        case float():
            return VariableValue(double=data)
        case str():
            return VariableValue(str=data)
        case bytes():
            return VariableValue(bytes=data)
        case dict():
            return VariableValue(json_obj=json_text(data))
        case list():
            return VariableValue(json_arr=json_text(data))
        case Timestamp():
            return VariableValue(utc_timestamp=data)
        case WfRunId():
            return VariableValue(wf_run_id=data)
        case _:
            raise BadValue(f"a {type(data).__name__} is not a value")


def int_value(number: int) -> VariableValue:
    if not INT_MIN <= number <= INT_MAX:
        raise BadValue(f"{number} does not fit into an INT of 64 bits")
    return VariableValue(int=number)


def _struct_data(struct: InlineStruct) -> dict[str, Any]:
    return {name: data_of(struct.fields[name].value) for name in sorted(struct.fields)}


# ── as JSON and as text ──────────────────────────────────────────────────────────────────────


def parse_json(text: str) -> Any:
    if text.count("[") + text.count("{") > JSON_DEPTH_MAX and _depth(text) > JSON_DEPTH_MAX:
        raise BadValue(f"JSON is nested deeper than {JSON_DEPTH_MAX}: {text[:60]!r}")
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise BadValue(f"this is not JSON: {text[:60]!r}") from error


def _depth(text: str) -> int:
    """How deep brackets are nested; those in strings count, which is on the safe side."""
    depth = deepest = 0
    for character in text:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def json_text(data: Any) -> str:
    return msgspec.json.encode(data, enc_hook=_json_leaf).decode()


def _json_leaf(data: Any) -> Any:
    if isinstance(data, Timestamp):
        return timestamp_text(data)
    if isinstance(data, WfRunId):
        return run_id_text(data)
    raise BadValue(f"a {type(data).__name__} cannot stand in JSON")


def timestamp_text(moment: Timestamp) -> str:
    try:
        return moment.ToJsonString()
    except ValueError as error:
        raise BadValue("a timestamp is not between the years 1 and 9999") from error


def text_of(value: VariableValue) -> str:
    """As it appears in a format string, or when it becomes a STR."""
    match value.WhichOneof("value"):
        case None:
            return "null"
        case "str":
            return value.str
        case "bool":
            return "true" if value.bool else "false"
        case "json_obj":
            return value.json_obj
        case "json_arr":
            return value.json_arr
        case "bytes":
            return base64.b64encode(value.bytes).decode()
        case "wf_run_id":
            return run_id_text(value.wf_run_id)
        case "utc_timestamp":
            return timestamp_text(value.utc_timestamp)
        case "int" | "double" as kind:
            return repr(getattr(value, kind))
        case _:
            return json_text(data_of(value))


# ── run ids ──────────────────────────────────────────────────────────────────────────────────


def run_id_text(run_id: WfRunId) -> str:
    """`grandparent_parent_child`: `_` cannot be part of an id."""
    if not run_id.HasField("parent_wf_run_id"):
        return run_id.id
    return f"{run_id_text(run_id.parent_wf_run_id)}_{run_id.id}"


def run_id_from_text(text: str) -> WfRunId:
    return run_id_from_names(text.split("_"))


def run_id_from_names(names: Iterable[str]) -> WfRunId:
    run_id: WfRunId | None = None
    for name in names:
        if not name:
            raise BadValue("a run id has no empty part")
        run_id = WfRunId(id=name, parent_wf_run_id=run_id)
    if run_id is None:
        raise BadValue("a run id has at least one part")
    return run_id


# ── sizes ────────────────────────────────────────────────────────────────────────────────────


def size_of(value: VariableValue) -> int:
    """How many items, entries, fields, characters or bytes; null has none."""
    match value.WhichOneof("value"):
        case None:
            return 0
        case "str":
            return len(value.str)
        case "bytes":
            return len(value.bytes)
        case "json_obj" | "json_arr" | "struct" | "array" | "map":
            return len(data_of(value))
        case kind:
            raise BadValue(f"a {kind} has no size")
