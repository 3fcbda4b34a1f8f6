# Rows are of any shape here, as users' are.
# pyright: basic
"""Jobs on Spark, in a batch: the worked cases, the forms, the plans, and what goes wrong."""

from __future__ import annotations

import inspect
import itertools
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from remuda.pipeline.model.problems import BadJob
from remuda.pipeline.model.reading import read_job
from remuda.pipeline.spark.types import UnknownShape
from remuda.pipeline.spark.writing import together
from remuda.pipeline.windows import instant
from tests.pipeline.jobs import built, collected, frame_of, multiset, on_spark
from tests.pipeline.test_interpreter import CASES, job_of, on_n

pytestmark = pytest.mark.integration

Row = dict[str, Any]
CHAIN = [["in", "a"], ["a", "b"], ["b", "c"], ["c", "d"], ["d", "out"]]


def passes_in(frame: DataFrame) -> int:
    return plan_of(frame).count("MapInArrow")


def plan_of(frame: DataFrame) -> str:
    jvm: Any = frame._jdf
    return jvm.queryExecution().optimizedPlan().toString()


# ── the worked cases ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["a chain", "a fork and a join"])
def test_rows_go_through_every_following_task(spark: SparkSession, name: str) -> None:
    case = CASES[name]
    functions = {f"test:{task}": on_n(written) for task, written in case["functions"].items()}
    rows = [{"n": n} for n in case["input_n"]]
    out = on_spark(spark, job_of(case["workflow"]), {"in": rows}, functions)["out"]
    if "output_n" in case:
        assert [row["n"] for row in out] == case["output_n"]
    else:
        assert len(out) == case["output_count"]


def test_an_exception_is_routed_by_a_condition_that_short_circuits(spark: SparkSession) -> None:
    (flow,) = CASES["a short-circuiting exception condition"]["flow"]

    def check(row: Row) -> Row:
        if row["user"] == "Ron":
            raise ValueError("Ron may not")
        return row

    job = job_of(
        [["in", "check"], ["check", "out"]],
        flow_conditions=[
            {**flow, "post_transform": "test:with_message"},
            {"from": "check", "to": ["out"]},
        ],
    )
    functions = {
        "test:check": check,
        "test:with_message": lambda row, error: {**row, "error": str(error)},
    }
    out = on_spark(spark, job, {"in": [{"user": "Ron"}, {"user": "Ann"}]}, functions)["out"]
    assert out == [{"user": "Ron", "error": "Ron may not"}, {"user": "Ann", "error": None}]


class Session(TypedDict):
    id: int
    first: float
    last: float


def test_sessions_grow_by_events_within_the_gap_of_their_edges(spark: SparkSession) -> None:
    case = CASES["session windows, gap 5 minutes, grouped by id"]

    def at(clock: str) -> datetime:
        return datetime.fromisoformat(f"2026-01-01T{clock}").replace(tzinfo=UTC)

    def emit(content: Any) -> Session:
        return {"id": content.group, "first": float(content.start), "last": float(content.end)}

    job = job_of(
        [["in", "sum"], ["sum", "out"]],
        reduces=["sum"],
        groups={"group_by": "id"},
        windows=[
            {
                "id": "w",
                "task": "sum",
                "type": "session",
                "time": "at",
                "gap": "5 minutes",
                "aggregation": "count",
            }
        ],
        triggers=[{"id": "t", "window": "w", "on": "watermark", "emit": "test:emit"}],
    )
    rows = [{**event, "at": at(event["at"])} for event in case["events"]]
    out = on_spark(spark, job, {"in": rows}, {"test:emit": emit})["out"]
    expected = [
        {
            "id": session["id"],
            "first": float(instant(at(session["first"]))),
            "last": float(instant(at(session["last"]))),
        }
        for session in case["sessions"]
    ]
    assert multiset(out) == multiset(expected)


# ── forms ────────────────────────────────────────────────────────────────────────────────────


def test_the_four_forms_work_together_and_take_parameters(spark: SparkSession) -> None:
    def plus(row: Row, by: int) -> Row:
        return {"n": row["n"] + by}

    def doubled(batch: pa.RecordBatch, by: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"n": batch.column("n").to_numpy() * by})

    def squared(frame: DataFrame, power: int) -> DataFrame:
        return frame.select(sql.pow("n", sql.lit(power)).cast("long").alias("n"))

    catalog = [
        {"name": "in", "type": "input", "plugin": "memory"},
        {"name": "row", "type": "function", "fn": "test:plus", "params": {"by": 1}},
        {"name": "arrow", "type": "function", "fn": "test:doubled", "params": {"by": 2}},
        {"name": "frame", "type": "function", "fn": "test:squared", "params": {"power": 2}},
        {"name": "select", "type": "function", "sql": "n - :less as n", "params": {"less": 3}},
        {
            "name": "query",
            "type": "function",
            "sql": "with big as (select * from rows where n > :least) select *, 'b' as s from big",
            "params": {"least": 5},
        },
        {"name": "out", "type": "output", "plugin": "memory"},
    ]
    names = [entry["name"] for entry in catalog]
    workflow = [list(edge) for edge in itertools.pairwise(names)]
    job = read_job({"workflow": workflow, "catalog": catalog})
    functions = {"test:plus": plus, "test:doubled": doubled, "test:squared": squared}
    out = on_spark(spark, job, {"in": [{"n": n} for n in range(4)]}, functions)["out"]
    expected = [((n + 1) * 2) ** 2 - 3 for n in range(4)]
    assert out == [{"n": n, "s": "b"} for n in expected if n > 5]


@dataclass
class Priced:
    id: int
    euros: float
    note: str | None = None


def test_rows_may_be_dataclasses_and_their_annotations_are_the_schema(spark: SparkSession) -> None:
    def price(row: Row) -> Priced | None:
        return None if row["id"] == 1 else Priced(row["id"], row["id"] / 2)

    def noted(order: Priced) -> list[Priced]:
        return [Priced(order.id, order.euros, "a"), Priced(order.id, order.euros)]

    job = job_of([["in", "price"], ["price", "noted"], ["noted", "out"]])
    functions = {"test:price": price, "test:noted": noted}
    outputs = built(spark, job, {"in": spark.range(3)}, functions)
    frame = outputs.frames["out"]
    assert frame.schema.simpleString() == "struct<id:bigint,euros:double,note:string>"
    assert multiset(collected(frame)) == multiset(
        [{"id": n, "euros": n / 2, "note": note} for n in (0, 2) for note in ("a", None)]
    )


def test_inputs_and_outputs_may_have_functions(spark: SparkSession) -> None:
    job = read_job(
        {
            "workflow": [["in", "out"]],
            "catalog": [
                {"name": "in", "type": "input", "plugin": "memory", "fn": "test:plus"},
                {"name": "out", "type": "output", "plugin": "memory", "fn": "test:text"},
            ],
        }
    )
    functions = {
        "test:plus": lambda row: {"n": row["n"] + 1},
        "test:text": lambda row: {"text": str(row["n"])},
    }
    out = on_spark(spark, job, {"in": [{"n": 1}, {"n": 2}]}, functions)["out"]
    assert out == [{"text": "2"}, {"text": "3"}]


def test_rows_of_a_group_are_in_one_partition(spark: SparkSession) -> None:
    def seen(row: Row) -> Row:
        from pyspark import TaskContext

        return {"k": row["k"], "partition": TaskContext.get().partitionId()}  # type: ignore[reportOptionalMemberAccess]

    rows = [{"k": n % 5, "n": n} for n in range(40)]
    for group in ({"group_by": "k"}, {"group_by_fn": "test:key"}):
        job = job_of(
            [["in", "seen"], ["seen", "out"]], groups={"schema": "k long, partition int", **group}
        )
        functions = {"test:seen": seen, "test:key": lambda row: row["k"]}
        out = on_spark(spark, job, {"in": frame_of(spark, rows)}, functions)["out"]
        assert len(out) == 40
        places = {(row["k"], row["partition"]) for row in out}
        assert len(places) == 5


# ── fusion ───────────────────────────────────────────────────────────────────────────────────


def test_a_chain_of_row_tasks_crosses_into_python_once(spark: SparkSession) -> None:
    functions = {f"test:{name}": dict for name in "abcd"}
    outputs = built(spark, job_of(CHAIN), {"in": spark.range(3)}, functions)
    assert passes_in(outputs.frames["out"]) == 1


def test_a_job_in_sql_never_enters_python(spark: SparkSession) -> None:
    job = read_job(
        {
            "workflow": [["in", "q"], ["q", "r"], ["r", "out"]],
            "catalog": [
                {"name": "in", "type": "input", "plugin": "memory"},
                {"name": "q", "type": "function", "sql": "*, id * 2 as double"},
                {"name": "r", "type": "function", "sql": "select * from rows where double > 2"},
                {"name": "out", "type": "output", "plugin": "memory"},
            ],
        }
    )
    frame = built(spark, job, {"in": spark.range(4)}, {}).frames["out"]
    assert passes_in(frame) == 0
    assert "Python" not in plan_of(frame)
    assert [row["double"] for row in collected(frame)] == [4, 6]


def test_a_condition_is_decided_once_a_row_however_many_tasks_it_leads_to(
    spark: SparkSession, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"

    def is_even(row: Row) -> bool:
        with calls.open("a") as file:
            file.write(f"{row['id']}\n")
        return row["id"] % 2 == 0

    job = job_of(
        [["in", "a"], ["a", "b"], ["a", "c"], ["a", "out"], ["b", "out"], ["c", "other"]],
        groups={"schema": "id long"},
        flow_conditions=[{"from": "a", "to": ["b", "c", "out"], "predicate": "test:is_even"}],
    )
    functions = {**{f"test:{name}": dict for name in "abc"}, "test:is_even": is_even}
    outputs = built(spark, job, {"in": spark.range(20)}, functions)
    (shared,) = outputs.shared
    assert set(shared.outputs) == {"out", "other"}
    assert len(collected(shared.frame)) == 30
    assert sorted(map(int, calls.read_text().split())) == list(range(20))


def test_rows_are_counted_by_edge_once_however_often_spark_computes_them(
    spark: SparkSession,
) -> None:
    def odd_only(row: Row) -> Row:
        if row["id"] % 2 == 0:
            raise ValueError("even")
        return row

    job = job_of(
        [["in", "a"], ["a", "out"], ["a", "errors"]],
        groups={"schema": "id long"},
        flow_conditions=[
            {"from": "a", "to": ["errors"], "thrown_exception": True},
            {"from": "a", "to": ["out"]},
        ],
    )
    outputs = built(spark, job, {"in": spark.range(10)}, {"test:a": odd_only})
    assert len(collected(outputs.frames["out"])) == 5
    assert len(collected(outputs.frames["errors"])) == 5
    assert outputs.counts.edges() == {"in → a": 10, "a → out": 5, "a → errors": 5}
    assert outputs.counts.routed_errors() == {"a": 5}


def test_what_several_outputs_are_made_of_is_computed_once_while_it_is_held(
    spark: SparkSession, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"

    def noted(row: Row) -> Row:
        with calls.open("a") as file:
            file.write("x")
        return row

    job = read_job(
        {
            "workflow": [["in", "a"], ["a", "q"], ["q", "out"], ["a", "other"]],
            "catalog": [
                {"name": "in", "type": "input", "plugin": "memory"},
                {"name": "a", "type": "function", "fn": "test:a", "schema": "id long"},
                {"name": "q", "type": "function", "sql": "id + 1 as id"},
                {"name": "out", "type": "output", "plugin": "memory"},
                {"name": "other", "type": "output", "plugin": "memory"},
            ],
        }
    )
    outputs = built(spark, job, {"in": spark.range(10)}, {"test:a": noted})
    outputs.hold()
    found = {name: sorted(row["id"] for row in collected(f)) for name, f in outputs.frames.items()}
    outputs.release()
    assert found == {"out": list(range(1, 11)), "other": list(range(10))}
    assert len(calls.read_text()) == 10


def test_all_outputs_can_be_had_in_one_frame(spark: SparkSession) -> None:
    job = job_of(
        [["in", "a"], ["a", "out"], ["a", "other"], ["in", "third"]],
        groups={"schema": "id long"},
        flow_conditions=[
            {"from": "a", "to": ["out"], "predicate": "test:is_even"},
            {"from": "a", "to": ["other"], "predicate": {"not": "test:is_even"}},
        ],
    )
    functions = {"test:a": dict, "test:is_even": lambda row: row["id"] % 2 == 0}
    outputs = built(spark, job, {"in": spark.range(6)}, functions)
    all_in_one = together(outputs)
    assert all_in_one.frame.count() == 12
    found = {name: [row["id"] for row in collected(all_in_one.of(name))] for name in outputs.frames}
    assert found == {"out": [0, 2, 4], "other": [1, 3, 5], "third": [0, 1, 2, 3, 4, 5]}


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────


def test_what_nobody_takes_kills_the_job_with_the_users_line(spark: SparkSession) -> None:
    def divide(row: Row) -> Row:
        return {"n": 1 / row["n"]}

    line = inspect.getsourcelines(divide)[1] + 1
    job = job_of([["in", "divide"], ["divide", "out"]], groups={"schema": "n double"})
    told = (
        rf"`divide` raised ZeroDivisionError: division by zero at {__file__}:{line}, for the row "
    )
    with pytest.raises(Exception, match=told + r"\{'n': 0\}") as raised:
        on_spark(spark, job, {"in": [{"n": 1}, {"n": 0}]}, {"test:divide": divide})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"n": "many", "k": 1}, r"`n` is 'many' \(str\), expected bigint"),
        ({"n": 1, "k": 1, "new": 2}, r"`new` is not among its keys, n, k"),
        ({"n": 1}, r"`k` is missing"),
        ({"n": 1, "kk": 2}, r"`kk` is not among its keys, n, k"),
        ({"n": 1, "k": None}, None),
    ],
)
def test_a_late_row_of_the_wrong_shape_kills_the_job_and_is_named(
    spark: SparkSession, wrong: Row, what: str | None
) -> None:
    def shaped(row: Row) -> Row:
        return wrong if row["id"] == 100_002 else {"n": row["id"], "k": 1}

    job = job_of([["in", "shaped"], ["shaped", "out"]])
    inputs = {"in": spark.range(0, 120_000, 1, 1)}
    outputs = built(spark, job, inputs, {"test:shaped": shaped})
    if what is None:
        assert outputs.frames["out"].count() == 120_000
        return
    with pytest.raises(Exception, match=rf"row 100,003 of the task `shaped` does not fit: {what}"):
        on_spark(spark, job, inputs, {"test:shaped": shaped})


def test_a_null_where_none_may_be_is_named(spark: SparkSession) -> None:
    job = job_of([["in", "a"], ["a", "out"]], groups={"schema": "n long not null"})
    with pytest.raises(
        Exception, match="row 2 of the task `a` does not fit: `n` is null, expected"
    ):
        on_spark(
            spark,
            job,
            {"in": spark.range(0, 3, 1, 1)},
            {"test:a": lambda row: {"n": None if row["id"] == 1 else 1}},
        )


def test_a_shape_that_no_sample_shows_must_be_declared(spark: SparkSession) -> None:
    job = job_of([["in", "a"], ["a", "out"]])
    with pytest.raises(UnknownShape, match=r"comes to the task `a`.*declare its `schema`"):
        built(spark, job, {"in": spark.range(0)}, {"test:a": dict})
    with pytest.raises(
        UnknownShape, match="`x` is null in every row of the sample of the task `a`"
    ):
        built(spark, job, {"in": spark.range(3)}, {"test:a": lambda row: {"x": None}})
    with pytest.raises(UnknownShape, match=r"values of `x`.*the task `a` are of no one type"):
        built(
            spark,
            job,
            {"in": spark.range(3)},
            {"test:a": lambda row: {"x": "0" if row["id"] else 0}},
        )


def test_sql_that_cannot_be_run_is_told_in_one_line(spark: SparkSession) -> None:
    job = read_job(
        {
            "workflow": [["in", "q"], ["q", "out"]],
            "catalog": [
                {"name": "in", "type": "input", "plugin": "memory"},
                {"name": "q", "type": "function", "sql": "idd + 1 as n"},
                {"name": "out", "type": "output", "plugin": "memory"},
            ],
        }
    )
    with pytest.raises(Exception, match=r"the SQL of the task `q`.*columns id.*idd") as raised:
        on_spark(spark, job, {"in": spark.range(1)}, {})
    assert "\n" not in str(raised.value)


def test_what_forms_do_not_allow_is_refused_before_anything_runs(spark: SparkSession) -> None:
    job = read_job(
        {
            "workflow": [["in", "q"], ["q", "out"]],
            "catalog": [
                {"name": "in", "type": "input", "plugin": "memory"},
                {"name": "q", "type": "function", "sql": "*"},
                {"name": "out", "type": "output", "plugin": "memory"},
            ],
            "flow_conditions": [{"from": "q", "to": ["out"], "thrown_exception": True}],
        }
    )
    with pytest.raises(BadJob, match="belongs to no row"):
        built(spark, job, {"in": spark.range(1)}, {})


def test_lifecycles_are_called_in_the_workers(spark: SparkSession, tmp_path: Path) -> None:
    diary = tmp_path / "diary"

    def noting(name: str) -> Any:
        def note(task: str) -> None:
            with diary.open("a") as file:
                file.write(f"{name} {task}\n")

        return note

    hooks = ("start", "stop", "before_batch", "after_batch")
    job = job_of(
        [["in", "a"], ["a", "out"]],
        groups={"batch_rows": 2, "schema": "id long"},
        lifecycles=[{"task": "all", **{hook: f"test:{hook}" for hook in hooks}}],
    )
    functions = {"test:a": dict, **{f"test:{hook}": noting(hook) for hook in hooks}}
    out = on_spark(spark, job, {"in": spark.range(0, 3, 1, 1)}, functions)["out"]
    assert [row["id"] for row in out] == [0, 1, 2]
    batch = ["before_batch a", "after_batch a"]
    assert diary.read_text().splitlines() == ["start a", *batch, *batch, "stop a"]
