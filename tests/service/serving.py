"""A member of a service as a process of its own, and what it writes down for a test to read.

    python -m tests.service.serving SERVICE DIRECTORY [--name NAME] [--handoff SECONDS] [--store]

Each unit that it serves appends a line to DIRECTORY/lines when it starts, when it stops, and every
10 ms in between. A unit whose start is to fail at a member has a file DIRECTORY/NAME-UNIT, which
holds the reason. With --store, each beat is a write to a database that refuses old epochs.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

import remuda
from remuda.config import OPTIONS, Config
from remuda.zookeeper.tether import tethered

BEAT_S = 0.01

What: TypeAlias = Literal["start", "beat", "stop", "refused"]


class Line(Struct, frozen=True):
    at_ns: int
    pid: int
    unit: str
    epoch: int
    what: What

    @property
    def at(self) -> float:
        return self.at_ns / 1e9


class Run(NamedTuple):
    """A unit in a process, from its start to its stop, or for ever."""

    unit: str
    epoch: int
    pid: int
    begin: float
    end: float


# ── the process ──────────────────────────────────────────────────────────────────────────────


class Recorder(remuda.Service):
    def __init__(self, directory: Path, name: str, *, stores: bool) -> None:
        self._directory = directory
        self._name = name
        self._lines = (directory / "lines").open("ab", buffering=0)
        self._store = sqlite3.connect(directory / "store", 10, isolation_level=None)
        self._stores = stores

    async def start(self, unit: remuda.Unit) -> None:
        broken = self._directory / f"{self._name}-{unit.id}"
        if broken.exists():
            raise OSError(broken.read_text())
        self._note(unit, "start")
        unit.spawn(self._beat(unit))

    async def stop(self, unit: remuda.Unit) -> None:
        """A last write, as one who has something left to say."""
        assert unit.lost.is_set()
        if not self._write(unit):
            self._note(unit, "refused")
        self._note(unit, "stop")

    async def _beat(self, unit: remuda.Unit) -> None:
        while self._write(unit):
            self._note(unit, "beat")
            await asyncio.sleep(BEAT_S)

    def _write(self, unit: remuda.Unit) -> bool:
        """Whether the store took it: one statement, so nothing comes between check and change."""
        if not self._stores:
            return True
        epoch = unit.epoch
        self._store.execute("INSERT OR IGNORE INTO units VALUES (?, ?)", (unit.id, epoch))
        update = "UPDATE units SET epoch = ? WHERE id = ? AND epoch <= ?"
        return self._store.execute(update, (epoch, unit.id, epoch)).rowcount == 1

    def _note(self, unit: remuda.Unit, what: What) -> None:
        line = Line(time.monotonic_ns(), os.getpid(), unit.id, unit.epoch, what)
        self._lines.write(msgspec.json.encode(line) + b"\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("service")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--name", default="")
    parser.add_argument("--handoff", type=float)
    parser.add_argument("--store", action="store_true")
    given = parser.parse_args()
    served = Recorder(given.directory, given.name, stores=given.store)
    remuda.serve(given.service, served, handoff=given.handoff, name=given.name)


# ── whoever looks at it ──────────────────────────────────────────────────────────────────────


class Crew:
    """Processes that serve one service, and what they have written down."""

    def __init__(self, config: Config, directory: Path, service: str = "s") -> None:
        self.config = config
        self.service = service
        self.directory = directory
        self.members: list[subprocess.Popen[bytes]] = []
        with sqlite3.connect(directory / "store") as store:
            store.execute("CREATE TABLE units (id TEXT PRIMARY KEY, epoch INT)")

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Another member; the words are those of the command line."""
        options = {
            OPTIONS[name].variable: str(getattr(self.config, OPTIONS[name].field))
            for name in OPTIONS
            if getattr(self.config, OPTIONS[name].field) != OPTIONS[name].default
        }
        module = [sys.executable, "-m", "tests.service.serving"]
        with (self.directory / "output").open("ab") as output:
            member = subprocess.Popen(
                tethered([*module, self.service, str(self.directory), *words]),
                env={**os.environ, **options},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self.members.append(member)
        return member

    def break_unit(self, name: str, unit: str, reason: str) -> None:
        (self.directory / f"{name}-{unit}").write_text(reason)

    def mend_unit(self, name: str, unit: str) -> None:
        (self.directory / f"{name}-{unit}").unlink()

    def end(self) -> None:
        for member in self.members:
            member.send_signal(signal.SIGKILL)
            member.wait()

    def lines(self) -> list[Line]:
        """In the order of time."""
        path = self.directory / "lines"
        # The last line may be half there; the rest of it comes the next time.
        whole, _, _ = path.read_bytes().rpartition(b"\n") if path.exists() else (b"", b"", b"")
        return sorted(_decoder.decode_lines(whole), key=lambda line: line.at_ns)

    def runs(self) -> list[Run]:
        """In the order of their starts."""
        found: list[Run] = []
        for line in self.lines():
            key = (line.unit, line.epoch, line.pid)
            if line.what == "start":
                found.append(Run(*key, line.at, float("inf")))
            elif line.what == "stop":
                last = max(n for n, run in enumerate(found) if run[:3] == key)
                found[last] = found[last]._replace(end=line.at)
        return found


def largest_gap(lines: list[Line], unit: str) -> float:
    """The longest time that a unit was silent, in whichever process."""
    beats = [line.at for line in lines if line.unit == unit and line.what == "beat"]
    return max((after - before for before, after in itertools.pairwise(beats)), default=0.0)


_decoder = msgspec.json.Decoder(Line)

if __name__ == "__main__":
    main()
