# Rows are of any shape here, as users' are.
# pyright: basic
"""A row that is lost or doubled between tasks is found, and the tasks are named."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from remuda.pipeline.killed import JobKilled
from remuda.pipeline.model.job import Job
from remuda.pipeline.spark import batch, row_pass
from remuda.pipeline.spark.audit import VALUE, AuditFailed, Ledger, Sum, compare
from tests.pipeline.jobs import built, collected
from tests.pipeline.test_interpreter import job_of

integration = pytest.mark.integration
FUNCTIONS = {
    "test:parse": lambda row: [row, row] if row["id"] % 2 else None,
    "test:keep": dict,
    "test:is_big": lambda row: row["id"] > 4,
}


def audited(**parts: Any) -> Job:
    return job_of(
        [["in", "parse"], ["parse", "keep"], ["keep", "out"], ["parse", "big"]],
        groups={"schema": "id long"},
        flow_conditions=[
            {"from": "parse", "to": ["keep"]},
            {"from": "parse", "to": ["big"], "predicate": "test:is_big"},
        ],
        audit=True,
        **parts,
    )


def run(spark: SparkSession) -> dict[str, int]:
    outputs = built(spark, audited(), {"in": spark.range(10)}, FUNCTIONS)
    outputs.hold()
    found = {name: len(collected(frame)) for name, frame in outputs.frames.items()}
    outputs.check_audit()
    outputs.release()
    return found


@integration
def test_a_job_that_loses_nothing_passes_its_audit(spark: SparkSession) -> None:
    assert run(spark) == {"out": 10, "big": 6}


@integration
def test_rows_have_no_values_left_when_they_are_written(spark: SparkSession) -> None:
    outputs = built(spark, audited(), {"in": spark.range(10)}, FUNCTIONS)
    assert {name: frame.columns for name, frame in outputs.frames.items()} == {
        "out": ["id"],
        "big": ["id"],
    }


def dropped(frame: DataFrame) -> DataFrame:
    return frame.where("id != 7")


def doubled(frame: DataFrame) -> DataFrame:
    return frame.union(frame.where("id = 1").limit(1))


def swapped(frame: DataFrame) -> DataFrame:
    return frame.where("id != 7").union(frame.where("id = 9"))


@integration
@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (dropped, "2 rows were lost between `keep` and `out`"),
        (doubled, "1 row was doubled between `keep` and `out`"),
        (swapped, "a row was lost and another doubled between `keep` and `out`"),
    ],
)
def test_what_goes_wrong_between_a_pass_and_an_output_is_found(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, broken: Any, told: str
) -> None:
    monkeypatch.setattr(
        batch, "delivered", lambda frame, to: broken(frame) if to.task == "out" else frame
    )
    with pytest.raises(AuditFailed, match=told):
        run(spark)


def plan_of(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> row_pass.PassPlan:
    plans: list[row_pass.PassPlan] = []
    mapper = row_pass.mapper

    def noting(plan: row_pass.PassPlan) -> Any:
        plans.append(plan)
        return mapper(plan)

    monkeypatch.setattr(batch, "mapper", noting)
    built(spark, audited(), {"in": spark.range(10)}, FUNCTIONS)
    return plans[0]


@integration
@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (lambda arrived, more: more[1:], "1 row was lost between `parse` and `keep`"),
        (lambda arrived, more: [*more, more[0]], "1 row was doubled between `parse` and `keep`"),
    ],
)
def test_what_goes_wrong_between_the_steps_of_a_pass_is_found(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, broken: Any, told: str
) -> None:
    plan = plan_of(spark, monkeypatch)
    rows = pa.RecordBatch.from_pydict({"id": [1, 3, 5], VALUE: [11, 12, 13]})
    steps = row_pass.Steps(plan, row_pass.Counter("in", plan.told))
    taken = Ledger().consumed(rows).to_pylist()
    assert sum(map(len, steps.run(taken).values())) == 2
    parsed = row_pass.joined

    def breaking(arrived: Any, more: Any) -> Any:
        return broken(arrived, more) if len(more) == 6 else parsed(arrived, more)

    monkeypatch.setattr(row_pass, "joined", breaking)
    with pytest.raises(JobKilled, match=told):
        steps.run(Ledger().consumed(rows).to_pylist())


def test_a_batch_that_is_computed_again_has_the_same_values_again() -> None:
    def values() -> tuple[list[int], dict[str, Sum]]:
        ledger = Ledger()
        batch = pa.RecordBatch.from_pydict({"id": [1, 3, 5], VALUE: [11, -12, 2**62]})
        rows = ledger.consumed(batch)
        made = [*ledger.produced("out (output)", rows), *ledger.produced("big (output)", rows)]
        return [value.as_py() for value in made], ledger.sums

    assert values() == values()
    assert len(set(values()[0])) == 6
    assert values()[1]["consumed"] == Sum(11 ^ -12 ^ 2**62, 3)


def test_pairs_cancel_in_the_xor_but_not_in_the_count() -> None:
    twice = Sum(5, 1) + Sum(7, 1) + Sum(7, 1)
    with pytest.raises(AuditFailed, match=r"2 rows were doubled between `a`, `b` and `c`"):
        compare(["a", "b"], "c", Sum(5, 1), twice)
