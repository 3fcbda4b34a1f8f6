"""What every benchmark stands on: a sheet for its figures, a cluster, and a log to fill."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Literal

import msgspec
from msgspec import Struct

from remuda.config import Config
from remuda.log.port import ClusterLog
from remuda.peer.local import LocalCluster
from remuda.replica.command import Stamp
from remuda.replica.commands import AnyCommand, LeaveCluster, PrepareJoin, Void
from remuda.replica.entry import Entry, record_of
from remuda.replica.fold import play, reactions
from remuda.replica.invariants import broken
from remuda.replica.state import PeerId, PeerInfo, Replica
from remuda.zookeeper.connection import Connection
from remuda.zookeeper.locate import locate

POLL_S = 0.01
_APPENDS_AT_ONCE = 1000
_TURNOVER_MEMBERS = 5


class Wrong(Exception):
    """Not slow, but wrong: what Remuda promises did not happen."""


# ── figures ──────────────────────────────────────────────────────────────────────────────────


class Bar(Struct, frozen=True):
    kind: Literal["under", "at least"]
    value: float

    def met_by(self, value: float) -> bool:
        return value < self.value if self.kind == "under" else value >= self.value


class Figure(Struct, frozen=True):
    benchmark: str
    figure: str
    value: float
    unit: str
    bar: Bar | None = None
    met: bool | None = None

    def __str__(self) -> str:
        text = f"{self.figure}: {_readable(self.value)} {self.unit}".rstrip()
        if self.bar is None:
            return text
        bar = f"{self.bar.kind} {_readable(self.bar.value)} {self.unit}".rstrip()
        return f"{text}   bar: {bar}, {'met' if self.met else 'MISSED'}"


class Sheet:
    """Takes the figures and tells how it goes; as JSON, only figures go to standard output."""

    def __init__(self, *, json: bool) -> None:
        self.figures: list[Figure] = []
        self._json = json
        # Kept, because a benchmark may catch what is printed in the meantime.
        self._out = sys.stdout
        self._progress = sys.stderr if json else sys.stdout
        self._benchmark = ""

    def begin(self, benchmark: str) -> None:
        self._benchmark = benchmark
        self.say(benchmark, indent="")

    def say(self, text: str, indent: str = "    ") -> None:
        print(indent + text, file=self._progress, flush=True)

    def figure(self, name: str, value: float, unit: str, bar: Bar | None = None) -> None:
        met = None if bar is None else bar.met_by(value)
        figure = Figure(self._benchmark, name, value, unit, bar, met)
        self.figures.append(figure)
        if self._json:
            print(msgspec.json.encode(figure).decode(), file=self._out, flush=True)
        else:
            self.say(str(figure), indent="  ")

    def spread(self, name: str, values: Sequence[float], unit: str, bar: Bar | None = None) -> None:
        """The middle and the worst of some times; the bar is for every one of them."""
        self.figure(f"{name}, p50 of {len(values)}", statistics.median(values), unit)
        self.figure(f"{name}, max of {len(values)}", max(values), unit, bar)


def _readable(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:.2f}"


# ── a cluster ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def local_cluster(session_timeout_s: float) -> Generator[LocalCluster]:
    """An embedded ZooKeeper and no peers yet, in a directory that goes with it."""
    with tempfile.TemporaryDirectory(prefix="remuda-bench-") as data:
        # Logs are collected when a benchmark says so, and not before.
        config = Config(data=data, session_timeout_s=session_timeout_s, gc_entries=1_000_000)
        with LocalCluster(config) as cluster:
            yield cluster


@asynccontextmanager
async def connected(cluster: LocalCluster) -> AsyncGenerator[Connection]:
    """A session beside the peers'. It does not wait for a first peer to found the cluster."""
    config = cluster.config
    connection = await Connection.open(locate(config), config.session_timeout_s, create_chroot=True)
    try:
        yield connection
    finally:
        await connection.close()


async def until(
    look: Callable[[], Awaitable[Replica]],
    true: Callable[[Replica], bool],
    what: str,
    within_s: float = 30.0,
) -> Replica:
    """The first replica that is so, of those that `look` answers."""
    started = time.monotonic()
    while not true(replica := await look()):
        if time.monotonic() - started > within_s:
            raise Wrong(f"waited {within_s:g} s in vain until {what}; the replica is {replica}")
        await asyncio.sleep(POLL_S)
    return replica


def closed_over(cluster: LocalCluster) -> Callable[[Replica], bool]:
    """Whether the ring is closed over exactly the peers that run."""
    running = sorted(peer.pid for peer in cluster.peers)

    def closed(replica: Replica) -> bool:
        known = sorted(info.pid for info in replica.peers.values())
        return known == running and len(replica.members) == len(running) and not broken(replica)

    return closed


def process_of(cluster: LocalCluster, replica: Replica, member: PeerId) -> subprocess.Popen[bytes]:
    return next(peer for peer in cluster.peers if peer.pid == replica.peers[member].pid)


# ── a log ────────────────────────────────────────────────────────────────────────────────────


async def fill(log: ClusterLog, commands: Iterable[AnyCommand]) -> None:
    """Append many entries, quickly and in this order."""
    records = [
        record_of(command, entry_id=f"{number:024x}", by="bench", at_ms=1_700_000_000_000)
        for number, command in enumerate(commands)
    ]
    end = await log.end()
    for i in range(0, len(records), _APPENDS_AT_ONCE):
        some = records[i : i + _APPENDS_AT_ONCE]
        positions = await asyncio.gather(*map(log.append, some))
        if positions != list(range(end + i, end + i + len(some))):
            raise Wrong(
                f"entries {end + i} to {end + i + len(some) - 1} were appended out of order"
            )


def turnover(count: int) -> list[AnyCommand]:
    """What a cluster of five writes while one peer after another is replaced: real membership,
    and nobody left at the end. Played on an empty replica, so fill a log that is new."""
    replica = Replica()
    commands: list[AnyCommand] = []

    def write(command: AnyCommand) -> None:
        nonlocal replica
        stamp = Stamp(len(commands), "bench", 0)
        replica = play(replica, Entry("", stamp, command)).replica
        commands.append(command)

    def owed() -> AnyCommand | None:
        return next((c for peer in replica.peers for c in reactions(replica, peer)), None)

    # A replacement takes four entries, and so many leave in the end.
    while len(commands) + 4 + _TURNOVER_MEMBERS <= count:
        joiner = f"peer-{len(commands):024x}"
        write(PrepareJoin(joiner, PeerInfo("bench.example", len(commands))))
        while command := owed():
            write(command)
        if len(replica.members) > _TURNOVER_MEMBERS:
            write(LeaveCluster(replica.members[0]))
    for member in replica.members:
        write(LeaveCluster(member))
    return commands + [Void()] * (count - len(commands))
