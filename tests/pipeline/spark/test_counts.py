"""What partitions tell is counted once, and does not pile up in a long stream."""

from __future__ import annotations

from remuda.pipeline.spark.counts import Latest, Tallies, Tally


def told(epoch: int, partition: int, rows: int) -> Tallies:
    return {("in (input)", epoch, partition): Tally({("in", "a"): rows})}


def total(tallies: Tallies) -> int:
    return sum(tally.edges["in", "a"] for tally in tallies.values())


def test_a_partition_that_is_computed_again_replaces_what_it_told() -> None:
    latest = Latest()
    tallies = latest.addInPlace(told(-1, 0, 5), told(-1, 1, 5))
    tallies = latest.addInPlace(tallies, told(-1, 0, 5))
    assert total(tallies) == 10


def test_old_epochs_of_a_stream_are_kept_as_one_tally() -> None:
    latest = Latest()
    tallies: Tallies = {}
    for epoch in range(12_000):
        tallies = latest.addInPlace(tallies, told(epoch, 0, 2))
    assert total(tallies) == 24_000
    assert len(tallies) < 10_000
    assert total(latest.addInPlace(tallies, told(11_999, 0, 3))) == 24_001
