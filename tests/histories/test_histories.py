"""A log that was recorded once means the same to this build as to the one that wrote it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remuda.log.port import Placed
from remuda.log.record import decode, encode
from remuda.replica.entry import entry_of, record_of
from remuda.replica.invariants import broken
from tests.histories.replay import digests, digests_file, histories, lines_of, plays

ROOT = Path(__file__).parents[2]

each_history = pytest.mark.parametrize("history", histories(), ids=lambda path: path.stem)


@each_history
def test_a_recorded_log_replays_to_the_digests_that_were_recorded_with_it(history: Path) -> None:
    assert digests(lines_of(history)) == digests_file(history).read_text()


@each_history
def test_every_recorded_entry_is_written_again_as_it_was(history: Path) -> None:
    for position, line in enumerate(lines_of(history)):
        record = decode(line, position)
        assert encode(record) == line
        entry = entry_of(Placed(position, record))
        again = record_of(entry.command, entry_id=entry.id, by=entry.by, at_ms=entry.stamp.at_ms)
        assert encode(again) == line


@each_history
def test_no_invariant_is_broken_on_the_way(history: Path) -> None:
    for played in plays(lines_of(history)):
        assert broken(played.replica) == [], f"after entry {played.entry.position}"


def test_every_history_replays_alike_under_any_hash_seed() -> None:
    replays = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.histories.replay"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    first, second = (replay.communicate(timeout=60)[0] for replay in replays)
    assert [replay.returncode for replay in replays] == [0, 0]
    assert first == second
    assert first == "".join(
        f"{history.name}\n{digests_file(history).read_text()}" for history in histories()
    )


def test_every_history_has_its_digests_and_every_digest_its_history() -> None:
    here = Path(__file__).parent
    assert histories()
    assert sorted(here.glob("*.digests")) == [digests_file(history) for history in histories()]
