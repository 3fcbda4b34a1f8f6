"""What a host does with the partitions that it is given; without a cluster, on a real disk."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from remuda.errors import DiskFull, MachineFailed, NotServed, RemudaError
from remuda.ownership.contract import (
    StartUnit,
    StopUnit,
    UnitChange,
    UnitFailed,
    UnitStarted,
    UnitStopped,
)
from remuda.partition.hosting import POOL, Host, unit_of
from remuda.partition.keys import after
from remuda.partition.machine import Effect, Rejected
from remuda.partition.outbox import Envelope
from remuda.partition.rocks import RocksStore
from remuda.partition.runtime import Partition
from tests.partition.scripted import AnyStep, Break, P, Put, Scripted, Send, Tell, program
from tests.partition.staged import staged
from tests.waiting import DEADLINE_S, eventually


class Stage:
    """A host, all that it tells, and the surroundings that it tells it to."""

    def __init__(self, data: Path) -> None:
        self.host = Host(data, [Scripted()], self, lambda _: True)
        self.told: asyncio.Queue[UnitChange] = asyncio.Queue()
        self.events: list[str] = []

    def start(self, number: int = 0, epoch: int = 1) -> None:
        self.host.start_unit("me", StartUnit(POOL, unit_of(number), epoch), self.told.put_nowait)

    def stop(self, number: int = 0, epoch: int = 1) -> None:
        stop = StopUnit(POOL, unit_of(number), epoch, "the test says so")
        self.host.stop_unit(stop, self.told.put_nowait)

    async def next(self) -> UnitChange:
        async with asyncio.timeout(DEADLINE_S):
            return await self.told.get()

    async def submit(self, *steps: AnyStep, number: int = 0) -> bytes | Rejected:
        return await self.host.partition(number).submit("scripted", program(*steps))

    async def deliver(self, to: int, envelope: Envelope) -> int:
        raise ConnectionError(f"{to}: {envelope}")

    def opened(self, partition: Partition) -> None:
        self.events.append(f"opened {partition.number}")

    def effects(self, partition: int, machine: str, effects: Sequence[Effect]) -> None:
        self.events += [f"{machine} {partition}: {effect}" for effect in effects]

    def closed(self, partition: int) -> None:
        self.events.append(f"closed {partition}")


STARTED, STOPPED = UnitStarted(POOL, "0000", 1), UnitStopped(POOL, "0000", 1)


def store_of(data: Path, number: int = 0) -> Path:
    return data / "partitions" / unit_of(number) / "store"


@staged
async def test_a_partition_is_served_from_its_start_to_its_stop(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with pytest.raises(NotServed, match="partition 0 is not served by this process"):
        stage.host.partition(0)
    stage.start()
    assert await stage.next() == STARTED
    assert stage.host.served == [0]
    assert await stage.submit(Put(b"a"), Tell("heard")) == b"1"
    partition = stage.host.partition(0)
    stage.stop()
    with pytest.raises(NotServed, match="the test says so"):
        await partition.submit("scripted", program(Put(b"b")))
    assert await stage.next() == STOPPED
    await stage.host.ended()
    assert stage.events == ["opened 0", "scripted 0: heard", "closed 0"]
    assert stage.host.served == []
    store = RocksStore.open(store_of(tmp_path), 1)
    assert store.head.position == 1
    store.close()


@staged
async def test_a_stop_of_what_does_not_run_is_told_at_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.stop(epoch=9)
    assert await stage.next() == UnitStopped(POOL, "0000", 9)


@staged
async def test_the_next_run_waits_for_the_last_to_close(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.start()
    assert await stage.next() == STARTED
    stage.stop()
    stage.start(epoch=5)
    assert [await stage.next(), await stage.next()] == [STOPPED, UnitStarted(POOL, "0000", 5)]
    assert stage.host.partition(0).head.epoch == 5
    stage.stop(epoch=5)
    await stage.host.ended()


@staged
async def test_a_locked_store_is_waited_for(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    store = RocksStore.open(store_of(tmp_path), 0)
    stage.start(number=1)
    stage.start()
    assert await stage.next() == UnitStarted(POOL, "0001", 1)
    with pytest.raises(NotServed):
        stage.host.partition(0)
    store.close()
    assert await stage.next() == STARTED
    for number in (0, 1):
        stage.stop(number)
    await stage.host.ended()


@staged
async def test_a_stop_ends_the_wait_for_a_locked_store(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    store = RocksStore.open(store_of(tmp_path), 0)
    stage.start()
    stage.stop()
    assert await stage.next() == STOPPED
    store.close()


@staged
async def test_a_store_that_cannot_be_opened_is_given_up_with_the_reason(tmp_path: Path) -> None:
    RocksStore.open(store_of(tmp_path), 8).close()
    stage = Stage(tmp_path)
    stage.start(epoch=7)
    failed = await stage.next()
    assert isinstance(failed, UnitFailed)
    assert "has been opened by a later owner: it is at epoch 8" in failed.reason


@staged
async def test_a_partition_that_breaks_is_opened_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.start()
    assert await stage.next() == STARTED
    await stage.submit(Put(b"a"))
    with pytest.raises(MachineFailed):
        await stage.submit(Break())

    async def served() -> bool:
        return stage.host.served == [0]

    await eventually(served, "it is served again")
    assert await stage.submit(Put(b"a")) == b"1"
    stage.stop()
    await stage.host.ended()


@staged
async def test_what_is_sent_to_a_partition_of_the_same_host_needs_no_wire(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    for number in (0, 1):
        stage.start(number)
        await stage.next()
    await stage.submit(Send(1, [Put(b"a"), Tell("arrived")]))

    async def arrived() -> bool:
        return "scripted 1: arrived" in stage.events

    await eventually(arrived, "it arrives")
    for number in (0, 1):
        stage.stop(number)
    await stage.host.ended()


@staged
async def test_loads_are_commands_a_minute(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    for number in (0, 1):
        stage.start(number)
        await stage.next()
    stage.host.loads(POOL)
    await stage.submit(Put(b"a"))
    loads = stage.host.loads(POOL)
    assert loads["0000"] > 0
    assert loads["0001"] == 0
    assert stage.host.loads(POOL) == {"0000": 0, "0001": 0}
    for number in (0, 1):
        stage.stop(number)
    await stage.host.ended()


# ── a full disk ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 32 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.integration
@staged
async def test_a_full_disk_is_told_loses_nothing_and_is_gone_on_from(small_disk: Path) -> None:
    stage = Stage(small_disk)
    stage.start()
    assert await stage.next() == STARTED
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(20 << 20))
    acknowledged: list[bytes] = []

    async def send() -> None:
        name = b"%06d" % len(acknowledged)
        await stage.submit(Put(name, os.urandom(50_000)))
        acknowledged.append(name)

    async def send_on() -> None:
        while True:
            await send()

    with pytest.raises(DiskFull, match="make room, and it goes on"):
        await send_on()
    before = len(acknowledged)
    assert before > 10

    async def refused() -> bool:
        try:
            await send()
        except DiskFull:
            return True
        except NotServed:
            return False
        return False

    await eventually(refused, "sends are told why they fail")
    ballast.unlink()

    async def accepted() -> bool:
        try:
            await send()
        except RemudaError:
            return False
        return True

    await eventually(accepted, "there is room, and it goes on")
    there = await stage.host.partition(0).read(
        lambda view: {key.removeprefix(P) for key, _ in view.scan(P, after(P))}
    )
    assert set(acknowledged) <= there
    assert len(acknowledged) > before
    stage.stop()
    await stage.host.ended()
