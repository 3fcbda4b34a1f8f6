"""JSONPath, LHPath, and format strings."""

from __future__ import annotations

from typing import Any

import pytest
from littlehorse.model.type_definition_pb2 import Array, Map, VariableValue

from remuda.workflow.data.formats import formatted
from remuda.workflow.data.inside import read_keys, written_keys
from remuda.workflow.data.paths import parse_path, read, written
from remuda.workflow.data.values import data_of, value_of
from remuda.workflow.errors import BadValue

DATA: dict[str, Any] = {
    "name": "Ann",
    "tags": ["a", "b", "c"],
    "home": {"city": "Bath", "postal code": "BA1"},
    "orders": [{"id": 1, "lines": [{"id": 10}]}, {"id": 2}],
    "nothing": None,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", DATA),
        ("$.name", "Ann"),
        ("$['name']", "Ann"),
        ('$.home["postal code"]', "BA1"),
        ("$.home.city", "Bath"),
        ("$.tags[0]", "a"),
        ("$.tags[-1]", "c"),
        ("$.tags[9]", None),
        ("$.tags[1:]", ["b", "c"]),
        ("$.tags[:2]", ["a", "b"]),
        ("$.tags[*]", ["a", "b", "c"]),
        ("$.home.*", ["Bath", "BA1"]),
        ("$.orders[*].id", [1, 2]),
        ("$.orders[*].lines", [[{"id": 10}]]),
        ("$..id", [1, 10, 2]),
        ("$.orders[1].lines[0].id", None),
        ("$.missing.deeper", None),
        ("$.name.first", None),
        ("$.nothing", None),
        ("$.tags.length()", 3),
        ("$.orders[*].length()", 2),
        ("$.nothing.length()", None),
    ],
)
def test_a_path_is_read(path: str, found: Any) -> None:
    assert read(DATA, parse_path(path)) == found


@pytest.mark.parametrize("path", ["name", "$.", "$.a[", "$.a[?(@.b)]", "$a", "$.length().x", ""])
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(BadValue):
        parse_path(path)


@pytest.mark.parametrize(
    ("data", "path", "result"),
    [
        ({"a": 1}, "$.a", {"a": 9}),
        ({}, "$.a.b.c", {"a": {"b": {"c": 9}}}),
        (None, "$.a", {"a": 9}),
        ({"a": [1, 2]}, "$.a[1]", {"a": [1, 9]}),
        ({"a": [1, 2]}, "$.a[2]", {"a": [1, 2, 9]}),
        ([{"b": 1}], "$[0].b", [{"b": 9}]),
        ([1, 2], "$[-1]", [1, 9]),
    ],
)
def test_a_path_is_written_and_the_old_data_stays(data: Any, path: str, result: Any) -> None:
    before = repr(data)
    assert written(data, parse_path(path), 9) == result
    assert repr(data) == before


@pytest.mark.parametrize(
    ("data", "path"),
    [([1], "$[5]"), ([1], "$.a"), ("text", "$.a"), ({"a": [1]}, "$.a[*]"), ({}, "$..a")],
)
def test_a_place_that_is_not_there_cannot_be_written(data: Any, path: str) -> None:
    with pytest.raises(BadValue):
        written(data, parse_path(path), 9)


def garage() -> VariableValue:
    value = VariableValue()
    value.struct.struct_def_id.name = "garage"
    fields = value.struct.struct.fields
    fields["places"].value.CopyFrom(VariableValue(array=Array(items=[value_of(1), value_of(2)])))
    entry = Map.Entry(key=value_of("red"), value=value_of(3))
    fields["cars"].value.CopyFrom(VariableValue(map=Map(entries=[entry])))
    fields["notes"].value.CopyFrom(value_of({"by": ["Ann"]}))
    return value


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        (["places", 0], 1),
        (["places", -1], 2),
        (["places", 7], None),
        (["cars", "red"], 3),
        (["cars", "blue"], None),
        (["notes", "by", 0], "Ann"),
        (["nowhere", "at", "all"], None),
    ],
)
def test_typed_values_are_read_by_key_and_index(keys: list[str | int], found: Any) -> None:
    assert data_of(read_keys(garage(), keys)) == found


def test_typed_values_are_written_by_key_and_index() -> None:
    old = garage()
    for keys in (["places", 0], ["cars", "red"], ["cars", "blue"], ["notes", "by", 0], ["new"]):
        new = written_keys(old, keys, value_of(9))
        assert data_of(read_keys(new, keys)) == 9
        assert new.struct.struct_def_id.name == "garage"
    assert old == garage()
    with pytest.raises(BadValue):
        written_keys(old, ["places", 5], value_of(9))


@pytest.mark.parametrize(
    ("pattern", "arguments", "text"),
    [
        ("Hello, {0}!", ["Ann"], "Hello, Ann!"),
        ("{1} {0} {1}", ["a", "b"], "b a b"),
        ("it''s {0}", ["x"], "it's x"),
        ("'{0}' is {0}", ["x"], "{0} is x"),
        ("open 'quote {0}", ["x"], "open quote {0}"),
        ("{2} stays", ["a"], "{2} stays"),
        ("{ 0 }", ["x"], "x"),
        ("nothing", [], "nothing"),
        ("", [], ""),
        ("{0}", ["{1}"], "{1}"),
    ],
)
def test_a_format_string(pattern: str, arguments: list[str], text: str) -> None:
    assert formatted(pattern, arguments) == text


@pytest.mark.parametrize("pattern", ["{", "{name}", "{0,number}", "{}"])
def test_a_format_string_that_cannot_be_filled_in_is_refused(pattern: str) -> None:
    with pytest.raises(BadValue):
        formatted(pattern, ["x"])
