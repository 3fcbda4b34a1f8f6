"""From one type to another.

Two ways. `assigned` is what happens wherever a value meets a type: it converts an INT to a DOUBLE
and a primitive to a STR, and nothing else. `cast` is what a spec asks for by name, and knows the
conversions of the table below as well. Null stays null.

    from \\ to    INT  DOUBLE  BOOL  STR  BYTES  WF_RUN_ID  TIMESTAMP  JSON_OBJ  JSON_ARR
    INT          =    auto    yes   auto                   yes (ms)
    DOUBLE       yes  =             auto
    BOOL         yes          =     auto
    STR          yes  yes     yes   =    yes    yes        yes        yes       yes
    BYTES                           auto =
    WF_RUN_ID                       auto        =
    TIMESTAMP    yes (ms)           auto                   =
    JSON_OBJ                        yes                               =
    JSON_ARR                        yes                                         =

A DOUBLE is cut off towards zero; `true` is 1. BYTES are base64 as text.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable

from google.protobuf.timestamp_pb2 import Timestamp
from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.type_definition_pb2 import TypeDefinition, VariableValue

from remuda.workflow.data.fill import filled
from remuda.workflow.data.sound import ensure_sound
from remuda.workflow.data.types import (
    KIND_OF_PRIMITIVE,
    Structs,
    misfit,
    type_name,
    type_of_value,
)
from remuda.workflow.data.values import (
    int_value,
    parse_json,
    run_id_from_text,
    text_of,
)
from remuda.workflow.errors import BadValue

MS_MAX = 253_402_300_799_999
"""The last millisecond of the year 9999: later times have no timestamp."""

# Kinds that become a STR wherever one is wanted.
_READS_AS_TEXT = frozenset({"int", "double", "bool", "bytes", "wf_run_id", "utc_timestamp"})


def assigned(value: VariableValue, to: TypeDefinition, structs: Structs) -> VariableValue:
    """The value as a variable, an input or an output of this type holds it."""
    kind = value.WhichOneof("value")
    if kind is None:
        return value
    ensure_sound(value)
    if to.WhichOneof("defined_type") == "primitive_type":
        wanted = to.primitive_type
        if kind == "int" and wanted == VariableType.DOUBLE:
            return VariableValue(double=float(value.int))
        if kind in _READS_AS_TEXT and wanted == VariableType.STR:
            return VariableValue(str=text_of(value))
    reason = misfit(value, to, structs)
    if reason is not None:
        raise BadValue(reason)
    return filled(value, to, structs) if kind == "struct" else value


def assignable(source: TypeDefinition, to: TypeDefinition) -> bool:
    """Whether `assigned` would take every value of `source`, as far as the types tell."""
    if to.WhichOneof("defined_type") != "primitive_type":
        return False
    if source.WhichOneof("defined_type") != "primitive_type":
        return False
    kind = KIND_OF_PRIMITIVE[source.primitive_type]
    if to.primitive_type == VariableType.STR:
        return kind in _READS_AS_TEXT
    return kind == "int" and to.primitive_type == VariableType.DOUBLE


def cast(value: VariableValue, to: TypeDefinition, structs: Structs) -> VariableValue:
    """The value after an explicit cast."""
    kind = value.WhichOneof("value")
    if kind is None:
        return value
    ensure_sound(value)
    if to.WhichOneof("defined_type") == "primitive_type":
        convert = _CONVERSIONS.get((kind, to.primitive_type))
        if convert is not None:
            return convert(value)
    found = type_of_value(value)
    reason = misfit(value, to, structs)
    if reason is not None and found is not None:
        raise BadValue(f"a {type_name(found)} cannot be cast to {type_name(to)}")
    return value


def castable(source: TypeDefinition, to: TypeDefinition) -> bool:
    """Whether there is such a cast. A value may still refuse it: "x" is no INT."""
    if to.WhichOneof("defined_type") != "primitive_type":
        return False
    if source.WhichOneof("defined_type") != "primitive_type":
        return False
    return (KIND_OF_PRIMITIVE[source.primitive_type], to.primitive_type) in _CONVERSIONS


def whole_number(value: VariableValue, what: str) -> int:
    match value.WhichOneof("value"):
        case "int":
            return value.int
        case "double":
            return _truncated(value).int
        case _:
            raise BadValue(f"the {what} must be a number, and is {text_of(value)}")


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _to_text(value: VariableValue) -> VariableValue:
    return VariableValue(str=text_of(value))


def _truncated(value: VariableValue) -> VariableValue:
    if not math.isfinite(value.double):
        raise BadValue(f"{value.double} is not an INT")
    return int_value(int(value.double))


def _text_to_int(value: VariableValue) -> VariableValue:
    try:
        return int_value(int(_plain(value.str)))
    except ValueError as error:
        raise BadValue(f"{value.str[:40]!r} is not an INT") from error


def _text_to_double(value: VariableValue) -> VariableValue:
    try:
        return VariableValue(double=float(_plain(value.str)))
    except ValueError as error:
        raise BadValue(f"{value.str[:40]!r} is not a DOUBLE") from error


def _plain(number: str) -> str:
    """Python takes `1_000` for a number, and nobody else does."""
    if "_" in number:
        raise ValueError(number)
    return number


def _text_to_bool(value: VariableValue) -> VariableValue:
    match value.str.strip().lower():
        case "true":
            return VariableValue(bool=True)
        case "false":
            return VariableValue(bool=False)
        case _:
            raise BadValue(f"{value.str!r} is not a BOOL")


def _text_to_bytes(value: VariableValue) -> VariableValue:
    try:
        return VariableValue(bytes=base64.b64decode(value.str, validate=True))
    except binascii.Error as error:
        raise BadValue(f"{value.str!r} is not base64") from error


def _text_to_timestamp(value: VariableValue) -> VariableValue:
    return VariableValue(utc_timestamp=timestamp_from_text(value.str))


def timestamp_from_text(text: str) -> Timestamp:
    """RFC 3339: `2030-01-31T12:00:00Z`, with fractions and offsets."""
    moment = Timestamp()
    try:
        moment.FromJsonString(text)
    except ValueError as error:
        raise BadValue(f"{text!r} is not a TIMESTAMP such as 2030-01-31T12:00:00Z") from error
    return moment


def int_to_timestamp(value: VariableValue) -> VariableValue:
    if not 0 <= value.int <= MS_MAX:
        raise BadValue(f"{value.int} ms is not a time between 1970 and 9999")
    return VariableValue(utc_timestamp=timestamp_from_ms(value.int))


def timestamp_from_ms(at_ms: int) -> Timestamp:
    return Timestamp(seconds=at_ms // 1000, nanos=at_ms % 1000 * 1_000_000)


def ms_of_timestamp(moment: Timestamp) -> int:
    return moment.seconds * 1000 + moment.nanos // 1_000_000


def _text_to_json_obj(value: VariableValue) -> VariableValue:
    if not isinstance(parse_json(value.str), dict):
        raise BadValue(f"{value.str[:60]!r} is not a JSON_OBJ")
    return VariableValue(json_obj=value.str)


def _text_to_json_arr(value: VariableValue) -> VariableValue:
    if not isinstance(parse_json(value.str), list):
        raise BadValue(f"{value.str[:60]!r} is not a JSON_ARR")
    return VariableValue(json_arr=value.str)


_CONVERSIONS: dict[tuple[str, VariableType], Callable[[VariableValue], VariableValue]] = {
    ("int", VariableType.DOUBLE): lambda value: VariableValue(double=float(value.int)),
    ("int", VariableType.BOOL): lambda value: VariableValue(bool=value.int != 0),
    ("int", VariableType.TIMESTAMP): int_to_timestamp,
    ("double", VariableType.INT): _truncated,
    ("bool", VariableType.INT): lambda value: VariableValue(int=int(value.bool)),
    ("utc_timestamp", VariableType.INT): lambda value: int_value(
        ms_of_timestamp(value.utc_timestamp)
    ),
    ("str", VariableType.INT): _text_to_int,
    ("str", VariableType.DOUBLE): _text_to_double,
    ("str", VariableType.BOOL): _text_to_bool,
    ("str", VariableType.BYTES): _text_to_bytes,
    ("str", VariableType.TIMESTAMP): _text_to_timestamp,
    ("str", VariableType.WF_RUN_ID): lambda value: VariableValue(
        wf_run_id=run_id_from_text(value.str)
    ),
    ("str", VariableType.JSON_OBJ): _text_to_json_obj,
    ("str", VariableType.JSON_ARR): _text_to_json_arr,
    **{
        (kind, VariableType.STR): _to_text
        for kind in (*sorted(_READS_AS_TEXT), "json_obj", "json_arr")
    },
}
