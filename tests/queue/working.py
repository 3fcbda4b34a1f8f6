"""A worker as a process of its own, which writes down every message that it handles.

    python -m tests.queue.working QUEUE GROUP DIRECTORY [--concurrency N] [--pause-ms MS]
        [--failing PERCENT] [--plain] [--depth N --fan-out N] [--wait-for-queue]

Every handling is a line in DIRECTORY/handled. With --failing, so many handlings raise, by chance.
With --wait-for-queue, it may be started before the queue is made. With --fan-out, a message with
the text "1/0" that is handled makes "2/…", and so on to the depth.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

import remuda
from remuda.config import OPTIONS, Config
from remuda.partition.fold import Record
from remuda.partition.history import check
from remuda.partition.memory import Disk, MemoryStore
from remuda.partition.rocks import RocksStore
from remuda.peer.local import LocalCluster
from remuda.queue.catalog import read_command
from remuda.queue.client import Queues
from remuda.queue.commands.attach import Attach
from remuda.queue.commands.commit import Commit
from remuda.queue.commands.fail import Fail
from remuda.queue.machine import QueueMachine
from remuda.zookeeper.tether import tethered
from tests.waiting import eventually, wait_until

SESSION_S = 2.0


class Line(Struct, frozen=True):
    at_ns: int
    pid: int
    part: int
    epoch: int
    position: int
    attempt: int
    key: str
    text: str
    failed: bool = False


# ── the process ──────────────────────────────────────────────────────────────────────────────


class Recorder:
    def __init__(self, directory: Path, given: argparse.Namespace) -> None:
        self._lines = (directory / "handled").open("ab", buffering=0)
        self._pause_s = given.pause_ms / 1000
        self._failing = given.failing
        self._depth = given.depth
        self._fan_out = given.fan_out

    async def handle(self, message: remuda.Message, ctx: remuda.Context) -> None:
        fails = self._note(message, ctx)
        if self._pause_s:
            await asyncio.sleep(self._pause_s)
        self._end(message, ctx, fails)

    def handle_plainly(self, message: remuda.Message, ctx: remuda.Context) -> None:
        fails = self._note(message, ctx)
        if self._pause_s:
            time.sleep(self._pause_s)
        self._end(message, ctx, fails)

    def _note(self, message: remuda.Message, ctx: remuda.Context) -> bool:
        fails = random.uniform(0, 100) < self._failing
        line = Line(
            time.monotonic_ns(),
            os.getpid(),
            message.part,
            ctx.epoch,
            message.position,
            message.attempt,
            message.key,
            message.text,
            fails,
        )
        self._lines.write(msgspec.json.encode(line) + b"\n")
        return fails

    def _end(self, message: remuda.Message, ctx: remuda.Context, fails: bool) -> None:
        if fails:
            raise ValueError(f"{message.text} is not to my liking")
        level, _, name = message.text.partition("/")
        if self._fan_out and int(level) < self._depth:
            for n in range(self._fan_out):
                ctx.emit(ctx.queue, f"{int(level) + 1}/{name}.{n}".encode(), key=f"{name}.{n}")


async def made(queue: str) -> None:
    async with Queues(timeout_s=60) as queues:

        async def known() -> bool:
            return queue in [one.name for one in await queues.list()]

        await eventually(known, f"there is a queue {queue}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("queue")
    parser.add_argument("group")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--pause-ms", type=float, default=0)
    parser.add_argument("--failing", type=float, default=0)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--fan-out", type=int, default=0)
    parser.add_argument("--wait-for-queue", action="store_true")
    given = parser.parse_args()
    if given.wait_for_queue:
        asyncio.run(made(given.queue))
    recorder = Recorder(given.directory, given)
    handle = recorder.handle_plainly if given.plain else recorder.handle
    remuda.work(
        remuda.consume(given.queue, handle, group=given.group, concurrency=given.concurrency)
    )


# ── whoever looks at it ──────────────────────────────────────────────────────────────────────


class Yard:
    """A cluster on this machine, with nodes and workers that come and go."""

    def __init__(self, cluster: LocalCluster, directory: Path) -> None:
        self.cluster = cluster
        self.config = cluster.config
        self.workers: list[subprocess.Popen[bytes]] = []
        self._directory = directory

    def start_node(self) -> subprocess.Popen[bytes]:
        return self.cluster.start_peer()

    def start_worker(self, queue: str, group: str = "g", *words: str) -> subprocess.Popen[bytes]:
        options = {
            option.variable: str(getattr(self.config, option.field))
            for option in OPTIONS.values()
            if getattr(self.config, option.field) != option.default
        }
        module = [sys.executable, "-m", "tests.queue.working"]
        with (self._directory / "output").open("ab") as output:
            worker = subprocess.Popen(
                tethered([*module, queue, group, str(self._directory), *words]),
                env={**os.environ, **options},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self.workers.append(worker)
        return worker

    def end_workers(self) -> None:
        for worker in self.workers:
            worker.send_signal(signal.SIGCONT)
            worker.terminate()
        for worker in self.workers:
            worker.wait(60)
        self.workers.clear()

    def queues(self) -> Queues:
        return Queues(config=self.config, timeout_s=60)

    def lines(self) -> list[Line]:
        """Every handling, in the order of time."""
        path = self._directory / "handled"
        data = path.read_bytes() if path.exists() else b""
        whole, _, _ = data.rpartition(b"\n")
        return sorted(_decoder.decode_lines(whole), key=lambda line: line.at_ns)

    def output(self) -> str:
        path = self._directory / "output"
        return path.read_text() if path.exists() else ""

    def wait_for(self, texts: set[str], deadline_s: float = 60) -> list[Line]:
        def handled() -> list[Line] | None:
            lines = self.lines()
            return lines if {line.text for line in lines} >= texts else None

        try:
            return wait_until(handled, "every message is handled", deadline_s)
        except AssertionError:
            print(self.output()[-5000:])
            raise


@contextmanager
def yard(directory: Path, nodes: int = 1, settle_s: float = 0.5) -> Generator[Yard]:
    config = Config(
        data=str(directory / "data"),
        session_timeout_s=SESSION_S,
        settle_time_s=settle_s,
        partitions=4,
        check_invariants=True,
    )
    with LocalCluster(config) as cluster:
        yard = Yard(cluster, directory)
        for _ in range(nodes):
            yard.start_node()
        try:
            yield yard
        finally:
            for worker in yard.workers:
                worker.kill()
                worker.wait()


def check_histories(data: Path) -> int:
    """Of a cluster that is down: its partitions' commands, played again, give the same state, and
    whatever was committed was committed by whoever had attached last. Answers how many commits."""
    homes = sorted((data / "partitions").iterdir())
    machine = QueueMachine(len(homes))
    commits = 0
    for number, home in enumerate(homes):
        store = RocksStore.open(home / "store")
        check(number, [machine], MemoryStore(Disk(), 0), store)
        owners: dict[tuple[str, int, str], int] = {}
        for _, data_of_one in store.commands(1, store.head.position):
            record = Record.decode(data_of_one)
            if record.kind != machine.prefix:
                continue
            command = read_command(record.body)
            match command:
                case Attach():
                    owner = (command.queue, command.part, command.group)
                    assert command.epoch >= owners.get(owner, 0), "an older owner has attached"
                    owners[owner] = command.epoch
                case Commit() | Fail():
                    owner = (command.queue, command.part, command.group)
                    assert command.epoch == owners[owner], "a stale owner has committed"
                    commits += isinstance(command, Commit)
                case _:
                    pass
        store.close()
    return commits


def first_deliveries(lines: list[Line]) -> dict[str, list[str]]:
    """The texts of each key, in the order in which each was handled for the first time."""
    found: dict[str, dict[str, None]] = {}
    for line in lines:
        found.setdefault(line.key, {})[line.text] = None
    return {key: list(texts) for key, texts in found.items()}


def duplicates(lines: list[Line]) -> int:
    """Handlings of what had been handled before, and had not failed then."""
    counts = Counter(line.text for line in lines if not line.failed)
    return sum(count - 1 for count in counts.values())


_decoder = msgspec.json.Decoder(Line)

if __name__ == "__main__":
    main()
