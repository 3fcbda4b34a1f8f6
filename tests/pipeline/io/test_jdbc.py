# Objects of the JVM are of any shape.
# pyright: basic
"""Tables, with a real database: Derby, in the session's own JVM."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from remuda.pipeline.io import jvm
from remuda.pipeline.io.database import connected
from remuda.pipeline.io.port import BadInput, BadOutput, NothingStaged, Target
from remuda.pipeline.io.registry import input_of, output_of
from remuda.pipeline.run import Fenced
from tests.pipeline.io.targets import read, run_in, sink, source, written

pytestmark = pytest.mark.integration

_numbers = itertools.count()


@pytest.fixture
def url(spark: SparkSession, tmp_path: Path) -> str:
    log = str(tmp_path / "derby.log")
    jvm.of(spark).java.lang.System.setProperty("derby.stream.error.file", log)
    url = f"jdbc:derby:memory:test-{next(_numbers)};create=true"
    with connected(spark, {"url": url}) as database:
        database.do("create table people (ID bigint, NAME varchar(20), note varchar(9))")
        database.commit()
    return url


def people(spark: SparkSession, *ids: int) -> DataFrame:
    return spark.createDataFrame([(n, f"name {n}") for n in ids], "id long, name string")


def ask(spark: SparkSession, url: str, query: str) -> list[tuple[Any, ...]]:
    with connected(spark, {"url": url}) as database:
        return database.ask(query)


def tables(spark: SparkSession, url: str) -> list[str]:
    query = "select tablename from sys.systables where tabletype = 'T' order by tablename"
    return [row[0].lower() for row in ask(spark, url, query)]


def test_rows_are_copied_into_the_table_by_one_transaction_once(
    spark: SparkSession, tmp_path: Path, url: str
) -> None:
    target = Target(run_in(tmp_path), sink("jdbc", url=url, table="people"))
    output = output_of(target.task)
    output.stage(people(spark, 1, 2), target)
    assert ask(spark, url, "select count(*) from people") == [(0,)]
    assert [output.publish(target), output.publish(target)] == [2, 2]
    assert written(people(spark, 7, 8, 9), target) == 2
    found = ask(spark, url, "select id, name, note from people order by id")
    assert found == [(1, "name 1", None), (2, "name 2", None)]
    assert tables(spark, url) == ["people", "remuda_commits", "remuda_staged"]


def test_epochs_are_added_one_after_another(spark: SparkSession, tmp_path: Path, url: str) -> None:
    run, task = run_in(tmp_path), sink("jdbc", url=url, table="people")
    for epoch in (0, 1, 1):
        written(people(spark, epoch), Target(run, task, epoch))
    assert ask(spark, url, "select id from people order by id") == [(0,), (1,)]


def test_a_publishing_that_is_cut_off_before_its_end_leaves_nothing_and_is_repeated(
    spark: SparkSession, tmp_path: Path, url: str
) -> None:
    task = sink("jdbc", url=url, table="people")
    old = Target(run_in(tmp_path), task)
    output_of(task).stage(people(spark, 1, 2), old)
    new = Target(run_in(tmp_path, fence_epoch=2), task)
    # The fence is asked when the rows are copied and not yet committed.
    with pytest.raises(Fenced):
        output_of(task).publish(old)
    assert ask(spark, url, "select count(*) from people") == [(0,)]
    assert ask(spark, url, "select count(*) from remuda_commits") == [(0,)]
    assert output_of(task).publish(new) == 2
    assert ask(spark, url, "select count(*) from people") == [(2,)]
    assert tables(spark, url) == ["people", "remuda_commits", "remuda_staged"]


def test_a_staging_that_is_cut_off_is_not_published_and_goes_with_the_next(
    spark: SparkSession, tmp_path: Path, url: str
) -> None:
    task = sink("jdbc", url=url, table="people")
    target = Target(run_in(tmp_path), task)
    broken = people(spark, 1, 2).selectExpr("id", "cast(raise_error('broken') as string) as name")
    with pytest.raises(Exception, match="broken"):
        output_of(task).stage(broken, target)
    with pytest.raises(NothingStaged):
        output_of(task).publish(target)
    assert written(people(spark, 3), target) == 1
    assert ask(spark, url, "select id from people") == [(3,)]
    output_of(task).discard(target)
    assert tables(spark, url) == ["people", "remuda_commits", "remuda_staged"]


def test_a_table_that_is_not_there_is_made(spark: SparkSession, tmp_path: Path, url: str) -> None:
    run = run_in(tmp_path)
    assert written(people(spark, 5), Target(run, sink("jdbc", url=url, table="made"))) == 1
    back = read(spark, run, source("jdbc", url=url, table="made")).collect()
    assert [tuple(row) for row in back] == [(5, "name 5")]


def test_a_table_or_a_query_is_read_in_parts(spark: SparkSession, tmp_path: Path, url: str) -> None:
    run = run_in(tmp_path)
    written(people(spark, *range(10)), Target(run, sink("jdbc", url=url, table="people")))
    parts = {"partitionColumn": "ID", "lowerBound": 0, "upperBound": 10, "numPartitions": 2}
    rows = read(spark, run, source("jdbc", url=url, table="people", **parts))
    assert (rows.count(), rows.rdd.getNumPartitions()) == (10, 2)
    some = read(spark, run, source("jdbc", url=url, query="select id from people where id > 7"))
    assert sorted(row.ID for row in some.collect()) == [8, 9]


def test_what_the_database_says_is_one_line_without_credentials(
    spark: SparkSession, tmp_path: Path, url: str
) -> None:
    run = run_in(tmp_path)
    secret = {"url": url + ";password=hunter2", "user": "me", "password": "hunter2"}
    with pytest.raises(BadInput) as raised:
        read(spark, run, source("jdbc", table="nowhere", **secret))
    assert str(raised.value).startswith("catalog entry in: the database says: ")
    assert "Schema 'ME' does not exist" in str(raised.value)
    away = secret | {"url": "jdbc:derby:/nowhere/at/all;password=hunter2"}
    with pytest.raises(BadOutput) as refused:
        written(people(spark, 1), Target(run, sink("jdbc", table="people", **away)))
    for error in (raised.value, refused.value):
        assert "hunter2" not in str(error)
        assert "\n" not in str(error)


def test_a_database_without_a_driver_and_a_function_that_raises_are_told_apart(
    spark: SparkSession, tmp_path: Path, url: str
) -> None:
    run = run_in(tmp_path)
    for away in ({"url": "jdbc:nobody:x"}, {"url": url, "driver": "no.such.Driver"}):
        with pytest.raises(BadInput, match="catalog entry in: there is no driver for its `url`"):
            read(spark, run, source("jdbc", table="t", **away))

    def raising(batches: Any) -> Any:
        raise ValueError("a user's own")

    rows = people(spark, 1).mapInArrow(raising, "id long")
    with pytest.raises(PySparkException, match="a user's own"):
        written(rows, Target(run, sink("jdbc", url=url, table="people")))


def test_rows_that_do_not_fit_the_table_are_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path, url: str
) -> None:
    target = Target(run_in(tmp_path), sink("jdbc", url=url, table="people"))
    wrong = spark.createDataFrame([(1, "x")], "id long, nmae string")
    with pytest.raises(BadOutput, match="people has no column `nmae`"):
        written(wrong, target)


def test_a_table_is_no_stream(spark: SparkSession, tmp_path: Path, url: str) -> None:
    task = source("jdbc", url=url, table="people")
    with pytest.raises(BadInput, match="catalog entry in: a table is no stream"):
        input_of(task).read_stream(spark, task, run_in(tmp_path))
