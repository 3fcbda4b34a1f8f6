# Spark's and Arrow's types are of any shape.
# pyright: basic
"""What rows look like: from Python's types, DDL, or the rows themselves, to Spark's types."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import (
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import pyarrow as pa
from msgspec import Struct
from pyspark.errors import PySparkException
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

from remuda.errors import RemudaError
from remuda.pipeline.forms import hints_of
from remuda.pipeline.functions import Row

_PLAIN: dict[Any, spark.DataType] = {
    bool: spark.BooleanType(),
    int: spark.LongType(),
    float: spark.DoubleType(),
    str: spark.StringType(),
    bytes: spark.BinaryType(),
    datetime: spark.TimestampType(),
    date: spark.DateType(),
    timedelta: spark.DayTimeIntervalType(),
    Decimal: spark.DecimalType(38, 18),
}
# From narrow to wide: what holds all values of both of two types is the later one.
_NUMBERS = (
    spark.ByteType(),
    spark.ShortType(),
    spark.IntegerType(),
    spark.LongType(),
    spark.FloatType(),
    spark.DoubleType(),
)


class UnknownShape(RemudaError):
    """What a task's rows look like cannot be known, or is not one thing."""

    exit_code = 2


class Shape(Struct, frozen=True):
    """The columns of rows, and those of them that a row may not be without."""

    columns: spark.StructType
    required: frozenset[str]

    @property
    def names(self) -> list[str]:
        return self.columns.names

    def without(self, keys: Iterable[str]) -> Shape:
        left = [field for field in self.columns.fields if field.name not in set(keys)]
        return Shape(spark.StructType(left), self.required - set(keys))

    def arrow(self) -> pa.Schema:
        return to_arrow_schema(nullable(self.columns), timezone="UTC")


def nullable(columns: spark.StructType) -> spark.StructType:
    """The same columns, any of which may be null: rows are checked by us, not trusted by Spark."""
    return spark.StructType(
        [spark.StructField(field.name, field.dataType) for field in columns.fields]
    )


def of_frame(columns: spark.StructType) -> Shape:
    """A row from Spark has all columns."""
    return Shape(nullable(columns), frozenset(columns.names))


def declared(ddl: str, task: str) -> Shape:
    """As Spark writes it. A column that may be null may be left out of a row."""
    try:
        columns = spark.StructType.fromDDL(ddl)
    except PySparkException as error:
        reason = " ".join(str(error).split("\n")[0].split())
        raise UnknownShape(f"the schema of the task `{task}` cannot be read: {reason}") from None
    if not isinstance(columns, spark.StructType):
        raise UnknownShape(f"the schema of the task `{task}` has no columns: write `name type, …`")
    return Shape(columns, frozenset(field.name for field in columns.fields if not field.nullable))


# ── from annotations ─────────────────────────────────────────────────────────────────────────


def annotated(function: Callable[..., Any]) -> Shape | None:
    """What a function's return annotation says of its rows, if it is a TypedDict or a dataclass."""
    return _annotated_row(hints_of(function).get("return"))


def _annotated_row(hint: Any) -> Shape | None:
    if isinstance(hint, type) and (is_typeddict(hint) or dataclasses.is_dataclass(hint)):
        return _shape_of(hint)
    inner = [part for part in get_args(hint) if part not in (type(None), ...)]
    shapes = [_annotated_row(part) for part in inner]
    if isinstance(hint, types.UnionType) or get_origin(hint) is Union:
        return shapes[0] if len(shapes) == 1 else None
    origin: Any = get_origin(hint)
    if not shapes or not isinstance(origin, type) or issubclass(origin, Mapping):
        return None
    return shapes[0] if issubclass(origin, Iterable) else None


def _shape_of(kind: Any) -> Shape | None:
    fields: list[spark.StructField] = []
    required: set[str] = set()
    for name, hint in get_type_hints(kind, include_extras=True).items():
        is_required = not is_typeddict(kind) or name in kind.__required_keys__
        if get_origin(hint) in (Required, NotRequired):
            is_required = get_origin(hint) is Required
            (hint,) = get_args(hint)
        data_type, may_be_null = _type_of(hint)
        if data_type is None:
            return None
        fields.append(spark.StructField(name, data_type, may_be_null or not is_required))
        if is_required:
            required.add(name)
    return Shape(spark.StructType(fields), frozenset(required))


def _type_of(hint: Any) -> tuple[spark.DataType | None, bool]:
    """Spark's type for one of Python's, None if it has none; and whether None is among it."""
    if hint in _PLAIN:
        return _PLAIN[hint], False
    arguments, origin = get_args(hint), get_origin(hint)
    if isinstance(hint, types.UnionType) or origin is Union:
        inner = [part for part in arguments if part is not type(None)]
        found = {_type_of(part)[0] for part in inner}
        return (found.pop() if len(found) == 1 else None), len(inner) < len(arguments)
    if origin is Literal:
        found = {_PLAIN.get(type(value)) for value in arguments}
        return (found.pop() if len(found) == 1 else None), False
    if isinstance(hint, type) and (is_typeddict(hint) or dataclasses.is_dataclass(hint)):
        shape = _shape_of(hint)
        return (None if shape is None else nullable(shape.columns)), False
    if not isinstance(origin, type):
        return None, False
    parts = [part for arg in arguments if arg is not ... and (part := _type_of(arg)[0]) is not None]
    if issubclass(origin, Mapping) and len(parts) == 2:
        return spark.MapType(parts[0], parts[1]), False
    if issubclass(origin, Sequence | set | frozenset) and len(parts) == 1:
        return spark.ArrayType(parts[0]), False
    return None, False


# ── from rows ────────────────────────────────────────────────────────────────────────────────


def inferred(rows: Sequence[Row], task: str, like: Shape | None = None) -> Shape:
    """What these rows look like. A column that is null in all of them is as in `like`."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    known = {} if like is None else {field.name: field.dataType for field in like.columns.fields}
    fields = [
        spark.StructField(name, _inferred_column(name, rows, task, known.get(name)))
        for name in names
    ]
    everywhere = frozenset(name for name in names if all(name in row for row in rows))
    return Shape(spark.StructType(fields), everywhere)


def _inferred_column(
    name: Any, rows: Sequence[Row], task: str, known: spark.DataType | None
) -> spark.DataType:
    if not isinstance(name, str):
        raise UnknownShape(f"the task `{task}` makes rows with the key {name!r}: keys are text")
    values = [row[name] for row in rows if row.get(name) is not None]
    if known is not None and (not values or isinstance(known, spark.DecimalType | spark.MapType)):
        return known
    try:
        found = from_arrow_type(pa.array(values).type)
    except (pa.ArrowException, PySparkException) as error:
        raise UnknownShape(
            f"the values of `{name}` in the rows of the task `{task}` are of no one type "
            f"({' '.join(str(error).split())}): declare its `schema`"
        ) from None
    if _has_null(found):
        raise UnknownShape(
            f"`{name}` is null in every row of the sample of the task `{task}`, so its type is not "
            "known: declare its `schema`"
        )
    return spark.DecimalType(38, found.scale) if isinstance(found, spark.DecimalType) else found


def _has_null(data_type: spark.DataType) -> bool:
    match data_type:
        case spark.NullType():
            return True
        case spark.ArrayType(elementType=element):
            return _has_null(element)
        case spark.StructType(fields=fields):
            return any(_has_null(field.dataType) for field in fields)
        case _:
            return False


# ── together ─────────────────────────────────────────────────────────────────────────────────


def merged(shapes: Sequence[Shape], task: str) -> Shape:
    """The columns of all; a row needs those that all of them need."""
    columns: dict[str, spark.StructField] = {}
    for shape in shapes:
        for field in shape.columns.fields:
            old = columns.get(field.name)
            columns[field.name] = field if old is None else _wider(old, field, task)
    everywhere = frozenset.intersection(*(frozenset(shape.names) for shape in shapes))
    required = frozenset.intersection(*(shape.required for shape in shapes))
    fields = [
        spark.StructField(name, field.dataType, field.nullable or name not in everywhere)
        for name, field in columns.items()
    ]
    return Shape(spark.StructType(fields), required)


def _wider(one: spark.StructField, other: spark.StructField, task: str) -> spark.StructField:
    may_be_null = one.nullable or other.nullable
    if one.dataType == other.dataType:
        return spark.StructField(one.name, one.dataType, may_be_null)
    if one.dataType in _NUMBERS and other.dataType in _NUMBERS:
        wide = max(_NUMBERS.index(one.dataType), _NUMBERS.index(other.dataType))
        return spark.StructField(one.name, _NUMBERS[wide], may_be_null)
    raise UnknownShape(
        f"`{one.name}` comes to the task `{task}` as {one.dataType.simpleString()} and as "
        f"{other.dataType.simpleString()}: make it one type, or declare the task's `schema`"
    )
