# Functions are of any shape here, as users' are.
# pyright: basic
"""Which form a function has, and what it is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from remuda.pipeline.forms import form_of, query_of, row_function
from remuda.pipeline.functions import Functions, rows_of
from remuda.pipeline.model.job import Task


class Order(TypedDict):
    id: int


@dataclass
class Priced:
    id: int
    price: float = 1.0


def silent(row):
    return row


def typed(order: Order) -> Order:
    return order


def of_batch(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows


def of_table(rows: pa.Table) -> pa.Table:
    return rows


def of_frame(rows: DataFrame) -> DataFrame:
    return rows


def of_frame_elsewhere(rows):
    return rows


of_frame_elsewhere.__annotations__ = {"rows": "elsewhere.DataFrame"}


class OfBatch:
    def __call__(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows


def task(**parts: Any) -> Task:
    return Task(name="t", type="function", **parts)


@pytest.mark.parametrize(
    ("function", "form"),
    [
        (silent, "row"),
        (typed, "row"),
        (dict, "row"),
        (of_batch, "arrow"),
        (of_table, "arrow"),
        (OfBatch(), "arrow"),
        (of_frame, "dataframe"),
        (of_frame_elsewhere, "dataframe"),
    ],
)
def test_the_form_of_a_function_is_seen_from_its_annotations(function: Any, form: str) -> None:
    assert form_of(task(fn="f"), Functions({"f": function})) == form


def test_what_a_task_declares_goes_before_what_its_function_says() -> None:
    assert form_of(task(fn="f", form="arrow"), Functions({"f": silent})) == "arrow"
    assert form_of(task(sql="*"), Functions()) == "sql"
    assert form_of(task(), Functions()) is None


def test_a_row_function_may_take_and_answer_dataclasses() -> None:
    def raised(order: Priced, by: float) -> Priced:
        return Priced(order.id, order.price * by)

    called = row_function(task(fn="f", params={"by": 2.0}), Functions({"f": raised}))
    assert rows_of(called({"id": 1, "price": 3.0, "other": "x"})) == [{"id": 1, "price": 6.0}]
    assert rows_of(called({"id": 1})) == [{"id": 1, "price": 2.0}]
    assert rows_of([Priced(1), Priced(2)]) == [{"id": 1, "price": 1.0}, {"id": 2, "price": 1.0}]


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("*, a + b as c", "select *, a + b as c from rows"),
        ("select a from rows", "select a from rows"),
        (" WITH x AS (select 1) select * from rows, x", None),
        ("from rows |> where a > 1", None),
        ("selected, withdrawn", "select selected, withdrawn from rows"),
    ],
)
def test_sql_is_a_query_over_rows_or_a_select_list(written: str, query: str | None) -> None:
    assert query_of(written) == (query or written)
