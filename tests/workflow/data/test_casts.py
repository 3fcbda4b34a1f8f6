"""Every cast: what is converted without being asked, what when asked, and what never."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from littlehorse.model.object_id_pb2 import StructDefId, WfRunId
from littlehorse.model.type_definition_pb2 import (
    Array,
    InlineArrayDef,
    InlineMapDef,
    InlineStructDef,
    Map,
    StructFieldDef,
    TypeDefinition,
    VariableValue,
)

from remuda.workflow.data.casts import assignable, assigned, cast, castable
from remuda.workflow.data.masks import shown
from remuda.workflow.data.types import (
    INT,
    KIND_OF_PRIMITIVE,
    STR,
    misfit,
    primitive,
    type_name,
)
from remuda.workflow.data.values import data_of, value_of
from remuda.workflow.errors import BadValue
from tests.workflow.data.structs import NoStructs


def typed(name: str) -> TypeDefinition:
    return TypeDefinition(primitive_type=name)


PARENT = WfRunId(id="p")
SAMPLES: dict[str, VariableValue] = {
    "INT": VariableValue(int=7),
    "DOUBLE": VariableValue(double=7.9),
    "BOOL": VariableValue(bool=True),
    "STR": VariableValue(str="7"),
    "BYTES": VariableValue(bytes=b"hi"),
    "WF_RUN_ID": VariableValue(wf_run_id=WfRunId(id="c", parent_wf_run_id=PARENT)),
    "TIMESTAMP": VariableValue(utc_timestamp=Timestamp(seconds=1, nanos=500_000_000)),
    "JSON_OBJ": VariableValue(json_obj='{"a": 1}'),
    "JSON_ARR": VariableValue(json_arr="[1, 2]"),
}
MOMENT = Timestamp(seconds=1, nanos=500_000_000)
AUTOMATIC: dict[tuple[str, str], Any] = {
    ("INT", "DOUBLE"): 7.0,
    ("INT", "STR"): "7",
    ("DOUBLE", "STR"): "7.9",
    ("BOOL", "STR"): "true",
    ("BYTES", "STR"): "aGk=",
    ("WF_RUN_ID", "STR"): "p_c",
    ("TIMESTAMP", "STR"): "1970-01-01T00:00:01.500Z",
}
ON_REQUEST: dict[tuple[str, str], Any] = {
    ("INT", "BOOL"): True,
    ("INT", "TIMESTAMP"): Timestamp(nanos=7_000_000),
    ("DOUBLE", "INT"): 7,
    ("BOOL", "INT"): 1,
    ("TIMESTAMP", "INT"): 1500,
    ("STR", "INT"): 7,
    ("STR", "DOUBLE"): 7.0,
    ("JSON_OBJ", "STR"): '{"a": 1}',
    ("JSON_ARR", "STR"): "[1, 2]",
    ("STR", "WF_RUN_ID"): WfRunId(id="7"),
}
# That there is such a cast, which this sample refuses.
REFUSED_BY_VALUE = {("STR", to) for to in ("BOOL", "BYTES", "TIMESTAMP", "JSON_OBJ", "JSON_ARR")}
PAIRS = [(source, to) for source in SAMPLES for to in SAMPLES]


@pytest.mark.parametrize(("source", "to"), PAIRS)
def test_what_happens_without_being_asked(source: str, to: str) -> None:
    value, wanted = SAMPLES[source], typed(to)
    if source == to:
        assert assigned(value, wanted, NoStructs()) == value
    elif (source, to) in AUTOMATIC:
        assert data_of(assigned(value, wanted, NoStructs())) == AUTOMATIC[source, to]
        assert assignable(typed(source), wanted)
    else:
        with pytest.raises(BadValue, match=f"expected {to}, got {source}"):
            assigned(value, wanted, NoStructs())
        assert not assignable(typed(source), wanted)


@pytest.mark.parametrize(("source", "to"), PAIRS)
def test_what_happens_on_request(source: str, to: str) -> None:
    value, wanted = SAMPLES[source], typed(to)
    expected = {**AUTOMATIC, **ON_REQUEST}
    if source == to:
        assert cast(value, wanted, NoStructs()) == value
    elif (source, to) in expected:
        assert data_of(cast(value, wanted, NoStructs())) == expected[source, to]
        assert castable(typed(source), wanted)
    else:
        with pytest.raises(BadValue):
            cast(value, wanted, NoStructs())
        possible = (source, to) in REFUSED_BY_VALUE
        assert castable(typed(source), wanted) == possible


@pytest.mark.parametrize(
    ("text", "to", "expected"),
    [
        ("-12", "INT", -12),
        ("1e3", "DOUBLE", 1000.0),
        ("TRUE", "BOOL", True),
        ("false", "BOOL", False),
        ("aGk=", "BYTES", b"hi"),
        ("a_b", "WF_RUN_ID", WfRunId(id="b", parent_wf_run_id=WfRunId(id="a"))),
        ("1970-01-01T00:00:01.5Z", "TIMESTAMP", MOMENT),
        ("1970-01-01T01:00:01.5+01:00", "TIMESTAMP", MOMENT),
        ('{"a":[1]}', "JSON_OBJ", {"a": [1]}),
        ("[1,2]", "JSON_ARR", [1, 2]),
    ],
)
def test_text_becomes_what_it_says(text: str, to: str, expected: Any) -> None:
    wanted = typed(to)
    assert data_of(cast(VariableValue(str=text), wanted, NoStructs())) == expected


@pytest.mark.parametrize(
    ("text", "to"),
    [
        ("seven", "INT"),
        ("9223372036854775808", "INT"),
        ("1.5", "INT"),
        ("x", "DOUBLE"),
        ("yes", "BOOL"),
        ("***", "BYTES"),
        ("a__b", "WF_RUN_ID"),
        ("tomorrow", "TIMESTAMP"),
        ("[1]", "JSON_OBJ"),
        ("{}", "JSON_ARR"),
        ("{", "JSON_OBJ"),
    ],
)
def test_text_that_says_nothing_of_the_kind_is_refused(text: str, to: str) -> None:
    with pytest.raises(BadValue):
        cast(VariableValue(str=text), typed(to), NoStructs())


@pytest.mark.parametrize("to", list(SAMPLES))
def test_null_is_of_every_type_and_stays_null(to: str) -> None:
    wanted = typed(to)
    assert assigned(VariableValue(), wanted, NoStructs()) == VariableValue()
    assert cast(VariableValue(), wanted, NoStructs()) == VariableValue()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e300])
def test_a_double_without_a_whole_number_is_refused(number: float) -> None:
    with pytest.raises(BadValue):
        cast(VariableValue(double=number), INT, NoStructs())


@pytest.mark.parametrize("kind", ["json_obj", "json_arr"])
@pytest.mark.parametrize("text", ["", "nonsense", "7", "null"])
def test_json_must_be_json(kind: str, text: str) -> None:
    value = VariableValue(json_obj=text) if kind == "json_obj" else VariableValue(json_arr=text)
    wanted = next(one for one, found in KIND_OF_PRIMITIVE.items() if found == kind)
    assert "expected a JSON" in (misfit(value, primitive(wanted), NoStructs()) or "")


# ── structs, arrays, maps ────────────────────────────────────────────────────────────────────


class Cars:
    """`car` has a maker, doors with a default, and an owner that may be missing."""

    def struct_def(self, struct_def_id: StructDefId) -> InlineStructDef | None:
        if struct_def_id.name != "car":
            return None
        definition = InlineStructDef()
        definition.fields["maker"].CopyFrom(StructFieldDef(field_type=STR))
        definition.fields["doors"].CopyFrom(
            StructFieldDef(field_type=INT, default_value=VariableValue(int=4))
        )
        definition.fields["owner"].CopyFrom(StructFieldDef(field_type=STR, is_nullable=True))
        return definition


def car(version: int = 0, **fields: Any) -> VariableValue:
    value = VariableValue()
    value.struct.struct_def_id.name = "car"
    value.struct.struct_def_id.version = version
    for name, data in fields.items():
        value.struct.struct.fields[name].value.CopyFrom(value_of(data))
    return value


def car_type(version: int = -1) -> TypeDefinition:
    return TypeDefinition(struct_def_id=StructDefId(name="car", version=version))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (car(maker="x"), None),
        (car(maker="x", doors=2, owner="y"), None),
        (car(), "field maker is missing"),
        (car(maker="x", wings=2), "there is no field wings"),
        (car(maker="x", doors="two"), "field doors: expected INT, got STR"),
        (VariableValue(str="car"), "expected Struct<car>, got STR"),
    ],
)
def test_a_struct_fits_its_definition(value: VariableValue, reason: str | None) -> None:
    assert misfit(value, car_type(), Cars()) == reason


def test_a_struct_of_another_version_does_not_fit() -> None:
    assert misfit(car(1, maker="x"), car_type(0), Cars()) is not None
    assert misfit(car(1, maker="x"), car_type(1), Cars()) is None


def test_a_struct_is_kept_with_its_defaults_and_its_nulls() -> None:
    kept = assigned(car(maker="x"), car_type(), Cars())
    assert data_of(kept) == {"maker": "x", "doors": 4, "owner": None}
    assert data_of(assigned(car(maker="x", doors=2), car_type(), Cars()))["doors"] == 2


def test_a_masked_field_of_a_struct_is_not_shown() -> None:
    class Secrets:
        def struct_def(self, struct_def_id: StructDefId) -> InlineStructDef | None:
            definition = InlineStructDef()
            definition.fields["maker"].CopyFrom(StructFieldDef(field_type=STR))
            definition.fields["doors"].field_type.CopyFrom(INT)
            definition.fields["doors"].field_type.masked = True
            return definition

    kept = assigned(car(maker="x", doors=2), car_type(), Secrets())
    assert data_of(kept) == {"maker": "x", "doors": 2}
    assert data_of(shown(kept, False)) == {"maker": "x", "doors": "*****"}
    assert data_of(shown(kept, True)) == "*****"


def test_the_items_of_an_array_and_the_entries_of_a_map_are_of_their_type() -> None:
    of_ints = TypeDefinition(inline_array_def=InlineArrayDef(array_type=INT))
    good = VariableValue(array=Array(items=[value_of(1), value_of(2)]))
    bad = VariableValue(array=Array(items=[value_of(1), value_of("2")]))
    assert misfit(good, of_ints, NoStructs()) is None
    assert misfit(bad, of_ints, NoStructs()) == "item 1: expected INT, got STR"
    counts = TypeDefinition(inline_map_def=InlineMapDef(key_type=STR, value_type=INT))
    good = VariableValue(map=Map(entries=[Map.Entry(key=value_of("a"), value=value_of(1))]))
    bad = VariableValue(map=Map(entries=[Map.Entry(key=value_of(1), value=value_of(1))]))
    assert misfit(good, counts, NoStructs()) is None
    assert misfit(bad, counts, NoStructs()) == "entry 0: expected STR, got INT"
    assert (type_name(of_ints), type_name(counts)) == ("Array<INT>", "Map<STR, INT>")
