"""The partitions of a node: opened when the cluster gives them to it, closed when it takes them.

They are the units of the pool `partitions`, owned exclusively. A node process runs a peer with
`Host` as the worker of that pool; all node processes of a machine share the data directory:

    <data>/partitions/<unit>/store         RocksDB
    <data>/partitions/<unit>/tenant.json   who opened it last

How many there are is fixed when the cluster is founded: it is the number of the pool's units.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from remuda.clock import Clock
from remuda.errors import DiskFull, NotServed, RemudaError, StoreLocked
from remuda.log.port import ClusterLog
from remuda.ownership.contract import StartUnit, StopUnit, UnitFailed, UnitStarted, UnitStopped
from remuda.partition.inbox import Limits
from remuda.partition.machine import Effect, Machine
from remuda.partition.outbox import Envelope
from remuda.partition.rocks import RocksStore, named
from remuda.partition.runtime import Partition
from remuda.partition.tenant import Eviction, moved_in, tenant_of
from remuda.peer.backoff import Backoff
from remuda.peer.observer import ask, current
from remuda.peer.worker import Tell
from remuda.replica.commands import AddUnits
from remuda.replica.pool import UnitId
from remuda.replica.state import PeerId

log = logging.getLogger("remuda.partition")

POOL = "partitions"
PARTITIONS = 16

_ATTEMPTS = 5
_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.05, 1.0
# A partition that was open for so long has proven itself: its next failure is the first again.
_PROVEN_S = 60.0


class Surroundings(Protocol):
    """What partitions are to the rest of a node. Called in the event loop."""

    async def deliver(self, to: int, envelope: Envelope) -> int:
        """Bring an envelope to a partition of another node: its `receive`, and the answer."""
        ...

    def opened(self, partition: Partition) -> None:
        """It takes commands from now on; the effects that its state calls for follow."""
        ...

    def effects(self, partition: int, machine: str, effects: Sequence[Effect]) -> None: ...

    def closed(self, partition: int) -> None:
        """Whatever was remembered about it is somebody else's now."""
        ...


class Host:
    """A `UnitWorker`. `is_gone` tells whether a peer is not in the cluster any more."""

    def __init__(
        self,
        data: Path,
        machines: Sequence[Machine],
        surroundings: Surroundings,
        is_gone: Callable[[PeerId], bool],
        *,
        limits: Limits | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.data = data / "partitions"
        self.machines = tuple(machines)
        self.surroundings = surroundings
        self.is_gone = is_gone
        self.limits = limits or Limits()
        self.clock = clock
        self._runs: dict[tuple[UnitId, int], _Run] = {}
        self._last: dict[UnitId, _Run] = {}
        self._tasks: dict[UnitId, asyncio.Task[None]] = {}
        self._measured_at = time.monotonic()

    def partition(self, number: int) -> Partition:
        """Raises `NotServed`, or `DiskFull`, if it is not open here."""
        run = self._last.get(unit_of(number))
        if run is None or run.partition is None:
            error = None if run is None else run.error
            if isinstance(error, DiskFull):
                raise DiskFull(str(error))
            raise NotServed(
                f"partition {number} is not served by this process"
                + ("" if error is None else f" at the moment: {error}")
            )
        return run.partition

    @property
    def served(self) -> list[int]:
        """The numbers of those that take commands here."""
        partitions = [run.partition for run in self._last.values() if run.partition is not None]
        return sorted(partition.number for partition in partitions if partition.serves)

    async def deliver(self, to: int, envelope: Envelope) -> int:
        run = self._last.get(unit_of(to))
        if run is not None and run.partition is not None:
            return await run.partition.receive(envelope)
        return await self.surroundings.deliver(to, envelope)

    async def ended(self) -> None:
        """When every partition that was to be closed is."""
        await asyncio.gather(*self._tasks.values())

    # ── the peer's wishes ────────────────────────────────────────────────────────────────────

    def start_unit(self, me: PeerId, start: StartUnit, tell: Tell) -> None:
        run = _Run(self, me, start, tell)
        previous = self._tasks.get(start.unit)
        self._runs[start.unit, start.epoch] = self._last[start.unit] = run
        task = asyncio.get_running_loop().create_task(run.live(previous))
        self._tasks[start.unit] = task
        task.add_done_callback(lambda _: self._forget(start, run, task))

    def stop_unit(self, stop: StopUnit, tell: Tell) -> None:
        run = self._runs.get((stop.unit, stop.epoch))
        if run is None:
            tell(UnitStopped(stop.pool, stop.unit, stop.epoch))
        else:
            run.stop(stop.reason)

    def loads(self, pool: str) -> dict[UnitId, int]:
        """Commands a minute since the last time."""
        now = time.monotonic()
        minutes = max(now - self._measured_at, 0.001) / 60
        self._measured_at = now
        return {unit: round(run.counted() / minutes) for unit, run in self._last.items()}

    def _forget(self, start: StartUnit, run: _Run, task: asyncio.Task[None]) -> None:
        """Unless the unit has been started again since, maybe under the same epoch."""
        if self._runs.get((start.unit, start.epoch)) is run:
            del self._runs[start.unit, start.epoch]
        if self._tasks.get(start.unit) is task:
            del self._tasks[start.unit]
            del self._last[start.unit]


async def found(log: ClusterLog, partitions: int = PARTITIONS) -> int:
    """Give the cluster its partitions if it has none; answers how many it has.

    Of two that do so at the same moment, with different numbers, the greater one holds.
    """
    pool = (await current(log)).pools.get(POOL)
    if pool is None or not pool.units:
        await ask(log, AddUnits(POOL, tuple(map(unit_of, range(partitions)))))
        pool = (await current(log)).pools[POOL]
    return len(pool.units)


def unit_of(number: int) -> UnitId:
    return f"{number:04}"


def number_of(unit: UnitId) -> int:
    return int(unit)


class _Run:
    """One time that a partition is given to this process; opened again when it breaks."""

    def __init__(self, host: Host, me: PeerId, start: StartUnit, tell: Tell) -> None:
        self.start = start
        self.partition: Partition | None = None
        self.error: RemudaError | None = None
        self._host = host
        self._me = me
        self._tell = tell
        self._number = number_of(start.unit)
        self._home = host.data / start.unit
        self._stopped = asyncio.Event()
        self._reason = ""
        self._counted = 0

    def stop(self, reason: str) -> None:
        """When this returns, nothing more is begun."""
        self._reason = reason
        self._stopped.set()
        if self.partition is not None:
            self.partition.stop(reason)

    def counted(self) -> int:
        """Commands since the last time."""
        before = self._counted
        self._counted = 0 if self.partition is None else self.partition.applied
        return max(self._counted - before, 0)

    async def live(self, previous: asyncio.Task[None] | None) -> None:
        """Runs of one partition follow each other, even across two lives of the peer."""
        if previous is not None:
            await asyncio.wait([previous])
        try:
            failure = await self._serve_on()
        except Exception as error:
            log.exception("partition %d is given up", self._number)
            failure = f"{type(error).__name__}: {error}"
        pool, unit, epoch = self.start.pool, self.start.unit, self.start.epoch
        if failure is None:
            self._tell(UnitStopped(pool, unit, epoch))
        else:
            self._tell(UnitFailed(pool, unit, epoch, failure))

    async def _serve_on(self) -> str | None:
        """Until it is stopped, or it is no use; answers why it is not."""
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, random.Random())
        failures = 0
        while not self._stopped.is_set():
            began = time.monotonic()
            self.error = await self._serve()
            if self._stopped.is_set():
                break
            if time.monotonic() - began > _PROVEN_S:
                failures = 0
                backoff.reset()
            # A lock is let go, and room is made: whoever is next would fare no better.
            if not isinstance(self.error, StoreLocked | DiskFull):
                failures += 1
            if failures == _ATTEMPTS:
                return str(self.error)
            log.warning("partition %d is not served: %s", self._number, self.error)
            await self._pause(backoff.next_s())
        return None

    async def _serve(self) -> RemudaError:
        """Until it is stopped or breaks; answers why."""
        try:
            store = await self._open()
        except RemudaError as error:
            return error
        partition = Partition(
            self._number,
            store,
            self._host.machines,
            deliver=self._host.deliver,
            on_effects=self._effects,
            limits=self._host.limits,
            clock=self._host.clock,
        )
        if self._stopped.is_set():
            partition.stop(self._reason)
            return await partition.ended()
        try:
            self._host.surroundings.opened(partition)
            self.partition = partition
            self._counted = 0
            partition.start()
            self._tell(UnitStarted(self.start.pool, self.start.unit, self.start.epoch))
            return await partition.ended()
        finally:
            self.partition = None
            partition.stop("it is given up here")
            await partition.ended()
            self._host.surroundings.closed(self._number)

    async def _open(self) -> RocksStore:
        """Waits for whoever still has the store open, and ends one that cannot let go."""
        path = self._home / "store"
        eviction = Eviction(self._home, path, self.start.epoch)
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, random.Random())
        while True:
            try:
                return await asyncio.to_thread(self._open_now, path)
            except StoreLocked:
                tenant = tenant_of(self._home)
                if self._stopped.is_set():
                    raise
                if tenant is not None and eviction.consider(
                    self._host.is_gone(tenant.peer), tenant
                ):
                    backoff.reset()
            await self._pause(backoff.next_s())

    def _open_now(self, path: Path) -> RocksStore:
        store = RocksStore.open(path, self.start.epoch)
        try:
            moved_in(self._home, self._me, self.start.epoch)
        except OSError as error:
            store.close()
            raise named(self._home, error) from error
        return store

    def _effects(self, machine: str, effects: Sequence[Effect]) -> None:
        self._host.surroundings.effects(self._number, machine, effects)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        except TimeoutError:
            pass
