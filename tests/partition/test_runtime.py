"""A partition at work, over a store in memory: who is answered what, and when."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from remuda.errors import (
    Busy,
    DiskFull,
    MachineFailed,
    NotServed,
    RemudaError,
    StaleEpoch,
    Unknown,
)
from remuda.partition import history
from remuda.partition.fold import Parcel
from remuda.partition.inbox import Limits
from remuda.partition.machine import Effect, Rejected, View
from remuda.partition.memory import Disk, MemoryPartition, MemoryStore
from remuda.partition.outbox import Deliver, Envelope
from remuda.partition.runtime import Partition
from remuda.partition.store import Batch
from tests.partition.scripted import (
    AnyStep,
    Break,
    Later,
    P,
    Put,
    Refuse,
    Scripted,
    Send,
    Tell,
    program,
)
from tests.partition.staged import staged
from tests.waiting import DEADLINE_S, eventually


class SlowStore(MemoryStore):
    """A store whose writes wait until they are let through, or told to fail."""

    def __init__(self, disk: Disk, epoch: int) -> None:
        super().__init__(disk, epoch)
        self.entered = 0
        self.closed = False
        self.failure: RemudaError | None = None
        self._passes = threading.Semaphore(0)

    def commit(self, batch: Batch) -> None:
        self.entered += 1
        assert self._passes.acquire(timeout=DEADLINE_S)
        if self.failure is not None:
            raise self.failure
        super().commit(batch)

    def let_through(self, writes: int = 100) -> None:
        self._passes.release(writes)

    def close(self) -> None:
        self.closed = True


class Heard:
    """What the world is told."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []

    def __call__(self, machine: str, effects: Sequence[Effect]) -> None:
        assert machine == "scripted"
        self.effects += effects


async def nowhere(to: int, envelope: Envelope) -> int:
    raise NotServed(f"partition {to} is not there: {envelope}")


def opened(
    store: MemoryStore,
    number: int = 0,
    *,
    deliver: Deliver = nowhere,
    heard: Heard | None = None,
    limits: Limits | None = None,
) -> Partition:
    partition = Partition(
        number,
        store,
        [Scripted()],
        deliver=deliver,
        on_effects=heard or Heard(),
        limits=limits,
    )
    partition.start()
    return partition


async def submit(partition: Partition, *steps: AnyStep) -> bytes | Rejected:
    return await partition.submit("scripted", program(*steps))


def soon(answer: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.get_running_loop().create_task(answer)


async def writing(store: SlowStore, writes: int = 1) -> None:
    async def begun() -> bool:
        return store.entered >= writes

    await eventually(begun, f"write {writes} begins")


async def passed() -> None:
    """All that the event loop has to do is done."""
    for _ in range(20):
        await asyncio.sleep(0)


def value(key: bytes) -> Any:
    return lambda view: view.get(P + key)  # type: ignore[no-any-return]


# ── rounds ───────────────────────────────────────────────────────────────────────────────────


@staged
async def test_nobody_is_answered_before_what_the_answer_rests_on_is_durable() -> None:
    store = SlowStore(Disk(), 1)
    heard = Heard()
    partition = opened(store, heard=heard)
    first = soon(submit(partition, Put(b"a", b"1"), Tell("done")))
    await writing(store)
    rejected = soon(submit(partition, Refuse()))
    read = soon(partition.read(value(b"a")))
    await passed()
    assert not any(task.done() for task in (first, rejected, read))
    assert heard.effects == []
    store.let_through()
    assert await first == b"1"
    assert isinstance(await rejected, Rejected)
    assert await read == b"1"
    assert heard.effects == ["done"]
    await partition.close()


@staged
async def test_the_next_round_gathers_while_one_is_written_and_builds_on_it() -> None:
    store = SlowStore(Disk(), 1)
    partition = opened(store)
    first = soon(submit(partition, Put(b"k1")))
    await writing(store)
    others = [soon(submit(partition, Put(b"k"))) for _ in range(50)]
    await passed()
    store.let_through(1)
    await first
    await writing(store, 2)
    store.let_through()
    assert [await other for other in others] == [b"2"] * 50
    assert store.entered == 2, "fifty commands are one round"
    assert store.head.position == 51
    await partition.close()


@staged
async def test_a_failed_write_fails_its_round_and_what_was_built_on_it() -> None:
    disk = Disk()
    store = SlowStore(disk, 1)
    heard = Heard()
    partition = opened(store, heard=heard)
    written = soon(submit(partition, Put(b"a"), Tell("never")))
    await writing(store)
    built_on_it = soon(submit(partition, Put(b"b"), Tell("never")))
    await passed()
    store.failure = DiskFull("no room is left")
    store.let_through()
    for task in (written, built_on_it):
        with pytest.raises(DiskFull, match="no room"):
            await task
    assert isinstance(await partition.ended(), DiskFull)
    assert store.closed
    assert (disk.values, disk.head.position, heard.effects) == ({}, 0, [])
    with pytest.raises(DiskFull):
        await submit(partition, Put(b"c"))


@staged
async def test_past_the_bound_callers_are_turned_away_and_the_others_are_served() -> None:
    store = SlowStore(Disk(), 1)
    partition = opened(store, limits=Limits(waiting_max=3))
    waiting = [soon(submit(partition, Put(b"a"))) for _ in range(3)]
    await passed()
    with pytest.raises(Busy, match="3 commands waiting"):
        await submit(partition, Put(b"b"))
    store.let_through()
    await asyncio.gather(*waiting)
    assert await submit(partition, Put(b"b")) == b"1"
    await partition.close()


@staged
async def test_the_bound_counts_bytes_too() -> None:
    store = SlowStore(Disk(), 1)
    partition = opened(store, limits=Limits(waiting_bytes_max=1000))
    waiting = soon(submit(partition, Put(b"a", b"x" * 900)))
    await passed()
    with pytest.raises(Busy):
        await submit(partition, Put(b"b", b"x" * 200))
    store.let_through()
    await waiting
    assert await submit(partition, Put(b"b", b"x" * 200)) == b"1"
    await partition.close()


@staged
async def test_many_callers_are_each_answered_for_their_own() -> None:
    partition = opened(MemoryStore(Disk(), 1))
    answers = await asyncio.gather(*(submit(partition, Put(b"%04d" % n)) for n in range(1000)))
    assert answers == [b"1"] * 1000
    assert partition.head.position == 1000
    await partition.close()


@staged
async def test_a_caller_that_gave_up_disturbs_nobody() -> None:
    store = SlowStore(Disk(), 1)
    partition = opened(store)
    gone = soon(submit(partition, Put(b"a")))
    await writing(store)
    gone.cancel()
    stays = soon(submit(partition, Put(b"b")))
    store.let_through()
    assert await stays == b"1"
    assert await partition.read(value(b"a")) == b""
    await partition.close()


@staged
async def test_an_unknown_machine_and_a_reader_that_raises_are_told_so() -> None:
    partition = opened(MemoryStore(Disk(), 1))
    with pytest.raises(Unknown, match="no machine `other`"):
        await partition.submit("other", b"")

    def bad(view: View) -> None:
        raise ValueError(f"of {view.get(P)}")

    with pytest.raises(ValueError, match="of None"):
        await partition.read(bad)
    assert isinstance(await partition.submit("scripted", b"\xc1junk"), Rejected)
    assert await submit(partition, Put(b"a")) == b"1"
    await partition.close()


# ── ending ───────────────────────────────────────────────────────────────────────────────────


@staged
async def test_close_finishes_what_is_there_and_takes_nothing_more() -> None:
    store = SlowStore(Disk(), 1)
    partition = opened(store)
    waiting = [soon(submit(partition, Put(b"%d" % n))) for n in range(300)]
    await passed()
    closing = soon(partition.close())
    await passed()
    with pytest.raises(NotServed, match="being closed"):
        await submit(partition, Put(b"late"))
    store.let_through()
    await asyncio.gather(*waiting)
    await closing
    assert store.closed
    assert store.head.position == 300


@staged
async def test_stopped_it_writes_nothing_more_and_sends_its_callers_elsewhere() -> None:
    disk = Disk()
    store = SlowStore(disk, 1)
    heard = Heard()
    partition = opened(store, heard=heard)
    written = soon(submit(partition, Put(b"a"), Tell("never")))
    await writing(store)
    waiting = soon(submit(partition, Put(b"b")))
    await passed()
    partition.stop("its lease is over")
    with pytest.raises(NotServed, match="lease is over"):
        await waiting
    with pytest.raises(NotServed):
        await submit(partition, Put(b"c"))
    assert not store.closed, "a write is under way"
    store.let_through()
    assert await written == b"1", "what is durable is told truly"
    assert isinstance(await partition.ended(), NotServed)
    assert store.closed
    assert (store.entered, list(disk.values), heard.effects) == (1, [P + b"a"], [])


@staged
async def test_a_later_owner_shuts_an_earlier_one_out() -> None:
    disk = Disk()
    old = opened(MemoryStore(disk, 5))
    await submit(old, Put(b"a", b"old"))
    new = opened(MemoryStore(disk, 9))
    with pytest.raises(StaleEpoch, match="epoch 9"):
        await submit(old, Put(b"a", b"stale"))
    assert isinstance(await old.ended(), StaleEpoch)
    assert await new.read(value(b"a")) == b"old"
    with pytest.raises(StaleEpoch):
        MemoryStore(disk, 8)
    await new.close()


@staged
async def test_a_machine_that_raises_stops_the_partition_and_nobody_else_is_blamed() -> None:
    disk = Disk()
    partition = opened(MemoryStore(disk, 1))
    before, guilty, after = (
        soon(submit(partition, step)) for step in (Put(b"a"), Break(), Put(b"b"))
    )
    with pytest.raises(MachineFailed, match="ZeroDivisionError: as it was told to"):
        await guilty
    for innocent in (before, after):
        with pytest.raises(NotServed):
            await innocent
    assert isinstance(await partition.ended(), MachineFailed)
    assert disk.head.position == 0
    again = opened(MemoryStore(disk, 1))
    assert await submit(again, Put(b"a")) == b"1"
    await again.close()


# ── effects and timers ───────────────────────────────────────────────────────────────────────


@staged
async def test_effects_are_derived_anew_when_a_partition_is_opened() -> None:
    disk = Disk()
    partition = opened(MemoryStore(disk, 1))
    await submit(partition, Put(b"tell-me"))
    await partition.close()
    heard = Heard()
    partition = opened(MemoryStore(disk, 2), heard=heard)
    assert heard.effects == ["stell-me"]
    await partition.close()


@staged
async def test_a_handler_of_effects_that_raises_stops_nothing() -> None:
    class Bad(Heard):
        def __call__(self, machine: str, effects: Sequence[Effect]) -> None:
            raise ValueError(machine)

    partition = opened(MemoryStore(Disk(), 1), heard=Bad())
    await submit(partition, Tell("nobody"))
    assert await submit(partition, Put(b"a")) == b"1"
    await partition.close()


@staged
async def test_timers_fire_by_the_clock() -> None:
    disk = Disk()
    heard = Heard()
    partition = opened(MemoryStore(disk, 1), heard=heard)
    await submit(partition, Put(b"a"))
    now_ms = disk.head.at_ms
    await submit(partition, Later(now_ms + 3_600_000, b"long", [Tell("too soon")]))
    await submit(partition, Later(now_ms + 30, b"short", [Tell("now")]))

    async def rang() -> bool:
        return bool(heard.effects)

    await eventually(rang, "the timer fires")
    assert heard.effects == ["now"]
    assert int(disk.values[P + b"firedshort"]) >= now_ms + 30
    await partition.close()


@staged
async def test_a_timer_that_fell_due_while_nobody_owned_it_fires_for_the_next_owner() -> None:
    before = MemoryPartition([Scripted()])
    before.apply("scripted", program(Later(5, b"missed", [Tell("late")])))
    heard = Heard()
    partition = opened(MemoryStore(before.disk, 2), heard=heard)

    async def told() -> bool:
        return bool(heard.effects)

    await eventually(told, "the missed timer fires")
    assert heard.effects == ["late"]
    await partition.close()


@staged
async def test_more_timers_than_fit_one_tick_all_fire() -> None:
    heard = Heard()
    partition = opened(MemoryStore(Disk(), 1), heard=heard)
    await asyncio.gather(
        *(submit(partition, Later(0, b"%d" % n, [Tell(str(n))])) for n in range(700))
    )

    async def all_fired() -> bool:
        return len(heard.effects) == 700

    await eventually(all_fired, "all timers fire")
    assert len(set(heard.effects)) == 700
    await partition.close()


# ── between partitions ───────────────────────────────────────────────────────────────────────


class Post:
    """Brings envelopes, and loses, repeats and delays some."""

    def __init__(self) -> None:
        self.partitions: dict[int, Partition] = {}
        self.carried = 0

    async def __call__(self, to: int, envelope: Envelope) -> int:
        self.carried += 1
        match self.carried % 4:
            case 0:
                raise ConnectionError("lost on the way there")
            case 1:
                await self.partitions[to].receive(envelope)
                raise ConnectionError("lost on the way back")
            case 2:
                stale = replace(envelope, parcels=envelope.parcels[:1])
                await self.partitions[to].receive(stale)
            case _:
                pass
        return await self.partitions[to].receive(envelope)


@staged
async def test_what_is_sent_takes_effect_once_and_in_order_however_bad_the_post() -> None:
    post = Post()
    disks = [Disk(), Disk()]
    partitions = [opened(MemoryStore(disk, 1), n, deliver=post) for n, disk in enumerate(disks)]
    post.partitions = dict(enumerate(partitions))
    for n in range(40):
        await submit(partitions[0], Send(1, [Put(b"to-%02d" % n), Put(b"last", b"%d" % n)]))
        if n % 10 == 0:
            await submit(partitions[1], Send(0, [Put(b"back-%02d" % n)]))
            await submit(partitions[0], Send(0, [Put(b"self-%02d" % n)]))

    async def arrived() -> bool:
        return not any(key[:2] == b"\x01o" for disk in disks for key in disk.values)

    await eventually(arrived, "every outbox is empty")
    for partition in partitions:
        await partition.close()
    here, there = (
        [key for key in disk.order if key.startswith((b"sto", b"sback", b"sself"))]
        for disk in disks
    )
    assert len(there) == 40
    assert len(here) == 8
    assert disks[1].values[b"slast"] == b"39"
    received = [data for data in disks[1].commands.values() if data[:1] == b"\x02"]
    assert len(received) == 40, "none was applied twice"


@staged
async def test_an_outbox_is_brought_on_by_the_next_owner() -> None:
    disk, other_disk = Disk(), Disk()
    partition = opened(MemoryStore(disk, 1))
    await submit(partition, Send(1, [Put(b"a")]), Send(7, [Put(b"b")]))
    partition.stop("killed")
    await partition.ended()
    other = opened(MemoryStore(other_disk, 1), 1)

    async def deliver(to: int, envelope: Envelope) -> int:
        return await (other.receive(envelope) if to == 1 else nowhere(to, envelope))

    partition = opened(MemoryStore(disk, 2), deliver=deliver)

    async def arrived() -> bool:
        return await other.read(value(b"a")) is not None

    await eventually(arrived, "it arrives")
    await other.close()
    await partition.close()


@staged
async def test_a_receiver_that_has_forgotten_is_complained_of_and_given_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    post = Post()
    post.carried = 2  # which it carries well
    sender = opened(MemoryStore(Disk(), 1), deliver=post)
    receiver = post.partitions[1] = opened(MemoryStore(Disk(), 1), 1)
    await submit(sender, Send(1, [Put(b"a")]))

    async def arrived() -> bool:
        return await receiver.read(value(b"a")) is not None

    await eventually(arrived, "the first arrives")
    forgetful = post.partitions[1] = opened(MemoryStore(Disk(), 1), 1)
    await submit(sender, Send(1, [Put(b"b")]))

    async def complained() -> bool:
        return "partition 1 has forgotten what it had of partition 0" in caplog.text

    await eventually(complained, "it is noticed")
    assert await forgetful.read(value(b"b")) is None
    for partition in (sender, receiver, forgetful):
        await partition.close()


@staged
async def test_a_gap_is_not_taken() -> None:
    partition = opened(MemoryStore(Disk(), 1))
    parcels = (Parcel(2, P, program(Put(b"a"))),)
    assert await partition.receive(Envelope(3, parcels)) == 0
    assert await partition.read(value(b"a")) is None
    await partition.close()


# ── history ──────────────────────────────────────────────────────────────────────────────────


@staged
async def test_old_commands_are_forgotten_and_those_to_be_kept_are_not() -> None:
    disk = Disk()
    partition = opened(MemoryStore(disk, 1), limits=Limits(history_keep=20))
    for n in range(100):
        await submit(partition, Put(b"%d" % n))
        assert min(n + 1, 20) <= len(disk.commands) <= 25
    assert max(disk.commands) == 100
    assert min(disk.commands) == disk.head.kept_from
    await partition.close()


@staged
async def test_a_snapshot_with_the_commands_after_it_gives_the_state(tmp_path: Path) -> None:
    disk = Disk()
    store = MemoryStore(disk, 1)
    partition = opened(store)
    await submit(partition, Put(b"a"), Later(0, b"now", [Put(b"b")]))
    head = await partition.snapshot(tmp_path / "one")
    for n in range(10):
        await submit(partition, Put(b"%d" % n), Send(3, [Put(b"x")]), Later(n, b"t"))
    await partition.close()
    snapshot = MemoryStore(disk.checkpoints[tmp_path / "one"], 1)
    played = history.check(0, [Scripted()], snapshot, store)
    assert played == disk.head.position - head.position >= 10
