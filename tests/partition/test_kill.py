"""A process that is killed while it writes: what it acknowledged is there, and nothing is half."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from remuda.partition.history import check
from remuda.partition.memory import Disk, MemoryStore
from remuda.partition.rocks import RocksStore
from remuda.zookeeper.tether import tethered
from tests.partition.node import names
from tests.partition.scripted import Scripted
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

KILLS = 3


def written_until_killed(path: Path, epoch: int, told: Path, moment_s: float) -> set[bytes]:
    """What a process has told to be acknowledged, killed some time after it began to."""
    with told.open("wb") as output:
        words = (sys.executable, "-m", "tests.partition.writing", str(path), str(epoch))
        writer = subprocess.Popen(tethered(words), stdout=output)
    try:
        wait_until(lambda: told.stat().st_size > 0 or writer.poll() is not None, "it writes")
        time.sleep(moment_s)
        assert writer.poll() is None, "it ended by itself"
    finally:
        writer.kill()
        writer.wait()
    # The last line may be half there: then nobody was told.
    return set(told.read_bytes().split(b"\n")[:-1])


def test_what_was_acknowledged_survives_kill_9_and_nothing_is_half_written(tmp_path: Path) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    path = tmp_path / "store"
    acknowledged: set[bytes] = set()
    for epoch in range(1, KILLS + 1):
        told = tmp_path / f"told-{epoch}"
        acknowledged |= written_until_killed(path, epoch, told, chance.uniform(0, 0.5))
        store = RocksStore.open(path, epoch)
        ones, twos = names(store, b"one"), names(store, b"two")
        assert acknowledged <= ones
        assert ones == twos
        assert store.head.position == len(ones)
        store.close()
    assert len(acknowledged) > KILLS
    store = RocksStore.open(path, KILLS)
    assert check(0, [Scripted()], MemoryStore(Disk(), 0), store) == store.head.position
    store.close()
