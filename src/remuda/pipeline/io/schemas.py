# Spark's types are untyped in places.
# pyright: basic
"""Schemas of inputs: as declared, as remembered, and whether they fit what is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from urllib.parse import quote

from pyspark.errors import PySparkException
from pyspark.sql.types import DataType, StructType

from remuda.pipeline.io.failures import first_line
from remuda.pipeline.io.options import entry
from remuda.pipeline.io.port import BadInput
from remuda.pipeline.io.storage import LocalStorage
from remuda.pipeline.model.job import Task
from remuda.pipeline.model.problems import nearest
from remuda.pipeline.run import Run

# What Spark's Parquet reader widens on its way in.
_WIDER = {
    "tinyint": {"smallint", "int", "bigint", "double"},
    "smallint": {"int", "bigint", "double"},
    "int": {"bigint", "double"},
    "float": {"double"},
    "date": {"timestamp_ntz"},
}


def declared(task: Task) -> StructType | None:
    if task.schema is None:
        return None
    try:
        schema = StructType.fromDDL(task.schema)
    except PySparkException as error:
        raise BadInput(
            f"{entry(task)}: `schema` is not written as Spark's are, like `id long, at timestamp`: "
            f"{first_line(error)}"
        ) from None
    if not isinstance(schema, StructType):
        raise BadInput(f"{entry(task)}: `schema` has columns, like `id long, at timestamp`")
    return schema


def remembered(run: Run, task: Task, infer: Callable[[], StructType]) -> StructType:
    """As the rows were when the job first ran: a checkpoint expects that they look the same ever
    after."""
    file = run.work / "schemas" / f"{quote(task.name, safe='')}.json"
    if file.exists():
        return StructType.fromJson(json.loads(file.read_text()))
    schema = infer()
    file.parent.mkdir(parents=True, exist_ok=True)
    LocalStorage().write(str(file), schema.json())
    return schema


def misfits(schema: StructType, there: StructType) -> Iterator[str]:
    """Columns of a declared schema that files of another one cannot fill."""
    columns = {field.name.lower(): field.dataType for field in there.fields}
    for field in schema.fields:
        kind = columns.get(field.name.lower())
        if kind is None:
            yield f"there is no column `{field.name}`{nearest(field.name, there.names)}"
        elif not _fits(kind, field.dataType):
            said, found = field.dataType.simpleString(), kind.simpleString()
            yield f"`{field.name}` is {found} there, not {said}"


def _fits(kind: DataType, wanted: DataType) -> bool:
    if isinstance(kind, StructType) and isinstance(wanted, StructType):
        return not any(misfits(wanted, kind))
    there, said = kind.simpleString(), wanted.simpleString()
    both_decimal = there.startswith("decimal(") and said.startswith("decimal(")
    return there == said or said in _WIDER.get(there, ()) or both_decimal
