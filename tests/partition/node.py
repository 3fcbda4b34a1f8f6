"""A node as a process of its own: it serves partitions, and writes to those that it serves.

    python -m tests.partition.node DATA JOURNAL [--patient]

Each partition that is open gets a command every few milliseconds. What happens goes to JOURNAL as
lines. With --patient it never ends a process that does not let go of a store.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from remuda.config import OPTIONS, Config, load
from remuda.errors import RemudaError
from remuda.ownership.contract import Membership
from remuda.partition.history import check
from remuda.partition.hosting import POOL, Host, unit_of
from remuda.partition.inbox import Limits
from remuda.partition.keys import after
from remuda.partition.machine import Effect
from remuda.partition.memory import Disk, MemoryStore
from remuda.partition.outbox import Envelope
from remuda.partition.rocks import RocksStore
from remuda.partition.runtime import Partition
from remuda.peer.runtime import Peer, Role
from remuda.replica.state import PeerId
from remuda.zookeeper.tether import tethered
from tests.partition.scripted import P, Put, Scripted, program

BEAT_S = 0.005
PARTITIONS = 4
ALL = set(range(PARTITIONS))

What: TypeAlias = Literal["opened", "acknowledged", "failed", "closed"]


class Line(Struct, frozen=True):
    at_ns: int
    pid: int
    what: What
    partition: int
    epoch: int
    number: int = 0
    why: str = ""

    @property
    def name(self) -> bytes:
        return b"%d-%d-%d" % (self.pid, self.epoch, self.number)


# ── the process ──────────────────────────────────────────────────────────────────────────────


class Writers:
    """The surroundings: a writer for each partition that is open."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal.open("ab", buffering=0)
        self._writers: dict[int, asyncio.Task[None]] = {}

    async def deliver(self, to: int, envelope: Envelope) -> int:
        raise ConnectionError(f"{to}: {envelope}")

    def opened(self, partition: Partition) -> None:
        self._note("opened", partition.number, partition.head.epoch)
        loop = asyncio.get_running_loop()
        self._writers[partition.number] = loop.create_task(self._write(partition))

    def effects(self, partition: int, machine: str, effects: Sequence[Effect]) -> None: ...

    def closed(self, partition: int) -> None:
        self._note("closed", partition, 0)

    async def _write(self, partition: Partition) -> None:
        epoch = partition.head.epoch
        number = 0
        while True:
            line = Line(0, os.getpid(), "acknowledged", partition.number, epoch, number)
            try:
                await partition.submit(
                    "scripted", program(Put(b"one" + line.name), Put(b"two" + line.name))
                )
            except RemudaError as error:
                self._note("failed", partition.number, epoch, number, type(error).__name__)
                return
            self._note("acknowledged", partition.number, epoch, number)
            number += 1
            await asyncio.sleep(BEAT_S)

    def _note(self, what: What, partition: int, epoch: int, number: int = 0, why: str = "") -> None:
        line = Line(time.monotonic_ns(), os.getpid(), what, partition, epoch, number, why)
        self._journal.write(msgspec.json.encode(line) + b"\n")


async def serve(data: Path, journal: Path, *, patient: bool) -> None:
    config = load(environment=os.environ)

    def is_gone(who: PeerId) -> bool:
        return not patient and who not in peer.replica.peers

    host = Host(
        data, [Scripted()], Writers(journal), is_gone, limits=Limits(history_keep=1_000_000)
    )
    membership = Membership(POOL, settle_s=config.settle_time_s)
    peer = Peer(config, roles=[Role(membership, host)])
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, peer.leave)
    await peer.run()
    await host.ended()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("journal", type=Path)
    parser.add_argument("--patient", action="store_true")
    given = parser.parse_args()
    asyncio.run(serve(given.data, given.journal, patient=given.patient))


# ── whoever looks at it ──────────────────────────────────────────────────────────────────────


class Nodes:
    """Node processes that share a data directory, and what they have written down."""

    def __init__(self, config: Config, directory: Path) -> None:
        self.config = config
        self.data = directory / "data"
        self.running: list[subprocess.Popen[bytes]] = []
        self._journal = directory / "journal"
        self._output = directory / "output"

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        options = {
            option.variable: str(getattr(self.config, option.field))
            for option in OPTIONS.values()
            if getattr(self.config, option.field) != option.default
        }
        module = [sys.executable, "-m", "tests.partition.node"]
        with self._output.open("ab") as output:
            node = subprocess.Popen(
                tethered([*module, str(self.data), str(self._journal), *words]),
                env={**os.environ, **options},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self.running.append(node)
        return node

    def end(self) -> None:
        for node in self.running:
            node.kill()
            node.wait()

    def end_and_check(self) -> None:
        """Nothing that was acknowledged is lost, nothing is half there, and no two owners met."""
        self.end()
        acknowledged = self.lines("acknowledged")
        for number in sorted(ALL):
            here = [line for line in acknowledged if line.partition == number]
            epochs = [line.epoch for line in here]
            assert epochs == sorted(epochs), "an earlier owner wrote after a later one"
            store = RocksStore.open(self.data / "partitions" / unit_of(number) / "store")
            ones, twos = names(store, b"one"), names(store, b"two")
            assert {line.name for line in here} <= ones
            assert ones == twos
            check(number, [Scripted()], MemoryStore(Disk(), 0), store)
            store.close()

    @property
    def output(self) -> str:
        return self._output.read_text()

    def lines(self, what: What) -> list[Line]:
        data = self._journal.read_bytes() if self._journal.exists() else b""
        whole, _, _ = data.rpartition(b"\n")
        found = msgspec.json.Decoder(Line).decode_lines(whole)
        return sorted((one for one in found if one.what == what), key=lambda one: one.at_ns)

    def served_by(self, node: subprocess.Popen[bytes], since_ns: int = 0) -> set[int]:
        """The partitions that it has had a command acknowledged in, since a moment."""
        return {
            line.partition
            for line in self.lines("acknowledged")
            if line.pid == node.pid and line.at_ns > since_ns
        }


def names(store: RocksStore, word: bytes) -> set[bytes]:
    """Of the commands that have written the key with this word."""
    return {key.removeprefix(P + word) for key, _ in store.scan(P + word, after(P + word))}


if __name__ == "__main__":
    main()
