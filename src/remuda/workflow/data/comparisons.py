# JSON is of any shape.
# pyright: basic
"""The comparators of conditions.

Numbers compare as numbers, whichever kind they are; text by code point; timestamps by time. Equal
is what has the same content: JSON objects whatever the order of their keys. Null equals null only,
and has no order. `IN` asks an array for an item, an object or a map for a key, a text for a part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from littlehorse.model.type_definition_pb2 import Comparator, VariableValue

from remuda.workflow.data.types import type_name, type_of_value
from remuda.workflow.data.values import data_of, text_of
from remuda.workflow.errors import BadValue


def compared(left: VariableValue, comparator: Comparator, right: VariableValue) -> bool:
    match comparator:
        case Comparator.EQUALS:
            return same(data_of(left), data_of(right))
        case Comparator.NOT_EQUALS:
            return not same(data_of(left), data_of(right))
        case Comparator.IN:
            return contains(right, left)
        case Comparator.NOT_IN:
            return not contains(right, left)
        case _:
            return _ORDERS[comparator](*_ordered(left, right))


def same(one: Any, other: Any) -> bool:
    """Equal as data. True is not 1, although Python says so."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, Message) or isinstance(other, Message):
        return type(one) is type(other) and one == other
    return one == other


def contains(container: VariableValue, item: VariableValue) -> bool:
    match container.WhichOneof("value"):
        case None:
            return False
        case "str":
            return text_of(item) in container.str
        case "json_arr" | "array":
            wanted = data_of(item)
            return any(same(wanted, found) for found in data_of(container))
        case "json_obj" | "map" | "struct":
            return text_of(item) in data_of(container)
        case _:
            raise BadValue(f"there is nothing in {_noun(container)}")


# ── inside ───────────────────────────────────────────────────────────────────────────────────

_ORDERS: Mapping[Comparator, Callable[[Any, Any], bool]] = {
    Comparator.LESS_THAN: lambda one, other: one < other,
    Comparator.GREATER_THAN: lambda one, other: one > other,
    Comparator.LESS_THAN_EQ: lambda one, other: one <= other,
    Comparator.GREATER_THAN_EQ: lambda one, other: one >= other,
}


def _ordered(left: VariableValue, right: VariableValue) -> tuple[Any, Any]:
    """Both sides as data that Python can order."""
    one, other = data_of(left), data_of(right)
    if _is_number(one) and _is_number(other):
        return one, other
    if isinstance(one, str) and isinstance(other, str):
        return one, other
    if isinstance(one, bytes) and isinstance(other, bytes):
        return one, other
    if isinstance(one, Timestamp) and isinstance(other, Timestamp):
        return (one.seconds, one.nanos), (other.seconds, other.nanos)
    raise BadValue(f"{_noun(left)} and {_noun(right)} have no order")


def _is_number(data: Any) -> bool:
    return isinstance(data, int | float) and not isinstance(data, bool)


def _noun(value: VariableValue) -> str:
    found = type_of_value(value)
    return "null" if found is None else f"a {type_name(found)}"
