# DataFrames are untyped in places.
# pyright: basic
"""Parquet, JSON lines, CSV and text: round trips, exactly once, and what is said of bad input."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from remuda.pipeline.io.failures import explained
from remuda.pipeline.io.files import json_lines
from remuda.pipeline.io.jvm import hadoop_configuration
from remuda.pipeline.io.port import BadInput, BadOutput, Target
from remuda.pipeline.io.registry import input_of, output_of
from remuda.pipeline.run import Fenced, Run
from tests.pipeline.io.targets import (
    hidden_beside,
    lines_below,
    read,
    run_in,
    sink,
    source,
    stream,
    streamed,
    written,
)

pytestmark = pytest.mark.integration

SCHEMA = "id long, name string, at timestamp, day date, price decimal(9,2), ratio double"
AT = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
ROWS: list[tuple[Any, ...]] = [
    (1, 'a, "quoted" and\nbroken', AT, date(2024, 5, 6), Decimal("1.25"), 0.1),
    (2, "", None, None, None, None),
    (3, None, AT, date(1969, 1, 1), Decimal("-7.00"), 1e300),
]


def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA)


def numbers(spark: SparkSession, *ids: int) -> DataFrame:
    return spark.createDataFrame([(n,) for n in ids], "id long")


def ids(frame: DataFrame) -> list[int]:
    return sorted(row["id"] for row in frame.collect())


def write_lines(folder: Path, *files: list[Any]) -> Path:
    """A file each; a stream takes them in the order of their times."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, lines in enumerate(files):
        text = "".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines)
        file = folder / f"{number:03}.json"
        file.write_text(text)
        at = file.stat().st_mtime - len(files) + number
        os.utime(file, (at, at))
    return folder


# ── round trips ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("plugin", ["parquet", "json", "csv"])
def test_what_was_written_is_read_again_to_the_microsecond(
    spark: SparkSession, tmp_path: Path, plugin: str
) -> None:
    run, path = run_in(tmp_path), str(tmp_path / "out")
    nulls = {"nullValue": "\\N"} if plugin == "csv" else {}
    assert written(rows(spark), Target(run, sink(plugin, path=path, **nulls))) == 3
    lines = {"multiLine": True} if plugin == "csv" else {}
    back = read(spark, run, source(plugin, SCHEMA, path=path, **nulls, **lines))
    assert sorted(map(tuple, back.collect()), key=lambda row: row[0]) == sorted(
        map(tuple, rows(spark).collect()), key=lambda row: row[0]
    )


def test_text_is_a_line_a_row(spark: SparkSession, tmp_path: Path) -> None:
    run, path = run_in(tmp_path), str(tmp_path / "out")
    lines = spark.createDataFrame([("b",), ("a",)], "line string")
    assert written(lines, Target(run, sink("text", path=path))) == 2
    assert sorted(r.value for r in read(spark, run, source("text", path=path)).collect()) == [
        "a",
        "b",
    ]
    with pytest.raises(BadOutput, match="rows of one column of text, and these have `id`, `n`"):
        written(
            spark.createDataFrame([(1, "x")], "id int, n string"),
            Target(run, sink("text", path=str(tmp_path / "other"))),
        )


def test_a_bounded_output_may_be_empty_and_keeps_its_schema(
    spark: SparkSession, tmp_path: Path
) -> None:
    run, path = run_in(tmp_path), str(tmp_path / "out")
    assert written(numbers(spark), Target(run, sink("parquet", path=path))) == 0
    back = read(spark, run, source("parquet", path=path))
    assert (back.columns, back.collect()) == (["id"], [])


def test_output_can_be_partitioned_by_columns(spark: SparkSession, tmp_path: Path) -> None:
    run, path = run_in(tmp_path), tmp_path / "out"
    task = sink("json", path=str(path), partition_by="name")
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id long, name string")
    written(frame, Target(run, task))
    assert sorted(p.name for p in path.glob("name=*")) == ["name=a", "name=b"]
    wrong = sink("json", path=str(tmp_path / "other"), partition_by=["nam"])
    with pytest.raises(BadOutput, match=r"names `nam`, .* \(did you mean `name`\?\)"):
        written(frame, Target(run, wrong))


def test_any_file_system_that_hadoop_knows_will_do(spark: SparkSession, tmp_path: Path) -> None:
    hadoop_configuration(spark).set("fs.viewfs.mounttable.here.link./data", f"file://{tmp_path}")
    run, out = run_in(tmp_path), tmp_path / "out"
    task = sink("json", path="viewfs://here/data/out", mode="overwrite")
    write_lines(out, ["old"])
    output_of(task).stage(numbers(spark, 1, 2), Target(run, task))
    assert lines_below(out) == ["old"]
    assert output_of(task).publish(Target(run, task)) == 2
    assert output_of(task).publish(Target(run, task)) == 2
    assert lines_below(out) == ['{"id":1}', '{"id":2}']
    assert hidden_beside(out) == []
    assert ids(read(spark, run, source("json", path="viewfs://here/data/o*"))) == [1, 2]
    with pytest.raises(BadOutput, match="has content already, of job job-1"):
        written(
            numbers(spark, 3),
            Target(run_in(tmp_path, "job-2"), sink("json", path="viewfs://here/data/out")),
        )
    epoch = sink("json", "stream", path="viewfs://here/data/epochs")
    assert written(numbers(spark, 3), Target(run, epoch, 0)) == 1
    assert written(numbers(spark, 4), Target(run, epoch, 0)) == 1
    assert lines_below(tmp_path / "epochs") == ['{"id":3}']


# ── streams ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("schema", ["id long", None])
def test_a_stream_of_files_is_published_by_epoch(
    spark: SparkSession, tmp_path: Path, schema: str | None
) -> None:
    folder = write_lines(tmp_path / "in", [{"id": 1}], [{"id": 2}, {"id": 3}])
    run, out = run_in(tmp_path), tmp_path / "out"
    task = source("json", schema, path=str(folder), maxFilesPerTrigger=1)
    streamed(input_of(task).read_stream(spark, task, run), run, sink("json", path=str(out)))
    assert lines_below(out) == ['{"id":1}', '{"id":2}', '{"id":3}']
    assert len(list(out.glob("epoch=*"))) == 2
    (folder / "009.json").write_text('{"id": 4, "more": 5}\n')
    run = run_in(tmp_path, fence_epoch=2)
    streamed(input_of(task).read_stream(spark, task, run), run, sink("json", path=str(out)))
    assert lines_below(out) == ['{"id":1}', '{"id":2}', '{"id":3}', '{"id":4}']
    assert ids(read(spark, run, source("json", path=str(out)))) == [1, 2, 3, 4]


def test_a_stream_that_dies_between_publishing_and_its_checkpoint_is_exact(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = write_lines(tmp_path / "in", *([{"id": n}] for n in range(4)))
    task = source("json", "id long", path=str(folder), maxFilesPerTrigger=1)
    out = sink("json", path=str(tmp_path / "out"))
    deaths = iter(["after staging", "after publishing"])

    def publish_and_die(run: Run, where: str) -> Any:
        def on_batch(batch: DataFrame, epoch: int) -> None:
            target = Target(run, out, epoch)
            output_of(out).stage(batch, target)
            if epoch == 1 and where == "after staging":
                raise RuntimeError("killed")
            output_of(out).publish(target)
            if epoch == 2 and where == "after publishing":
                raise RuntimeError("killed")

        return on_batch

    for fence, where in enumerate(deaths, 1):
        run = run_in(tmp_path, fence_epoch=fence)
        with pytest.raises(Exception, match="killed"):
            stream(input_of(task).read_stream(spark, task, run), run, publish_and_die(run, where))
    run = run_in(tmp_path, fence_epoch=3)
    streamed(input_of(task).read_stream(spark, task, run), run, out)
    assert lines_below(tmp_path / "out") == [f'{{"id":{n}}}' for n in range(4)]
    assert hidden_beside(tmp_path / "out") == []


def test_a_stream_needs_a_schema_or_files_to_see_one_in(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    run = run_in(tmp_path)
    task = source("json", path=str(tmp_path / "in"))
    with pytest.raises(BadInput, match="catalog entry in: there are no files in"):
        input_of(task).read_stream(spark, task, run)
    task = source("json", "id long", path=str(tmp_path / "in"))
    assert input_of(task).read_stream(spark, task, run).isStreaming
    task = source("json", "id long", path=str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match="there is nothing at"):
        input_of(task).read_stream(spark, task, run)


def test_rows_of_a_stream_have_no_column_named_epoch(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1,)], "Epoch int")
    with pytest.raises(BadOutput, match="have a column `epoch`"):
        written(frame, Target(run_in(tmp_path), sink("json", path=str(tmp_path / "out")), 0))


# ── exactly once ─────────────────────────────────────────────────────────────────────────────


def test_a_job_that_is_run_again_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    task = sink("json", path=str(tmp_path / "out"))
    assert written(numbers(spark, 1, 2), Target(run_in(tmp_path), task)) == 2
    again = Target(run_in(tmp_path, fence_epoch=2), task)
    assert written(numbers(spark, 7, 8, 9), again) == 2
    assert lines_below(tmp_path / "out") == ['{"id":1}', '{"id":2}']


def test_a_driver_that_was_overtaken_cannot_publish(spark: SparkSession, tmp_path: Path) -> None:
    task = sink("json", path=str(tmp_path / "out"))
    old = Target(run_in(tmp_path), task)
    output_of(task).stage(numbers(spark, 1), old)
    run_in(tmp_path, fence_epoch=2)
    with pytest.raises(Fenced):
        output_of(task).publish(old)
    assert not (tmp_path / "out").exists()


def test_several_outputs_are_staged_by_one_pass(spark: SparkSession, tmp_path: Path) -> None:
    run = run_in(tmp_path)
    tasks = [sink("json", name, path=str(tmp_path / name)) for name in ("a", "b", "none")]
    targets = {n: Target(run, task) for n, task in enumerate(tasks)}
    assert json_lines.can_stage_together(targets)
    tagged = spark.range(0, 1000, 1, 2).selectExpr("id", "cast(id % 4 as int) as __to")
    json_lines.stage_many(tagged.replace(2, 9, ["__to"]), targets)
    assert not (tmp_path / "a").exists()
    assert [json_lines.publish(targets[n]) for n in targets] == [250, 250, 0]
    back = [json.loads(line)["id"] for line in lines_below(tmp_path / "b")]
    assert sorted(back) == list(range(1, 1000, 4))
    for file in (tmp_path / "b").glob("part-*"):
        in_file = [json.loads(line)["id"] for line in file.read_text().splitlines()]
        assert in_file == sorted(in_file)
    assert hidden_beside(tmp_path / "a") == []


def test_outputs_that_are_written_differently_are_not_staged_together(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    plain = Target(run, sink("json", "a", path=str(tmp_path / "a")))
    packed = Target(run, sink("json", "b", path=str(tmp_path / "b"), compression="gzip"))
    assert not json_lines.can_stage_together({0: plain, 1: packed})


# ── bad input ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("plugin", ["parquet", "json", "csv", "text"])
def test_a_path_that_is_not_there_or_empty_is_said_before_anything_runs(
    spark: SparkSession, tmp_path: Path, plugin: str
) -> None:
    run = run_in(tmp_path)
    with pytest.raises(BadInput, match=r"catalog entry in: there is nothing at /\S*nowhere: mend"):
        read(spark, run, source(plugin, path=str(tmp_path / "nowhere")))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "_SUCCESS").touch()
    with pytest.raises(BadInput, match="catalog entry in: there are no files in"):
        read(spark, run, source(plugin, path=str(tmp_path / "empty")))


def test_a_schema_that_does_not_fit_parquet_files_is_said_before_anything_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    run, path = run_in(tmp_path), str(tmp_path / "out")
    written(rows(spark), Target(run, sink("parquet", path=path)))
    with pytest.raises(BadInput, match=r"there is no column `nam` \(did you mean `name`\?\)"):
        read(spark, run, source("parquet", "id long, nam string", path=path))
    with pytest.raises(BadInput, match="`name` is string there, not bigint"):
        read(spark, run, source("parquet", "name long", path=path))
    with pytest.raises(BadInput, match="`schema` is not written as Spark's are"):
        read(spark, run, source("parquet", "name lnog", path=path))
    narrow = written(
        spark.createDataFrame([(1,)], "n int"),
        Target(run, sink("parquet", "n", path=str(tmp_path / "n"))),
    )
    wide = read(spark, run, source("parquet", "n long", path=str(tmp_path / "n")))
    assert (narrow, wide.collect()[0].n) == (1, 1)


def test_a_schema_that_does_not_fit_json_or_csv_is_said_before_anything_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = run_in(tmp_path)
    folder = write_lines(tmp_path / "in", [{"user": "x"}, "broken", {"user": "y"}])
    with pytest.raises(BadInput, match="the lines have `user`, and the schema `id`, `name`"):
        read(spark, run, source("json", "id long, name string", path=str(folder)))
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    task = source("csv", "a int, c int", path=str(tmp_path / "x.csv"))
    with pytest.raises(BadInput, match=r"x\.csv: the header has `a`, `b`, and the schema `a`, `c`"):
        read(spark, run, task)
    (tmp_path / "x.csv").write_text("a,c\n1,2\n")
    rows = read(spark, run, task)
    (tmp_path / "x.csv").write_text("c,a\n1,2\n")
    with pytest.raises(BadInput, match=r"x\.csv: its header does not fit the schema"):
        written(rows, Target(run, sink("json", path=str(tmp_path / "out"))))


def test_a_broken_line_in_a_stream_is_said_in_one_line_as_well(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = write_lines(tmp_path / "in", [{"id": 1}], [{"id": "one"}])
    task = source("json", "id long", path=str(folder), maxFilesPerTrigger=1)
    run, out = run_in(tmp_path), tmp_path / "out"
    with pytest.raises(Exception, match="FOREACH_BATCH") as raised:
        streamed(input_of(task).read_stream(spark, task, run), run, sink("json", path=str(out)))
    assert str(explained(raised.value)).startswith(f"cannot read {folder}/001.json: a line does")
    assert lines_below(out) == ['{"id":1}']


def test_what_is_not_about_data_is_not_explained(spark: SparkSession) -> None:
    assert explained(ValueError("[PATH_NOT_FOUND] x")) is None
    with pytest.raises(Exception, match="broken") as raised:
        spark.sql("select raise_error('broken')").collect()
    assert explained(raised.value) is None


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        ("json", '{"id": 1, "n": 2}\nnot json\n'),
        ("json", '{"id": 1, "n": 2}\n{"id": "one"}\n'),
        ("csv", "id,n\n1,2\none,2\n"),
        ("csv", "id,n\n1,2\n1,2,3\n"),
    ],
)
def test_a_broken_line_kills_the_job_with_the_file_in_one_line(
    spark: SparkSession, tmp_path: Path, plugin: str, text: str
) -> None:
    run, out = run_in(tmp_path), tmp_path / "out"
    (tmp_path / "data.x").write_text(text)
    task = source(plugin, "id long, n long", path=str(tmp_path / "data.x"))
    with pytest.raises(BadInput) as raised:
        written(read(spark, run, task), Target(run, sink("json", path=str(out))))
    assert str(raised.value).startswith(f"cannot read {tmp_path}/data.x: a line does not fit")
    assert "\n" not in str(raised.value)
    assert not out.exists()
    lenient = source(plugin, "id long, n long", path=str(tmp_path / "data.x"), mode="DROPMALFORMED")
    assert ids(read(spark, run, lenient)) == [1]


def test_a_file_that_is_no_parquet_is_said_so(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("hello, I am no parquet file at all")
    with pytest.raises(BadInput, match=r"^catalog entry in: cannot read .*: it is not a Parquet"):
        read(spark, run_in(tmp_path), source("parquet", path=str(tmp_path / "x.parquet")))
