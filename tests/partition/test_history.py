"""The commands that are kept give the state again, and what does not is found out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.errors import Collected, InvariantBroken
from remuda.partition.history import check, digest
from remuda.partition.machine import Applied, Effect, Outcome, Stamp, State, View
from remuda.partition.memory import Disk, MemoryPartition, MemoryStore
from remuda.partition.store import Batch, Head
from tests.partition.scripted import AnyStep, Scripted, program
from tests.partition.steps import PROGRAMS

HERE = Path("here")


@given(
    st.lists(st.tuples(PROGRAMS, st.integers(0, 20)), max_size=20),
    st.lists(st.tuples(PROGRAMS, st.integers(0, 20)), max_size=20),
)
def test_a_state_is_what_its_snapshot_and_the_commands_since_give(
    before: list[tuple[list[AnyStep], int]], since: list[tuple[list[AnyStep], int]]
) -> None:
    world = MemoryPartition([Scripted()])
    now_ms = 0

    def live(programs: list[tuple[list[AnyStep], int]]) -> None:
        nonlocal now_ms
        for steps, passed_ms in programs:
            now_ms += passed_ms
            world.apply("scripted", program(*steps), now_ms)
            world.tick(now_ms)

    live(before)
    snapshot_head = MemoryStore(world.disk, 1).checkpoint(HERE)
    live(since)
    played = check(
        0, [Scripted()], MemoryStore(world.disk.checkpoints[HERE], 1), MemoryStore(world.disk, 1)
    )
    assert played == world.disk.head.position - snapshot_head.position


class Forgetful:
    """Counts in memory what it should count in the state."""

    name = "forgetful"
    prefix = b"f"

    def __init__(self) -> None:
        self.count = 0

    def apply(self, state: State, command: bytes, stamp: Stamp) -> Outcome:
        self.count += 1
        state.put(b"f", b"%d" % self.count)
        return Applied()

    def fire(self, state: State, key: bytes, payload: bytes, stamp: Stamp) -> Applied:
        return Applied()

    def opened(self, view: View) -> Iterable[Effect]:
        return ()


def test_a_machine_that_is_not_pure_is_found_out() -> None:
    world = MemoryPartition([Forgetful()])
    world.apply("forgetful", b"")
    store = MemoryStore(world.disk, 1)
    store.checkpoint(HERE)
    world.apply("forgetful", b"")
    with pytest.raises(InvariantBroken, match="commands 2 to 2 played again"):
        check(0, [Forgetful()], MemoryStore(world.disk.checkpoints[HERE], 1), store)


def test_a_snapshot_that_is_older_than_what_is_kept_is_refused() -> None:
    disk = Disk()
    store = MemoryStore(disk, 1)
    store.checkpoint(HERE)
    store.commit(Batch(Head(1, 9, 0, 5), [b""] * 5))
    with pytest.raises(Collected, match="from 5 on"):
        check(0, [], MemoryStore(disk.checkpoints[HERE], 1), store)


def test_a_digest_tells_keys_from_values() -> None:
    digests: set[str] = set()
    for values in ({b"a": b"bc"}, {b"ab": b"c"}, {b"a": b"", b"bc": b""}, {}):
        store = MemoryStore(Disk(), 1)
        store.commit(Batch(store.head, (), values))
        digests.add(digest(store))
    assert len(digests) == 4
