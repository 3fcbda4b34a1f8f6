"""Assignments: every source, with paths and casts."""

from __future__ import annotations

from typing import Any

import pytest
from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.common_wfspec_pb2 import (
    InlineStructBuilder,
    InlineStructFieldValue,
    LHPath,
    MapBuilder,
    StructBuilder,
    VariableAssignment,
    VariableMutationType,
)
from littlehorse.model.object_id_pb2 import StructDefId
from littlehorse.model.type_definition_pb2 import (
    Comparator,
    InlineMapDef,
    InlineStructDef,
    StructFieldDef,
    TypeDefinition,
    VariableValue,
)

from remuda.workflow.data.assignments import evaluated, truth
from remuda.workflow.data.types import INT, STR
from remuda.workflow.data.values import data_of, value_of
from remuda.workflow.errors import BadValue


class Given:
    """Variables, one node's output, and two structs: a car, and an owner inside it."""

    def __init__(self, **variables: Any) -> None:
        self._variables = variables

    def variable(self, name: str) -> VariableValue:
        if name not in self._variables:
            raise BadValue(f"there is no variable {name}")
        return value_of(self._variables[name])

    def node_output(self, node_name: str) -> VariableValue:
        return value_of({"from": node_name})

    def struct_def(self, struct_def_id: StructDefId) -> InlineStructDef | None:
        definition = InlineStructDef()
        if struct_def_id.name == "owner":
            definition.fields["name"].CopyFrom(StructFieldDef(field_type=STR))
        elif struct_def_id.name == "car":
            definition.fields["maker"].CopyFrom(StructFieldDef(field_type=STR))
            definition.fields["doors"].CopyFrom(
                StructFieldDef(field_type=INT, default_value=VariableValue(int=4))
            )
            owner = TypeDefinition(struct_def_id=StructDefId(name="owner"))
            definition.fields["owner"].CopyFrom(StructFieldDef(field_type=owner, is_nullable=True))
        else:
            return None
        return definition


SCOPE = Given(name="Ann", age=7, data={"tags": ["a", "b"], "at": {"x": 1}}, key="at", place=1)


def literal(data: Any) -> VariableAssignment:
    return VariableAssignment(literal_value=value_of(data))


def variable(name: str, **more: Any) -> VariableAssignment:
    return VariableAssignment(variable_name=name, **more)


def expression(
    left: VariableAssignment, right: VariableAssignment, **operation: Any
) -> VariableAssignment:
    return VariableAssignment(
        expression=VariableAssignment.Expression(lhs=left, rhs=right, **operation)
    )


def path(*selectors: LHPath.Selector) -> LHPath:
    return LHPath(path=selectors)


ADD, LESS = VariableMutationType.ADD, Comparator.LESS_THAN
SUM = expression(variable("age"), literal(1), mutation_type=ADD)


@pytest.mark.parametrize(
    ("assignment", "found"),
    [
        (variable("name"), "Ann"),
        (literal([1]), [1]),
        (variable("data", json_path="$.tags[1]"), "b"),
        (variable("data", json_path="$.none"), None),
        (variable("data", lh_path=path(LHPath.Selector(key="at"))), {"x": 1}),
        (
            variable("data", lh_path=path(LHPath.Selector(key="tags"), LHPath.Selector(index=0))),
            "a",
        ),
        (variable("data", lh_path=path(LHPath.Selector(dynamic=variable("key")))), {"x": 1}),
        (
            variable(
                "data",
                lh_path=path(
                    LHPath.Selector(key="tags"), LHPath.Selector(dynamic=variable("place"))
                ),
            ),
            "b",
        ),
        (
            VariableAssignment(
                node_output=VariableAssignment.NodeOutputReference(node_name="1-step"),
                json_path="$.from",
            ),
            "1-step",
        ),
        (
            VariableAssignment(
                format_string=VariableAssignment.FormatString(
                    format=literal("{0} is {1}"), args=[variable("name"), SUM]
                )
            ),
            "Ann is 8",
        ),
        (SUM, 8),
        (expression(SUM, literal(9), comparator=LESS), True),
        (
            VariableAssignment(size_of=VariableAssignment.SizeOf(operand=variable("data"))),
            2,
        ),
        (
            variable("age", target_type=TypeDefinition(primitive_type=VariableType.STR)),
            "7",
        ),
    ],
)
def test_an_assignment_stands_for(assignment: VariableAssignment, found: Any) -> None:
    assert data_of(evaluated(assignment, SCOPE)) == found


def simple(assignment: VariableAssignment) -> InlineStructFieldValue:
    return InlineStructFieldValue(simple_value=assignment)


def car(**fields: InlineStructFieldValue) -> VariableAssignment:
    return VariableAssignment(
        struct_builder=StructBuilder(
            struct_def_id=StructDefId(name="car"), value=InlineStructBuilder(fields=fields)
        )
    )


def test_a_struct_is_built_with_its_defaults_and_its_parts() -> None:
    owner = InlineStructBuilder(fields={"name": simple(variable("name"))})
    built = evaluated(
        car(maker=simple(variable("age")), owner=InlineStructFieldValue(sub_structure=owner)),
        SCOPE,
    )
    assert data_of(built) == {"maker": "7", "doors": 4, "owner": {"name": "Ann"}}
    assert built.struct.struct_def_id.name == "car"
    assert data_of(evaluated(car(maker=simple(literal("x"))), SCOPE))["owner"] is None


@pytest.mark.parametrize(
    ("assignment", "reason"),
    [
        (car(), "field maker is missing"),
        (car(maker=simple(literal("x")), wings=simple(literal(2))), "there is no field wings"),
        (car(maker=simple(literal({"a": 1}))), "expected STR"),
        (
            VariableAssignment(
                struct_builder=StructBuilder(struct_def_id=StructDefId(name="lost"))
            ),
            "there is no StructDef lost",
        ),
        (variable("lost"), "there is no variable lost"),
        (VariableAssignment(), "no source"),
    ],
)
def test_an_assignment_that_stands_for_nothing_is_refused(
    assignment: VariableAssignment, reason: str
) -> None:
    with pytest.raises(BadValue, match=reason):
        evaluated(assignment, SCOPE)


def test_a_map_is_built_of_keys_and_values_of_its_types() -> None:
    def built(value: VariableAssignment, typed: bool = True) -> VariableValue:
        builder = MapBuilder(entries=[MapBuilder.Entry(key=variable("name"), value=value)])
        if typed:
            builder.map_type.CopyFrom(InlineMapDef(key_type=STR, value_type=INT))
        return evaluated(VariableAssignment(map_builder=builder), SCOPE)

    assert data_of(built(variable("age"))) == {"Ann": 7}
    assert data_of(built(literal("x"), typed=False)) == {"Ann": "x"}
    with pytest.raises(BadValue, match="expected INT"):
        built(literal("x"))


def test_a_condition_is_a_bool() -> None:
    assert truth(expression(variable("age"), literal(8), comparator=LESS), SCOPE)
    with pytest.raises(BadValue, match="must be a BOOL"):
        truth(variable("age"), SCOPE)
