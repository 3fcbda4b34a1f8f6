"""Every operation of mutations and expressions, and every comparator, in tables."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from littlehorse.model.common_wfspec_pb2 import VariableMutationType
from littlehorse.model.type_definition_pb2 import Array, Comparator, Map, VariableValue

from remuda.workflow.data.comparisons import compared
from remuda.workflow.data.mutations import mutated
from remuda.workflow.data.types import INT
from remuda.workflow.data.values import data_of, size_of, value_of
from remuda.workflow.errors import BadValue

EARLY, LATE = Timestamp(seconds=1), Timestamp(seconds=1, nanos=1)


def array(*items: int) -> VariableValue:
    return VariableValue(array=Array(items=[value_of(item) for item in items], element_type=INT))


def mapping(**entries: int) -> VariableValue:
    found = [Map.Entry(key=value_of(k), value=value_of(v)) for k, v in entries.items()]
    return VariableValue(map=Map(entries=found))


def as_value(data: Any) -> VariableValue:
    return data if isinstance(data, VariableValue) else value_of(data)


WORKS: list[tuple[Any, str, Any, Any]] = [
    (1, "ASSIGN", "x", "x"),
    (1, "ASSIGN", None, None),
    (2, "ADD", 3, 5),
    (2, "ADD", 0.5, 2.5),
    ("a", "ADD", "b", "ab"),
    ("a", "ADD", 1, "a1"),
    ([1], "ADD", 2, [1, 2]),
    ([1], "ADD", [2], [1, [2]]),
    ([1], "ADD", {"a": 1}, [1, {"a": 1}]),
    (array(1), "ADD", 2, [1, 2]),
    (2, "SUBTRACT", 3, -1),
    (2.5, "SUBTRACT", 1, 1.5),
    (2, "MULTIPLY", 3, 6),
    (2, "MULTIPLY", 1.5, 3.0),
    (7, "DIVIDE", 2, 3),
    (-7, "DIVIDE", 2, -3),
    (7, "DIVIDE", -2, -3),
    (7, "DIVIDE", 2.0, 3.5),
    (2, "POW", 10, 1024),
    (2, "POW", -1, 0.5),
    (2.0, "POW", 0.5, 2**0.5),
    (1, "POW", 1000, 1),
    ([1], "EXTEND", [2, 3], [1, 2, 3]),
    ([1], "EXTEND", array(2), [1, 2]),
    ({"a": 1}, "EXTEND", {"b": 2, "a": 3}, {"a": 3, "b": 2}),
    ("a", "EXTEND", "b", "ab"),
    (array(1), "EXTEND", array(2, 3), [1, 2, 3]),
    (mapping(a=1, b=2), "EXTEND", mapping(b=3), {"a": 1, "b": 3}),
    ([1, 2, 1], "REMOVE_IF_PRESENT", 1, [2, 1]),
    ([1, 2], "REMOVE_IF_PRESENT", 9, [1, 2]),
    ([True, 1], "REMOVE_IF_PRESENT", 1, [True]),
    ([{"a": 1, "b": 2}], "REMOVE_IF_PRESENT", {"b": 2, "a": 1}, []),
    (array(1, 2), "REMOVE_IF_PRESENT", 1, [2]),
    ([1, 2, 3], "REMOVE_INDEX", 1, [1, 3]),
    ([1, 2, 3], "REMOVE_INDEX", -1, [1, 2]),
    (array(1, 2), "REMOVE_INDEX", 0, [2]),
    ({"a": 1, "b": 2}, "REMOVE_KEY", "a", {"b": 2}),
    ({"a": 1}, "REMOVE_KEY", "z", {"a": 1}),
    (mapping(a=1, b=2), "REMOVE_KEY", "a", {"b": 2}),
    (True, "AND", False, False),
    (True, "AND", True, True),
    (True, "OR", False, True),
    (False, "OR", False, False),
]

FAILS: list[tuple[Any, str, Any]] = [
    (None, "ADD", 1),
    (1, "ADD", "x"),
    (1, "ADD", None),
    ({"a": 1}, "ADD", 1),
    (2**63 - 1, "ADD", 1),
    (True, "SUBTRACT", 1),
    ("x", "MULTIPLY", 2),
    (1, "DIVIDE", 0),
    (1.0, "DIVIDE", 0.0),
    (2, "POW", 64),
    (0, "POW", -1),
    (-1.0, "POW", 0.5),
    ([1], "EXTEND", 2),
    (1, "EXTEND", [2]),
    ({"a": 1}, "REMOVE_IF_PRESENT", "a"),
    ([1], "REMOVE_INDEX", 1),
    ([1], "REMOVE_INDEX", "0"),
    ({"a": 1}, "REMOVE_INDEX", 0),
    ([1], "REMOVE_KEY", "a"),
    (True, "AND", 1),
    (None, "OR", True),
]


@pytest.mark.parametrize(("left", "operation", "right", "expected"), WORKS)
def test_a_mutation_makes(left: Any, operation: str, right: Any, expected: Any) -> None:
    old = as_value(left)
    before = old.SerializeToString(deterministic=True)
    new = mutated(old, getattr(VariableMutationType, operation), as_value(right))
    assert data_of(new) == expected
    assert type(data_of(new)) is type(expected)
    assert old.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize(("left", "operation", "right"), FAILS)
def test_a_mutation_refuses(left: Any, operation: str, right: Any) -> None:
    with pytest.raises(BadValue):
        mutated(as_value(left), getattr(VariableMutationType, operation), as_value(right))


def test_every_operation_is_in_the_tables() -> None:
    kinds = set(VariableMutationType.keys())
    assert {row[1] for row in WORKS} == kinds
    assert {row[1] for row in FAILS} == kinds - {"ASSIGN"}


COMPARED: list[tuple[Any, str, Any, bool]] = [
    (1, "LESS_THAN", 2, True),
    (2, "LESS_THAN", 1.5, False),
    ("a", "LESS_THAN", "b", True),
    (EARLY, "LESS_THAN", LATE, True),
    (b"a", "LESS_THAN", b"b", True),
    (2, "GREATER_THAN", 1, True),
    (2, "LESS_THAN_EQ", 2.0, True),
    (2, "GREATER_THAN_EQ", 3, False),
    (1, "EQUALS", 1.0, True),
    (1, "EQUALS", True, False),
    (0, "EQUALS", False, False),
    ("1", "EQUALS", 1, False),
    (None, "EQUALS", None, True),
    (None, "EQUALS", 0, False),
    ({"a": 1, "b": [True]}, "EQUALS", {"b": [True], "a": 1}, True),
    ({"a": 1}, "EQUALS", {"a": True}, False),
    ([1, 2], "EQUALS", [2, 1], False),
    ([1, 2], "EQUALS", array(1, 2), True),
    (EARLY, "EQUALS", EARLY, True),
    (EARLY, "NOT_EQUALS", LATE, True),
    (1, "NOT_EQUALS", 2, True),
    (1, "IN", [3, 1], True),
    (True, "IN", [1], False),
    ({"a": 1}, "IN", [{"a": 1}], True),
    ("a", "IN", {"a": 1}, True),
    ("ell", "IN", "hello", True),
    (2, "IN", array(1, 2), True),
    ("a", "IN", mapping(a=1), True),
    (1, "IN", None, False),
    (4, "NOT_IN", [1], True),
]


@pytest.mark.parametrize(("left", "comparator", "right", "expected"), COMPARED)
def test_a_comparison(left: Any, comparator: str, right: Any, expected: bool) -> None:
    found = compared(as_value(left), getattr(Comparator, comparator), as_value(right))
    assert found is expected


@pytest.mark.parametrize(
    ("left", "comparator", "right"),
    [
        (None, "LESS_THAN", 1),
        ("1", "GREATER_THAN", 1),
        (True, "LESS_THAN", False),
        ([1], "LESS_THAN", [2]),
        (1, "IN", 5),
    ],
)
def test_a_comparison_that_makes_no_sense_is_refused(
    left: Any, comparator: str, right: Any
) -> None:
    with pytest.raises(BadValue):
        compared(as_value(left), getattr(Comparator, comparator), as_value(right))


def test_every_comparator_is_in_the_table() -> None:
    assert {row[1] for row in COMPARED} == set(Comparator.keys())


@pytest.mark.parametrize(
    ("data", "size"),
    [(None, 0), ("abc", 3), (b"ab", 2), ([1, 2], 2), ({"a": 1}, 1), (array(1, 2, 3), 3)],
)
def test_sizes(data: Any, size: int) -> None:
    assert size_of(as_value(data)) == size


def test_a_number_has_no_size() -> None:
    with pytest.raises(BadValue):
        size_of(value_of(5))
