"""What no message may contain, whoever sent it: unknown enums, nesting without end, no times.

A message that is nested deeper than a parser follows could be written and never read again, and an
enum without a name has no place in any table; a timestamp may be no time. All are stopped here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from littlehorse.model.type_definition_pb2 import VariableValue

from remuda.workflow.errors import BadValue

DEPTH_MAX = 60
VALUE_DEPTH_MAX = 30

_INSIDE = frozenset({"struct", "array", "map", "wf_run_id", "utc_timestamp"})
"""The kinds of values that have to be looked into."""


def problem(message: Message, depth_max: int = DEPTH_MAX, place: str = "") -> str | None:
    """What is wrong with a message, with the field; None if nothing is."""
    if depth_max == 0:
        return f"{place[:80]}… is nested too deep"
    if isinstance(message, Timestamp):
        return None if _is_a_time(message) else f"{place}: not a time between the years 1 and 9999"
    for field, value in message.ListFields():
        here = f"{place}.{field.name}" if place else field.name
        found = _field_problem(field, value, depth_max, here)
        if found is not None:
            return found
    return None


def ensure_sound(value: VariableValue) -> None:
    if value.WhichOneof("value") in _INSIDE:
        found = problem(value, VALUE_DEPTH_MAX)
        if found is not None:
            raise BadValue(found)


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _is_a_time(moment: Timestamp) -> bool:
    in_years = -62_135_596_800 <= moment.seconds <= 253_402_300_799
    return in_years and 0 <= moment.nanos < 1_000_000_000


def _field_problem(field: FieldDescriptor, value: Any, depth_max: int, here: str) -> str | None:
    if field.enum_type is not None:
        numbers: list[int] = list(value) if field.is_repeated else [value]
        for number in numbers:
            if number not in field.enum_type.values_by_number:
                return f"{here}: there is no {field.enum_type.name} {number}"
        return None
    for place, message in _messages(field, value, here):
        found = problem(message, depth_max - 1, place)
        if found is not None:
            return found
    return None


def _messages(field: FieldDescriptor, value: Any, here: str) -> Iterator[tuple[str, Message]]:
    """The messages in a field, each with its place."""
    if field.message_type is None:
        return
    if field.message_type.GetOptions().map_entry:
        if field.message_type.fields_by_name["value"].message_type is not None:
            for key in sorted(value):
                yield f"{here}[{key}]", value[key]
    elif field.is_repeated:
        for number, one in enumerate(value):
            yield f"{here}[{number}]", one
    else:
        yield here, value
