# Functions are of any shape here, as users' are.
# pyright: basic
"""What rows look like, from annotations and from rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, NotRequired, TypedDict

import pytest
from pyspark.sql import types as spark

from remuda.pipeline.spark.types import Shape, UnknownShape, annotated, inferred, merged


class Place(TypedDict):
    city: str


class Order(TypedDict):
    id: int
    at: datetime
    amount: Decimal
    place: Place
    tags: list[str]
    rates: dict[str, float]
    kind: Literal["new", "old"]
    paid: bool | None
    note: NotRequired[str]


@dataclass
class Priced:
    id: int
    day: date
    euros: float | None = None


class Vague(TypedDict):
    anything: Any


def one(row: Any) -> Order: ...
def maybe(row: Any) -> Order | None: ...
def several(row: Any) -> list[Priced]: ...
def streamed(row: Any) -> Iterator[Priced]: ...
def vague(row: Any) -> Vague: ...
def plain(row: Any) -> dict[str, Any]: ...
def silent(row): ...


def test_a_typed_dict_says_what_its_rows_look_like() -> None:
    for function in (one, maybe):
        shape = annotated(function)
        assert shape is not None
        assert shape.columns.simpleString() == (
            "struct<id:bigint,at:timestamp,amount:decimal(38,18),place:struct<city:string>,"
            "tags:array<string>,rates:map<string,double>,kind:string,paid:boolean,note:string>"
        )
        assert set(shape.names) - shape.required == {"note"}
        assert [f.name for f in shape.columns.fields if f.nullable] == ["paid", "note"]


@pytest.mark.parametrize("function", [several, streamed])
def test_a_dataclass_does_too_in_lists_and_iterators(function: Any) -> None:
    shape = annotated(function)
    assert shape is not None
    assert shape.columns.simpleString() == "struct<id:bigint,day:date,euros:double>"


@pytest.mark.parametrize("function", [vague, plain, silent, dict])
def test_other_annotations_say_nothing(function: Any) -> None:
    assert annotated(function) is None


def test_rows_show_their_types() -> None:
    rows = [
        {"n": 1, "x": 1, "at": datetime(2026, 1, 1, tzinfo=UTC), "s": None, "l": [1]},
        {"n": 2, "x": 2.5, "at": None, "s": None, "l": [], "more": "text"},
    ]
    like = Shape(spark.StructType().add("s", "string"), frozenset({"s"}))
    shape = inferred(rows, "task", like)
    assert shape.columns.simpleString() == (
        "struct<n:bigint,x:double,at:timestamp,s:string,l:array<bigint>,more:string>"
    )
    assert shape.required == {"n", "x", "at", "s", "l"}


def shape_of(*columns: tuple[str, str]) -> Shape:
    struct = spark.StructType()
    for name, kind in columns:
        struct = struct.add(name, kind, nullable=False)
    return Shape(struct, frozenset(struct.names))


def test_what_comes_from_several_tasks_has_the_columns_of_all() -> None:
    both = merged([shape_of(("n", "integer"), ("s", "string")), shape_of(("n", "double"))], "out")
    assert both.columns.simpleString() == "struct<n:double,s:string>"
    assert both.required == {"n"}
    assert [field.nullable for field in both.columns.fields] == [False, True]


def test_types_that_do_not_go_together_are_told() -> None:
    with pytest.raises(UnknownShape, match="`n` comes to the task `out` as int and as string"):
        merged([shape_of(("n", "integer")), shape_of(("n", "string"))], "out")
