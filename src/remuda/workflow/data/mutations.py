"""The operations of mutations and expressions: `left op right` is a new value.

ASSIGN             the right side
ADD                numbers; text after text; an item at the end of an array
SUBTRACT MULTIPLY  numbers; two INTs stay INT
DIVIDE             numbers; two INTs are cut off towards zero
POW                numbers; an INT to a negative power is a DOUBLE
EXTEND             an array by an array, an object or map by another, text by text
REMOVE_IF_PRESENT  the first equal item of an array, if there is one
REMOVE_INDEX       the item at an index, which must be there; -1 is the last
REMOVE_KEY         a key of an object or a map, if it is there
AND OR             BOOLs
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from littlehorse.model.common_wfspec_pb2 import VariableMutationType
from littlehorse.model.type_definition_pb2 import VariableValue

from remuda.workflow.data.comparisons import same
from remuda.workflow.data.types import type_name, type_of_value
from remuda.workflow.data.values import data_of, int_value, text_of, value_of
from remuda.workflow.errors import BadValue


def mutated(
    left: VariableValue, operation: VariableMutationType, right: VariableValue
) -> VariableValue:
    if operation == VariableMutationType.ASSIGN:
        return right
    return _OPERATIONS[operation](left, right)


# ── numbers and booleans ─────────────────────────────────────────────────────────────────────


def _numbers(
    left: VariableValue, right: VariableValue, verb: str
) -> tuple[int | float, int | float]:
    found: list[int | float] = []
    for side in (left, right):
        match side.WhichOneof("value"):
            case "int":
                found.append(side.int)
            case "double":
                found.append(side.double)
            case _:
                raise BadValue(f"cannot {verb} {_noun(left)} and {_noun(right)}")
    return found[0], found[1]


def _number(data: int | float) -> VariableValue:
    return int_value(data) if isinstance(data, int) else VariableValue(double=data)


def _add(left: VariableValue, right: VariableValue) -> VariableValue:
    match left.WhichOneof("value"):
        case "str":
            return VariableValue(str=left.str + text_of(right))
        case "json_arr":
            return value_of([*data_of(left), data_of(right)])
        case "array":
            return _with_items(left, [*left.array.items, right])
        case _:
            one, other = _numbers(left, right, "add")
            return _number(one + other)


def _subtract(left: VariableValue, right: VariableValue) -> VariableValue:
    one, other = _numbers(left, right, "subtract")
    return _number(one - other)


def _multiply(left: VariableValue, right: VariableValue) -> VariableValue:
    one, other = _numbers(left, right, "multiply")
    return _number(one * other)


def _divide(left: VariableValue, right: VariableValue) -> VariableValue:
    one, other = _numbers(left, right, "divide")
    if other == 0:
        raise BadValue(f"cannot divide {one} by zero")
    if isinstance(one, int) and isinstance(other, int):
        quotient = abs(one) // abs(other)
        return int_value(quotient if (one < 0) == (other < 0) else -quotient)
    return VariableValue(double=one / other)


def _pow(left: VariableValue, right: VariableValue) -> VariableValue:
    one, other = _numbers(left, right, "raise")
    if isinstance(one, int) and isinstance(other, int) and other >= 0:
        if abs(one) > 1 and other > 64:
            raise BadValue(f"{one} to the power of {other} does not fit into an INT of 64 bits")
        return int_value(int(one**other))
    try:
        return VariableValue(double=math.pow(one, other))
    except (ValueError, OverflowError) as error:
        raise BadValue(f"{one} to the power of {other} is not a number") from error


def _booleans(left: VariableValue, right: VariableValue, verb: str) -> tuple[bool, bool]:
    if left.WhichOneof("value") != "bool" or right.WhichOneof("value") != "bool":
        raise BadValue(f"cannot {verb} {_noun(left)} and {_noun(right)}: both must be BOOL")
    return left.bool, right.bool


def _and(left: VariableValue, right: VariableValue) -> VariableValue:
    one, other = _booleans(left, right, "and")
    return VariableValue(bool=one and other)


def _or(left: VariableValue, right: VariableValue) -> VariableValue:
    one, other = _booleans(left, right, "or")
    return VariableValue(bool=one or other)


# ── arrays, objects and maps ─────────────────────────────────────────────────────────────────


def _extend(left: VariableValue, right: VariableValue) -> VariableValue:
    match left.WhichOneof("value"), right.WhichOneof("value"):
        case "str", "str":
            return VariableValue(str=left.str + right.str)
        case "json_arr", "json_arr" | "array":
            return value_of([*data_of(left), *data_of(right)])
        case "json_obj", "json_obj" | "map" | "struct":
            return value_of({**data_of(left), **data_of(right)})
        case "array", "array":
            return _with_items(left, [*left.array.items, *right.array.items])
        case "map", "map":
            added = [entry.key for entry in right.map.entries]
            kept = [entry for entry in left.map.entries if entry.key not in added]
            return _with_entries(left, [*kept, *right.map.entries])
        case _:
            raise BadValue(f"cannot extend {_noun(left)} by {_noun(right)}")


def _remove_if_present(left: VariableValue, right: VariableValue) -> VariableValue:
    unwanted = data_of(right)
    match left.WhichOneof("value"):
        case "json_arr":
            items: list[Any] = data_of(left)
            return value_of(_without_first(items, items, unwanted))
        case "array":
            found = list(left.array.items)
            return _with_items(left, _without_first(found, [data_of(i) for i in found], unwanted))
        case _:
            raise BadValue(f"cannot remove an item from {_noun(left)}")


def _without_first(items: list[Any], data: list[Any], unwanted: Any) -> list[Any]:
    for index, one in enumerate(data):
        if same(one, unwanted):
            return items[:index] + items[index + 1 :]
    return items


def _remove_index(left: VariableValue, right: VariableValue) -> VariableValue:
    if right.WhichOneof("value") != "int":
        raise BadValue(f"an index is an INT, not {_noun(right)}")
    match left.WhichOneof("value"):
        case "json_arr":
            items: list[Any] = data_of(left)
        case "array":
            items = list(left.array.items)
        case _:
            raise BadValue(f"cannot remove an index from {_noun(left)}")
    if not -len(items) <= right.int < len(items):
        raise BadValue(f"there is no index {right.int} in an array of {len(items)}")
    del items[right.int]
    return value_of(items) if left.WhichOneof("value") == "json_arr" else _with_items(left, items)


def _remove_key(left: VariableValue, right: VariableValue) -> VariableValue:
    match left.WhichOneof("value"):
        case "json_obj":
            data: dict[str, Any] = data_of(left)
            unwanted = text_of(right)
            return value_of({key: item for key, item in data.items() if key != unwanted})
        case "map":
            return _with_entries(left, [e for e in left.map.entries if e.key != right])
        case _:
            raise BadValue(f"cannot remove a key from {_noun(left)}")


def _with_items(array: VariableValue, items: list[VariableValue]) -> VariableValue:
    copy = VariableValue()
    copy.array.element_type.CopyFrom(array.array.element_type)
    copy.array.items.extend(items)
    return copy


def _with_entries(old: VariableValue, entries: list[Any]) -> VariableValue:
    copy = VariableValue()
    copy.map.map_type.CopyFrom(old.map.map_type)
    copy.map.entries.extend(entries)
    return copy


def _noun(value: VariableValue) -> str:
    found = type_of_value(value)
    return "null" if found is None else f"a {type_name(found)}"


_OPERATIONS: Mapping[
    VariableMutationType, Callable[[VariableValue, VariableValue], VariableValue]
] = {
    VariableMutationType.ADD: _add,
    VariableMutationType.EXTEND: _extend,
    VariableMutationType.SUBTRACT: _subtract,
    VariableMutationType.MULTIPLY: _multiply,
    VariableMutationType.DIVIDE: _divide,
    VariableMutationType.REMOVE_IF_PRESENT: _remove_if_present,
    VariableMutationType.REMOVE_INDEX: _remove_index,
    VariableMutationType.REMOVE_KEY: _remove_key,
    VariableMutationType.AND: _and,
    VariableMutationType.OR: _or,
    VariableMutationType.POW: _pow,
}
