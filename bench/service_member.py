"""A process that serves units and writes down what it did; and how a benchmark runs many of them.

Every unit beats in a task of its own. Starts and stops go to the process' journal as they happen,
beats are kept in memory and written when that is asked for (SIGUSR1) or when the process leaves
(SIGTERM), as writing each of them would be the load that they are to measure. All times are
`time.monotonic_ns`, which is one clock for all processes of a machine.

A process is ready when it has imported everything, and joins when it is told to: what Python needs
for its start is no part of a figure.
"""

from __future__ import annotations

import asyncio
import contextlib
import cProfile
import signal
import subprocess
import sys
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bench.stage import POLL_S, Wrong, local_cluster
from remuda.config import Config
from remuda.peer.local import LocalCluster
from remuda.service.api import Service, Unit
from remuda.service.control import control
from remuda.service.member import Member
from remuda.zookeeper.tether import tethered

SERVICE = "bench"
SESSION_TIMEOUT_S = 2.0
NS = 1_000_000_000
_ROOT = Path(__file__).parents[1]
_READY_WITHIN_S = 60.0
_END_WITHIN_S = 30.0

Kind: TypeAlias = Literal["ready", "joining", "start", "stop", "beats", "told"]


class Brief(Struct, frozen=True, kw_only=True):
    """What a process is told on its command line."""

    config: Config
    units: int
    beat_s: float
    handoff_s: float | None = None
    name: str = ""
    journal: str = ""
    profile: str = ""


class Event(Struct, frozen=True, omit_defaults=True):
    """One line of a journal. `told` follows the last of the beats."""

    kind: Kind
    at_ns: int
    unit: str = ""
    beats_ns: tuple[int, ...] = ()


def unit_names(count: int) -> list[str]:
    return [f"unit-{number:04}" for number in range(count)]


# ── in the process ───────────────────────────────────────────────────────────────────────────


class Journal:
    def __init__(self, path: str) -> None:
        self._file = Path(path).open("ab", buffering=0)  # noqa: SIM115
        self._beats: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))

    def note(self, kind: Kind, unit: str = "") -> None:
        self._write([Event(kind, time.monotonic_ns(), unit)])

    def beat(self, unit: str) -> None:
        self._beats[unit].append(time.monotonic_ns())

    def tell_beats(self) -> None:
        """Those since the last time."""
        beats, self._beats = self._beats, defaultdict(lambda: array("q"))
        now = time.monotonic_ns()
        told = [Event("beats", now, unit, tuple(some)) for unit, some in beats.items()]
        self._write([*told, Event("told", now)])

    def _write(self, events: list[Event]) -> None:
        self._file.write(b"".join(msgspec.json.encode(event) + b"\n" for event in events))


def briefed() -> tuple[Brief, Journal]:
    """Say that this process is ready, and wait for the word to join, which is a line."""
    brief = msgspec.json.decode(sys.argv[1], type=Brief)
    journal = Journal(brief.journal)
    journal.note("ready")
    if not sys.stdin.readline():
        raise SystemExit(1)
    journal.note("joining")
    return brief, journal


class _Beating(Service):
    def __init__(self, journal: Journal, beat_s: float) -> None:
        self._journal = journal
        self._beat_s = beat_s

    async def start(self, unit: Unit) -> None:
        self._journal.note("start", unit.id)
        unit.spawn(self._beat(unit.id))

    async def stop(self, unit: Unit) -> None:
        self._journal.note("stop", unit.id)

    async def _beat(self, unit: str) -> None:
        while True:
            self._journal.beat(unit)
            await asyncio.sleep(self._beat_s)


async def _serve(brief: Brief, journal: Journal) -> None:
    served = _Beating(journal, brief.beat_s)
    member = Member(SERVICE, served, handoff=brief.handoff_s, name=brief.name, config=brief.config)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, member.leave)
    loop.add_signal_handler(signal.SIGUSR1, journal.tell_beats)
    await member.start()
    await member.left()
    journal.tell_beats()


def main() -> None:
    brief, journal = briefed()
    profiler = cProfile.Profile()
    with profiler if brief.profile else contextlib.nullcontext():
        asyncio.run(_serve(brief, journal))
    if brief.profile:
        profiler.dump_stats(brief.profile)


# ── around the processes ─────────────────────────────────────────────────────────────────────


class Process:
    """One of them, as its journal shows it."""

    def __init__(self, number: int, popen: subprocess.Popen[bytes], journal: Path) -> None:
        self.number = number
        self.popen = popen
        self.events: list[Event] = []
        self.serves: set[str] = set()
        self.beats_ns: defaultdict[str, list[int]] = defaultdict(list)
        self.told = 0
        self._journal = journal
        self._read = 0

    def read(self) -> None:
        if not self._journal.exists():
            return
        with self._journal.open("rb") as file:
            file.seek(self._read)
            lines = file.read()
        # The last line may be half written yet.
        lines = lines[: lines.rfind(b"\n") + 1]
        self._read += len(lines)
        for line in lines.splitlines():
            self._take(msgspec.json.decode(line, type=Event))

    def has(self, kind: Kind) -> bool:
        return any(event.kind == kind for event in self.events)

    def at_ns(self, kind: Kind) -> int:
        return next(event.at_ns for event in self.events if event.kind == kind)

    def _take(self, event: Event) -> None:
        match event.kind:
            case "beats":
                self.beats_ns[event.unit] += event.beats_ns
                return
            case "told":
                self.told += 1
                return
            case "start":
                self.serves.add(event.unit)
            case "stop":
                self.serves.discard(event.unit)
            case _:
                pass
        self.events.append(event)


class Troop:
    """All processes of a benchmark: `with Troop(module, brief, directory) as troop:`, and none of
    them is left behind."""

    def __init__(self, module: str, brief: Brief, directory: Path) -> None:
        self.living: list[Process] = []
        self.dead: list[Process] = []
        self._module = module
        self._brief = brief
        self._directory = directory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.living:
            process.popen.kill()
        for process in self.living:
            process.popen.wait()

    @property
    def all(self) -> list[Process]:
        return sorted(self.living + self.dead, key=lambda process: process.number)

    def start(self, count: int = 1, profile: Path | None = None) -> list[Process]:
        """New processes that are ready to join; the first of them under a profiler, if wanted."""
        new = [self._spawn(None if i else profile) for i in range(count)]
        self.wait(lambda: all(p.has("ready") for p in new), "are ready", _READY_WITHIN_S)
        return new

    def join(self, processes: Iterable[Process]) -> int:
        """Let them join; when the first of them began to."""
        new = list(processes)
        for process in new:
            assert process.popen.stdin is not None
            process.popen.stdin.write(b"join\n")
            process.popen.stdin.flush()
        self.wait(lambda: all(p.has("joining") for p in new), "are joining", _READY_WITHIN_S)
        return min(process.at_ns("joining") for process in new)

    def kill(self, process: Process) -> int:
        """With -9; when."""
        killed_ns = time.monotonic_ns()
        process.popen.kill()
        self._bury(process)
        return killed_ns

    def end(self, process: Process) -> None:
        """With SIGTERM, so that it hands over its units and tells its beats."""
        process.popen.terminate()
        try:
            process.popen.wait(_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            number = process.number
            raise Wrong(f"member {number} did not leave within {_END_WITHIN_S:g} s") from None
        self._bury(process)

    def tell_beats(self, processes: Iterable[Process]) -> None:
        asked = [(process, process.told) for process in processes]
        for process, _ in asked:
            process.popen.send_signal(signal.SIGUSR1)
        told = "have told their beats"
        self.wait(lambda: all(p.told > before for p, before in asked), told, _READY_WITHIN_S)

    def wait(self, true: Callable[[], bool], what: str, within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while True:
            self.look()
            if true():
                return
            if time.monotonic() > deadline:
                counts = ", ".join(str(len(process.serves)) for process in self.living)
                raise Wrong(
                    f"waited {within_s:g} s in vain until processes {what}: they serve "
                    f"{counts} units"
                )
            time.sleep(POLL_S)

    def watch(self, seconds: float) -> None:
        """Let time pass."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            time.sleep(POLL_S)

    def look(self) -> None:
        for process in self.living:
            process.read()
            if process.popen.poll() is not None:
                errors = self._errors(process.number).read_text().strip().splitlines()
                why = errors[-1] if errors else "it said nothing"
                raise Wrong(f"{self._module} {process.number} ended by itself: {why}")

    def owners(self) -> dict[str, int]:
        """Who serves each unit, of those that exactly one does."""
        serving = [(unit, p.number) for p in self.living for unit in p.serves]
        owners = dict(serving)
        return owners if len(owners) == len(serving) else {}

    @property
    def is_balanced(self) -> bool:
        """Every unit is served by one process, and all have the same number, or one more."""
        units, members = self._brief.units, len(self.living)
        counts = {len(process.serves) for process in self.living}
        return len(self.owners()) == units and counts <= {units // members, -(-units // members)}

    def _bury(self, process: Process) -> None:
        process.popen.wait()
        process.read()
        process.serves.clear()
        self.living.remove(process)
        self.dead.append(process)

    def _spawn(self, profile: Path | None) -> Process:
        number = len(self.living) + len(self.dead) + 1
        journal = self._directory / f"{number}.journal"
        brief = replace(
            self._brief, name=f"member-{number}", journal=str(journal), profile=str(profile or "")
        )
        command = [sys.executable, "-m", self._module, msgspec.json.encode(brief).decode()]
        with self._errors(number).open("wb") as errors:
            popen = subprocess.Popen(
                tethered(command),
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                # Ctrl-C is for the benchmark, which then ends them.
                start_new_session=True,
            )
        process = Process(number, popen, journal)
        self.living.append(process)
        return process

    def _errors(self, number: int) -> Path:
        return self._directory / f"{number}.errors"


@contextmanager
def serving(
    *, units: int, beat_s: float, settle_s: float, handoff_s: float | None = None
) -> Generator[tuple[LocalCluster, Troop]]:
    """A cluster with a service that has its units, and no members yet."""
    with local_cluster(SESSION_TIMEOUT_S) as cluster:
        asyncio.run(_add_units(cluster, units))
        config = replace(cluster.config, zookeeper=cluster.address, settle_time_s=settle_s)
        brief = Brief(config=config, units=units, beat_s=beat_s, handoff_s=handoff_s)
        with Troop("bench.service_member", brief, cluster.data) as troop:
            yield cluster, troop


async def _add_units(cluster: LocalCluster, units: int) -> None:
    async with control(cluster.config) as services:
        await services.add_units(SERVICE, unit_names(units))


if __name__ == "__main__":
    main()
