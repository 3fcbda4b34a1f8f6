"""The four forms that a task's function can have.

- `row`        a row in; a row, rows or None out. A row is a dict, a TypedDict or a dataclass.
- `arrow`      a `pyarrow.RecordBatch` (or `Table`) in, the same out
- `dataframe`  a Spark DataFrame in, one out
- `sql`        a query over the relation `rows`, or a select list; parameters are named, `:least`

A task says which with `form`, or its function does with its annotations. One that says nothing is a
row function.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any, cast, get_type_hints

from remuda.pipeline.functions import Functions, Row
from remuda.pipeline.model.job import Form, Task

_FORMS: dict[str, Form] = {
    "RecordBatch": "arrow",
    "Table": "arrow",
    "DataFrame": "dataframe",
}
_QUERY = re.compile(r"^\s*(select|with|from|values)\b", re.IGNORECASE)


def form_of(task: Task, functions: Functions) -> Form | None:
    """The form of what a task does with rows; None if it passes them on as they are."""
    if task.sql is not None:
        return "sql"
    if task.fn is None:
        return None
    if task.form is not None:
        return task.form
    return _FORMS.get(_name_of(_first_annotation(functions.find(task.fn))), "row")


def takes_table(function: Callable[..., Any]) -> bool:
    """Whether an Arrow function asks for a `Table` instead of a `RecordBatch`."""
    return _name_of(_first_annotation(function)) == "Table"


def query_of(sql: str) -> str:
    """What a SQL task means, as a whole query over `rows`."""
    return sql if _QUERY.match(sql) else f"select {sql} from rows"


def row_function(task: Task, functions: Functions) -> Callable[[Row], Any]:
    """A row function with its parameters bound, which takes a dict whatever it is written for."""
    assert task.fn is not None
    bound = functions.bound(task.fn, task.params)
    kind = hints_of(functions.find(task.fn)).get(_first_parameter(functions.find(task.fn)) or "")
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        return bound
    names = [field.name for field in dataclasses.fields(kind) if field.init]
    make = cast("Callable[..., Any]", kind)

    def called(row: Row) -> Any:
        return bound(make(**{name: row[name] for name in names if name in row}))

    return called


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations as types; those that cannot be resolved as they are written."""
    is_object = not inspect.isroutine(function) and not isinstance(function, type)
    described = type(function).__call__ if is_object else function
    try:
        return get_type_hints(described)
    except Exception:
        return dict(getattr(described, "__annotations__", {}))


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _first_parameter(function: Callable[..., Any]) -> str | None:
    try:
        return next(iter(inspect.signature(function).parameters), None)
    except (TypeError, ValueError):
        return None


def _first_annotation(function: Callable[..., Any]) -> Any:
    return hints_of(function).get(_first_parameter(function) or "")


def _name_of(annotation: Any) -> str:
    """By name, so that nothing needs to be imported in order to ask."""
    written = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return written.rpartition(".")[2]
