"""A store on a real disk: what is committed stays, what is damaged is refused."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from remuda.errors import DataDirUnusable, MachineFailed, StaleEpoch, StoreCorrupt, StoreLocked
from remuda.partition.history import check, digest
from remuda.partition.inbox import Limits
from remuda.partition.memory import Disk, MemoryStore
from remuda.partition.outbox import Envelope
from remuda.partition.rocks import RocksStore
from remuda.partition.runtime import Partition
from remuda.partition.store import Batch, Head
from tests.partition.scripted import (
    AnyStep,
    Break,
    Delete,
    Later,
    Put,
    Refuse,
    Scripted,
    Send,
    Sweep,
    program,
)
from tests.partition.staged import staged


def fill(store: RocksStore, rounds: int) -> None:
    for n in range(store.head.position + 1, store.head.position + rounds + 1):
        head = Head(store.head.epoch, n, n * 10, store.head.kept_from)
        store.commit(Batch(head, [b"command %d" % n], {b"key %04d" % n: b"value %d" % n}))


async def nowhere(to: int, envelope: Envelope) -> int:
    raise ConnectionError(f"{to} cannot be reached with {envelope}")


def partition_on(store: RocksStore, history_keep: int = 10_000) -> Partition:
    partition = Partition(
        0,
        store,
        [Scripted()],
        deliver=nowhere,
        on_effects=lambda _machine, _effects: None,
        limits=Limits(history_keep=history_keep),
    )
    partition.start()
    return partition


def test_what_was_committed_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    store = RocksStore.open(tmp_path / "p" / "store", 1)
    fill(store, 20)
    store.commit(Batch(Head(1, 21, 210, 11), [b"last"], {b"key 0003": None, b"key 0004": b"new"}))
    store.close()
    store = RocksStore.open(tmp_path / "p" / "store", 4)
    assert store.head == Head(4, 21, 210, 11)
    assert store.get(b"key 0002") == b"value 2"
    assert store.get(b"key 0003") is None
    assert store.get(b"key 0004") == b"new"
    assert [at for at, _ in store.commands(1, 99)] == list(range(11, 22))
    assert list(store.commands(20, 21)) == [(20, b"command 20"), (21, b"last")]
    store.close()


def test_an_older_epoch_is_refused_when_it_opens_and_when_it_writes(tmp_path: Path) -> None:
    RocksStore.open(tmp_path / "store", 7).close()
    with pytest.raises(StaleEpoch, match="at epoch 7, and epoch 6 may not write"):
        RocksStore.open(tmp_path / "store", 6)
    store = RocksStore.open(tmp_path / "store", 7)
    with pytest.raises(StaleEpoch):
        store.commit(Batch(Head(6, 1)))
    store.close()


def test_a_store_is_open_once_at_a_time(tmp_path: Path) -> None:
    store = RocksStore.open(tmp_path / "store", 1)
    with pytest.raises(StoreLocked, match="open in another process"):
        RocksStore.open(tmp_path / "store", 2)
    store.close()
    RocksStore.open(tmp_path / "store", 2).close()


@staged
async def test_a_machine_that_raises_in_a_scan_does_not_keep_the_store_open(
    tmp_path: Path,
) -> None:
    partition = partition_on(RocksStore.open(tmp_path / "store", 1))
    await partition.submit("scripted", program(Put(b"a"), Put(b"b")))
    with pytest.raises(MachineFailed):
        await partition.submit("scripted", program(Sweep(), Break()))
    await partition.ended()
    store = RocksStore.open(tmp_path / "store", 1)
    assert store.head.position == 1
    store.close()


# ── damage ───────────────────────────────────────────────────────────────────────────────────


def damaged(tmp_path: Path, name: str) -> tuple[Path, Path]:
    """A copy of a store as a killed process leaves it, and the file its last commands are in."""
    store = RocksStore.open(tmp_path / "store", 1)
    fill(store, 50)
    copy = tmp_path / name
    copy.mkdir()
    for file in (tmp_path / "store").iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    store.close()
    return copy, max(copy.glob("*.log"), key=lambda file: file.stat().st_size)


def test_a_write_that_was_cut_off_is_as_if_it_had_never_begun(tmp_path: Path) -> None:
    copy, log = damaged(tmp_path, "cut")
    log.write_bytes(log.read_bytes()[:-7])
    store = RocksStore.open(copy, 1)
    assert store.head.position == 49
    assert (store.get(b"key 0049"), store.get(b"key 0050")) == (b"value 49", None)
    assert [at for at, _ in store.commands(48, 99)] == [48, 49]
    store.close()


def test_damage_is_told_and_nothing_is_dropped_in_silence(tmp_path: Path) -> None:
    copy, log = damaged(tmp_path, "flipped")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    with pytest.raises(StoreCorrupt, match="put a snapshot"):
        RocksStore.open(copy, 1)


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataDirUnusable, match="choose another data directory"):
        RocksStore.open(tmp_path / "file" / "store", 1)


# ── snapshots ────────────────────────────────────────────────────────────────────────────────


def test_a_checkpoint_is_a_store_of_its_own(tmp_path: Path) -> None:
    store = RocksStore.open(tmp_path / "store", 3)
    fill(store, 5)
    assert store.checkpoint(tmp_path / "copies" / "5") == store.head
    fill(store, 5)
    copy = RocksStore.open(tmp_path / "copies" / "5")
    assert (copy.head, store.head.position) == (Head(3, 5, 50), 10)
    fill(copy, 5)
    assert digest(copy) == digest(store)
    copy.close()
    store.close()


def drawn(chance: random.Random, now_ms: int) -> list[AnyStep]:
    def key() -> bytes:
        return b"%d" % chance.randrange(40)

    return [
        chance.choice(
            (
                Put(key(), chance.randbytes(chance.randrange(50))),
                Delete(key()),
                Sweep(chance.random() < 0.5, chance.choice((None, 1, 5))),
                Later(now_ms + chance.randrange(50), key(), [Put(key(), b"timed")]),
                Send(chance.randrange(3), [Put(key())]),
                Refuse() if chance.random() < 0.2 else Put(key()),
            )
        )
        for _ in range(chance.randint(1, 4))
    ]


@staged
async def test_a_snapshot_and_the_commands_since_give_the_state_byte_for_byte(
    tmp_path: Path,
) -> None:
    """With rounds as they fall, on a real disk; and once more from the very beginning."""
    chance = random.Random(11)
    store = RocksStore.open(tmp_path / "store", 1)
    partition = partition_on(store)

    async def live(callers: int) -> None:
        async def call() -> None:
            for _ in range(20):
                steps = drawn(chance, partition.head.at_ms)
                await partition.submit("scripted", program(*steps))

        await asyncio.gather(*(call() for _ in range(callers)))

    await live(8)
    await partition.snapshot(tmp_path / "snapshot")
    await live(8)
    await partition.close()
    store = RocksStore.open(tmp_path / "store", 1)
    snapshot = RocksStore.open(tmp_path / "snapshot")
    since = check(0, [Scripted()], snapshot, store)
    everything = check(0, [Scripted()], MemoryStore(Disk(), 0), store)
    assert everything == store.head.position > since > 50
    snapshot.close()
    store.close()


@staged
async def test_history_on_disk_is_bounded(tmp_path: Path) -> None:
    partition = partition_on(RocksStore.open(tmp_path / "store", 1), history_keep=100)
    for _ in range(10):
        await asyncio.gather(*(partition.submit("scripted", program(Put(b"a"))) for _ in range(50)))
    await partition.close()
    store = RocksStore.open(tmp_path / "store", 1)
    kept = [at for at, _ in store.commands(0, 10_000)]
    assert kept == list(range(store.head.kept_from, 501))
    assert 100 <= len(kept) <= 125
    store.close()
