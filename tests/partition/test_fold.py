"""The fold: timers, the outbox, rejections, and that rounds make no difference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.errors import UnknownMachine
from remuda.partition.fold import (
    ACKED,
    RECEIVED,
    TICK,
    TIMERS_PER_TICK,
    Fold,
    Parcel,
    Record,
    acked,
    received,
)
from remuda.partition.history import digest
from remuda.partition.keys import number
from remuda.partition.machine import Applied, Rejected, Rejection
from remuda.partition.memory import Disk, MemoryPartition, MemoryStore
from remuda.partition.store import Batch, Head
from tests.partition.scripted import (
    AnyStep,
    Break,
    Delete,
    Later,
    Never,
    P,
    Put,
    Refuse,
    Scripted,
    Send,
    Tell,
    program,
)
from tests.partition.steps import PROGRAMS


def partition() -> MemoryPartition:
    return MemoryPartition([Scripted()])


def do(world: MemoryPartition, *steps: AnyStep, at_ms: int = 0) -> None:
    assert isinstance(world.apply("scripted", program(*steps), at_ms), Applied)


def fired(world: MemoryPartition) -> dict[str, int]:
    found = world.view.scan(P + b"fired", P + b"firee")
    return {key.removeprefix(P + b"fired").decode(): int(value) for key, value in found}


# ── commands ─────────────────────────────────────────────────────────────────────────────────


def test_a_rejected_command_changes_nothing_and_takes_no_place() -> None:
    world = partition()
    do(world, Put(b"a", b"1"), Later(50, b"t"))
    before, head = world.items, world.disk.head
    outcome = world.apply(
        "scripted",
        program(
            Put(b"a", b"2"),
            Delete(b"a"),
            Later(9, b"t"),
            Later(9, b"u"),
            Send(1, [Put(b"x")]),
            Tell("nobody"),
            Refuse(),
        ),
    )
    assert outcome == Rejected("as it was told to", Rejection.PRECONDITION)
    assert (world.items, world.disk.head, world.effects) == (before, head, [])
    do(world, Send(1, [Put(b"x")]))
    assert [parcel.number for parcel in world.outbox[1]] == [1]


def test_a_command_of_a_machine_that_is_not_there_is_not_guessed_at() -> None:
    with pytest.raises(UnknownMachine, match="b'z'"):
        partition().play(Record(b"z", 0, 1, b""))


def test_machines_need_prefixes_of_their_own() -> None:
    class Long(Scripted):
        prefix = b"long"

    class Outside(Scripted):
        prefix = b"\x7f"

    for machines in ([Scripted(), Scripted()], [Long()], [Outside()]):
        with pytest.raises(ValueError, match="one printable byte"):
            MemoryPartition(machines)


def test_a_machine_that_writes_under_a_foreign_prefix_is_found_out_in_memory() -> None:
    class Stray(Scripted):
        prefix = b"x"

    with pytest.raises(AssertionError, match="no machine's prefix"):
        MemoryPartition([Stray()]).apply("scripted", program(Put(b"a")))


def test_an_exception_of_a_machine_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        partition().apply("scripted", program(Break()))


@given(st.binary(min_size=1, max_size=1), st.integers(0, 2**64 - 1), st.binary())
def test_a_record_is_read_as_it_was_written(kind: bytes, at_ms: int, body: bytes) -> None:
    record = Record(kind, at_ms, 7, body)
    assert Record.decode(record.encode()) == record


def test_time_does_not_go_back() -> None:
    world = partition()
    do(world, Put(b"a"), at_ms=100)
    do(world, Put(b"b"), at_ms=40)
    assert world.disk.head.at_ms == 100


# ── timers ───────────────────────────────────────────────────────────────────────────────────


def test_timers_fire_when_they_are_due_in_the_order_of_their_times() -> None:
    world = partition()
    do(world, Later(30, b"c"), Later(10, b"b"), Later(20, b"a", [Tell("second")]))
    assert world.next_due_ms == 10
    assert world.tick(at_ms=9) == []
    assert world.tick(at_ms=20) == [("scripted", "second")]
    assert fired(world) == {"a": 20, "b": 20}
    assert world.next_due_ms == 30


def test_a_timer_is_replaced_by_one_of_its_key_and_can_be_cleared() -> None:
    world = partition()
    do(world, Later(10, b"a"), Later(10, b"b"))
    do(world, Later(50, b"a"), Never(b"b"), Never(b"none"))
    world.tick(at_ms=49)
    assert fired(world) == {}
    world.tick(at_ms=50)
    assert fired(world) == {"a": 50}
    assert world.next_due_ms is None


def test_a_timer_that_is_cleared_or_moved_by_one_before_it_does_not_fire() -> None:
    world = partition()
    do(world, Later(1, b"a", [Never(b"b"), Later(90, b"c")]), Later(2, b"b"), Later(3, b"c"))
    world.tick(at_ms=10)
    assert fired(world) == {"a": 10}
    assert world.next_due_ms == 90


def test_a_timer_in_the_past_is_due_at_once_and_one_that_sets_itself_comes_again() -> None:
    world = partition()
    do(world, Later(-5, b"a", [Later(60, b"a", [Put(b"end")])]), at_ms=50)
    world.tick(at_ms=50)
    assert (fired(world), world.next_due_ms) == ({"a": 50}, 60)
    world.tick(at_ms=60)
    assert (fired(world), world.next_due_ms) == ({"a": 60}, None)


def test_one_tick_fires_only_so_many() -> None:
    world = partition()
    for n in range(TIMERS_PER_TICK + 10):
        do(world, Later(n, b"%d" % n))
    world.play(Record(TICK, 10_000, 1, b""))
    assert len(fired(world)) == TIMERS_PER_TICK
    world.tick(at_ms=10_000)
    assert len(fired(world)) == TIMERS_PER_TICK + 10


# ── the outbox ───────────────────────────────────────────────────────────────────────────────


def test_what_is_sent_is_numbered_by_addressee_and_stays_until_it_is_acked() -> None:
    world = partition()
    do(world, Send(1, [Put(b"a")]), Send(2, [Put(b"b")]), Send(1, [Put(b"c")]))
    assert world.outbox == {
        1: [Parcel(1, P, program(Put(b"a"))), Parcel(2, P, program(Put(b"c")))],
        2: [Parcel(1, P, program(Put(b"b")))],
    }
    world.play(Record(ACKED, 0, 1, acked(1, 1)))
    assert [parcel.number for parcel in world.outbox[1]] == [2]
    world.play(Record(ACKED, 0, 1, acked(1, 2)))
    assert list(world.outbox) == [2]
    do(world, Send(1, [Put(b"d")]))
    assert [parcel.number for parcel in world.outbox[1]] == [3]
    assert isinstance(world.play(Record(ACKED, 0, 1, acked(1, 2))), Rejected)


def test_what_is_received_is_applied_once_and_in_order() -> None:
    world = partition()

    def hear(number: int, *steps: AnyStep) -> bool:
        body = received(5, Parcel(number, P, program(*steps)))
        return isinstance(world.play(Record(RECEIVED, 0, 1, body)), Applied)

    assert not hear(2, Put(b"too soon"))
    assert hear(1, Put(b"a", b"first"))
    assert not hear(1, Put(b"a", b"again"))
    assert hear(2, Put(b"b"), Refuse()), "a rejection is final: its number is used up"
    assert not hear(2, Put(b"b"))
    assert hear(3, Put(b"c"))
    assert [key for key, _ in world.view.scan(P, b"t")] == [P + b"a", P + b"c"]
    assert world.view.get(P + b"a") == b"first"


# ── rounds ───────────────────────────────────────────────────────────────────────────────────


@given(
    st.lists(
        st.tuples(PROGRAMS, st.booleans(), st.booleans(), st.booleans(), st.integers(0, 9)),
        max_size=25,
    ),
)
def test_how_commands_fall_into_rounds_makes_no_difference(
    commands: list[tuple[list[AnyStep], bool, bool, bool, int]],
) -> None:
    """Some are sealed after, some of those are written at once, and some stay sealed for long.
    Now and then somebody asks for the next timer, which makes no difference, either."""
    one_round = Fold(0, [Scripted()], MemoryStore(Disk(), 1))
    store = MemoryStore(Disk(), 1)
    many_rounds = Fold(0, [Scripted()], store)
    sealed: dict[bytes, bytes | None] | None = None
    now_ms = position = 0
    for steps, seal, write, looks, passed_ms in commands:
        now_ms += passed_ms
        for record in (Record(P, now_ms, 1, program(*steps)), Record(TICK, now_ms, 1, b"")):
            outcome = one_round.play(position + 1, record)
            assert outcome == many_rounds.play(position + 1, record)
            if looks:
                assert many_rounds.next_due_ms() == first_due_ms(one_round)
            position += isinstance(outcome, Applied)
        if write and sealed is not None:
            store.commit(Batch(Head(1, position), (), sealed))
            many_rounds.overlay.written()
            sealed = None
        if seal and sealed is None:
            sealed = many_rounds.overlay.seal()
    assert digest(one_round.overlay) == digest(many_rounds.overlay)
    assert one_round.effects == many_rounds.effects
    assert one_round.next_due_ms() == many_rounds.next_due_ms()


def first_due_ms(fold: Fold) -> int | None:
    """Found the long way: by looking at every timer."""
    timers = [number(key, 2) for key, _ in fold.overlay.scan(b"\x01t", b"\x01u")]
    return min(timers, default=None)
