# Spark's data source API is untyped in places.
# pyright: basic
"""The ledger: an exact source with offsets, and a sink that commits a key once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from remuda.pipeline.io.ledger.log import BadLedger, Ledger, Slice, partition_of
from remuda.pipeline.io.ledger.source import (
    LedgerSource,
    LedgerStreamReader,
    LedgerStreamWriter,
    LedgerWriter,
    _limited,
)
from remuda.pipeline.io.port import BadInput, BadOutput, NothingStaged, Target
from remuda.pipeline.io.registry import input_of, output_of
from remuda.pipeline.run import Fenced, Run
from tests.pipeline.io.targets import read, run_in, sink, source, stream, streamed, written


def lines(path: Path) -> list[tuple[int, int, str]]:
    """All rows of a ledger: partition, number, line."""
    ledger = Ledger(path)
    ledger.refresh()
    return [
        (partition, number, line)
        for partition, end in enumerate(ledger.ends())
        for number, line in ledger.read(Slice(partition, 0, end))
    ]


def segment_files(path: Path) -> int:
    return len(list((path / "segments").rglob("*.jsonl")))


# ── the log, without Spark ───────────────────────────────────────────────────────────────────


def test_rows_are_numbered_by_partition_without_gaps(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, partitions=2)
    ledger.append([(0, "a"), (1, "b"), (0, "c")])
    Ledger.open(tmp_path).append([(0, "d")])
    assert lines(tmp_path) == [(0, 0, "a"), (0, 1, "c"), (0, 2, "d"), (1, 0, "b")]


def test_any_slice_reads_the_same_whatever_came_later(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, partitions=1)
    for first in range(0, 30, 3):
        ledger.append([(0, str(n)) for n in range(first, first + 3)])
        last = first + 3
        for start in range(last):
            assert list(ledger.read(Slice(0, start, last))) == [
                (n, str(n)) for n in range(start, last)
            ]


def test_a_key_is_committed_once(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, partitions=1)
    ledger.append([(0, "a")], key="k")
    ledger.append([(0, "b")], key="k")
    Ledger.open(tmp_path).append([(0, "c")], key="k")
    assert lines(tmp_path) == [(0, 0, "a")]
    assert segment_files(tmp_path) == 1


def test_a_commit_that_is_repeated_with_its_own_segments_keeps_them(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, partitions=1)
    segments = ledger.write("attempt", [(0, "a")])
    for _ in range(2):
        Ledger(tmp_path).commit("k", segments)
    assert lines(tmp_path) == [(0, 0, "a")]


def test_what_is_written_and_not_committed_is_not_there(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, partitions=1)
    ledger.write("attempt", [(0, "a")])
    ledger.write("attempt", [])
    assert lines(tmp_path) == []
    assert ledger.attempts() == ["attempt"]
    ledger.discard("attempt")
    assert segment_files(tmp_path) == 0
    assert ledger.attempts() == []


def test_many_writers_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    Ledger.open(tmp_path, partitions=2)

    def work(writer: int) -> None:
        ledger = Ledger(tmp_path)
        for n in range(10):
            ledger.append([(n % 2, f"{writer}-{n}"), (0, "x")], key=f"{writer // 2}/{n}")

    threads = [threading.Thread(target=work, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = lines(tmp_path)
    assert len(found) == 2 * 10 * 2
    assert sum(line == "x" for _, _, line in found) == 20
    for partition in range(2):
        numbers = [number for p, number, _ in found if p == partition]
        assert numbers == list(range(len(numbers)))


def test_a_row_is_one_line(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, partitions=1)
    ledger.append([(0, "with \r and \u2028")])
    assert lines(tmp_path) == [(0, 0, "with \r and \u2028")]
    with pytest.raises(BadLedger, match="a row is one line"):
        ledger.append([(0, "a\nb")])


def test_a_directory_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadLedger, match="there is no ledger at"):
        Ledger(tmp_path)


def test_a_key_has_its_partition_for_ever() -> None:
    assert [partition_of(key, 16) for key in ("a", "b", "user-17")] == [15, 5, 3]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=6),
    st.integers(1, 80),
)
def test_a_limit_takes_as_many_rows_as_it_may_and_no_more(
    spans: list[tuple[int, int]], rows_max: int
) -> None:
    start = [first for first, _ in spans]
    ends = [first + count for first, count in spans]
    positions = _limited(start, ends, rows_max)
    assert all(a <= b <= c for a, b, c in zip(start, positions, ends, strict=True))
    assert sum(positions) - sum(start) == min(rows_max, sum(ends) - sum(start))


# ── the writers, as Spark calls them ─────────────────────────────────────────────────────────


def row(value: str) -> Any:
    from pyspark.sql import Row

    return Row(value=value)


def test_a_micro_batch_that_is_committed_twice_appends_once(tmp_path: Path) -> None:
    Ledger.open(tmp_path, partitions=1)
    for _ in range(2):
        writer = LedgerStreamWriter(str(tmp_path), "q")
        messages = [writer.write(iter([row("a")])), writer.write(iter([]))]
        assert None not in messages
        LedgerStreamWriter(str(tmp_path), "q").commit(messages, 0)
    writer = LedgerStreamWriter(str(tmp_path), "q")
    writer.commit([writer.write(iter([row("b")]))], 1)
    assert [line for _, _, line in lines(tmp_path)] == ["a", "b"]
    assert segment_files(tmp_path) == 2


def test_what_is_aborted_leaves_nothing(tmp_path: Path) -> None:
    Ledger.open(tmp_path, partitions=1)
    streaming = LedgerStreamWriter(str(tmp_path), "q")
    streaming.abort([streaming.write(iter([row("a")])), None], 0)
    whole = LedgerWriter(str(tmp_path), "k")
    whole.abort([whole.write(iter([row("a")])), None])
    assert (lines(tmp_path), segment_files(tmp_path)) == ([], 0)


def test_with_a_trigger_that_ends_later_rows_are_for_the_next_run(tmp_path: Path) -> None:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

    ledger = Ledger.open(tmp_path, partitions=2)
    ledger.append([(0, "a"), (0, "b"), (1, "c")])
    reader = LedgerStreamReader(str(tmp_path), 2)
    assert reader.getDefaultReadLimit() == ReadMaxRows(2)
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadMaxRows(2)) == {"0": 1, "1": 1}
    reader.prepareForTriggerAvailableNow()
    ledger.append([(1, "later")])
    assert reader.latestOffset(start, ReadAllAvailable()) == {"0": 2, "1": 1}
    assert reader.reportLatestOffset() == {"0": 2, "1": 2}
    assert reader.partitions(start, start) == []


# ── with Spark ───────────────────────────────────────────────────────────────────────────────


def numbers(spark: SparkSession, count: int) -> DataFrame:
    return spark.range(0, count, 1, 2).selectExpr("id", "concat('user-', id % 3) as user")


@pytest.mark.integration
def test_rows_go_in_and_come_out_with_their_types_and_by_their_keys(
    spark: SparkSession, tmp_path: Path
) -> None:
    run, path = run_in(tmp_path), str(tmp_path / "log")
    frame = numbers(spark, 20).selectExpr(
        "*",
        "timestamp '2024-05-06 07:08:09.123456' as at",
        "cast(null as string) as gone",
        "array(named_struct('a', 1.5)) as deep",
    )
    task = sink("ledger", path=path, key="user", partitions=8)
    assert written(frame, Target(run, task)) == 20
    schema = "id long, user string, at timestamp, gone string, deep array<struct<a: decimal(2,1)>>"
    there = read(spark, run, source("ledger", schema, path=path, numbered=True))
    back = there.orderBy("id").collect()
    assert [tuple(row)[:-2] for row in back] == [tuple(row) for row in frame.collect()]
    assert all(row._partition == partition_of(row.user, 8) for row in back)
    with pytest.raises(BadOutput, match=r"names `usr`, .* \(did you mean `user`\?\)"):
        written(frame, Target(run, sink("ledger", "o", path=path, key="usr")))


@pytest.mark.integration
def test_filters_on_numbers_are_taken_by_the_source(spark: SparkSession, tmp_path: Path) -> None:
    Ledger.open(tmp_path / "log", partitions=2).append([(n % 2, str(n)) for n in range(10)])
    all_rows = read(spark, run_in(tmp_path), source("ledger", path=str(tmp_path / "log")))
    some = all_rows.where("partition = 1 and sequence >= 2 and sequence < 4 and value != '5'")
    assert [tuple(row) for row in some.collect()] == [(1, 3, "7")]


@pytest.mark.integration
def test_an_output_is_staged_unseen_and_published_once(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "log"
    task = sink("ledger", path=str(path))
    old = Target(run_in(tmp_path), task)
    output = output_of(task)
    with pytest.raises(NothingStaged):
        output.publish(old)
    output.stage(numbers(spark, 5), old)
    assert lines(path) == []
    new = Target(run_in(tmp_path, fence_epoch=2), task)
    with pytest.raises(Fenced):
        output.publish(old)
    output.stage(numbers(spark, 5), new)
    assert [output.publish(new), output.publish(new)] == [5, 5]
    output.stage(numbers(spark, 7), new)
    assert output.publish(new) == 5
    assert len(lines(path)) == 5
    ledger = Ledger(path)
    ledger.refresh()
    assert segment_files(path) == sum(len(s) for s in ledger._segments)


@pytest.mark.integration
def test_a_stream_that_is_killed_and_run_again_is_exact_at_both_ends(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Ledger.open(tmp_path / "in", partitions=2)
    feed.append([(n % 2, f'{{"id":{n}}}') for n in range(10)])
    task = source("ledger", "id long", path=str(tmp_path / "in"), max_rows=4)
    out = sink("ledger", path=str(tmp_path / "out"))

    def dying(run: Run) -> Any:
        def on_batch(batch: DataFrame, epoch: int) -> None:
            written(batch, Target(run, out, epoch))
            if epoch == 1:
                raise RuntimeError("killed")

        return on_batch

    run = run_in(tmp_path)
    with pytest.raises(Exception, match="killed"):
        stream(input_of(task).read_stream(spark, task, run), run, dying(run))
    feed.append([(0, '{"id":10}')])
    run = run_in(tmp_path, fence_epoch=2)
    streamed(input_of(task).read_stream(spark, task, run), run, out)
    found = sorted(line for _, _, line in lines(tmp_path / "out"))
    assert found == sorted(f'{{"id":{n}}}' for n in range(11))


@pytest.mark.integration
def test_the_sink_by_itself_commits_each_micro_batch_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Without a plugin: Spark calls the stream writer. A lost checkpoint replays every batch."""
    (tmp_path / "in").mkdir()
    for n in range(2):
        (tmp_path / "in" / f"{n}.txt").write_text(f"a{n}\nb{n}\n")
    spark.dataSource.register(LedgerSource)
    for attempt in range(2):
        rows = spark.readStream.option("maxFilesPerTrigger", 1).text(str(tmp_path / "in"))
        query = (
            rows.writeStream.format("remuda_ledger")
            .options(path=str(tmp_path / "out"), commit="mine")
            .option("checkpointLocation", str(tmp_path / f"checkpoint-{attempt}"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    found = sorted(line for _, _, line in lines(tmp_path / "out"))
    assert found == ["a0", "a1", "b0", "b1"]


@pytest.mark.integration
def test_an_input_that_is_no_ledger_is_said_so(spark: SparkSession, tmp_path: Path) -> None:
    task = source("ledger", path=str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match="catalog entry in: there is no ledger at"):
        read(spark, run_in(tmp_path), task)
