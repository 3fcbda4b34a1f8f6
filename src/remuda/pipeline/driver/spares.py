"""Warm drivers, kept for the next job."""

from __future__ import annotations

import asyncio
import contextlib
import random

from remuda.errors import RemudaError
from remuda.peer.backoff import Backoff
from remuda.pipeline.driver.supervisor import Driver, DriverFailed, Launch, sweep

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0


class Spares:
    """So many drivers are warm or on their way, and never more; those that were taken aside.

    For the main thread, as drivers are, in a running loop.
    """

    def __init__(self, launch: Launch, *, keep: int = 1) -> None:
        self._launch = launch
        self._keep = keep
        self._kept: dict[Driver, asyncio.Task[None]] = {}
        self._refilling: asyncio.TimerHandle | None = None
        self._backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S, random.Random())
        self._closed = False
        sweep(launch.home)
        self._fill()

    @property
    def kept(self) -> list[Driver]:
        """Those that nobody has taken yet, the oldest first."""
        return list(self._kept)

    def keep(self, count: int) -> None:
        """From now on so many."""
        self._keep = count
        self._fill()

    def take(self) -> Driver:
        """One that is warm if there is any, else the one that will be warm first; it is the
        caller's to end. The next one is started."""
        if self._closed:
            raise DriverFailed("this node stops: it starts no more drivers")
        living = [driver for driver in self._kept if driver.alive]
        taken = next((driver for driver in living if driver.is_warm), next(iter(living), None))
        if taken is None:
            taken = Driver(self._launch)
        else:
            self._kept.pop(taken).cancel()
        self._fill()
        return taken

    async def close(self) -> None:
        """End all that nobody has taken."""
        self._closed = True
        if self._refilling is not None:
            self._refilling.cancel()
        drivers, watches = list(self._kept), list(self._kept.values())
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        await asyncio.gather(*(driver.end() for driver in drivers))
        self._kept.clear()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _fill(self) -> None:
        """Unless one has just died: then after a pause that grows until one gets warm."""
        while not self._closed and self._refilling is None and len(self._kept) < self._keep:
            try:
                driver = Driver(self._launch)
            except DriverFailed:
                self._pause()
                return
            self._kept[driver] = asyncio.create_task(self._watch(driver))

    async def _watch(self, driver: Driver) -> None:
        with contextlib.suppress(RemudaError):
            await driver.ready()
            self._backoff.reset()
            await driver.gone()
        del self._kept[driver]
        self._pause()

    def _pause(self) -> None:
        if self._refilling is None:
            loop = asyncio.get_running_loop()
            self._refilling = loop.call_later(self._backoff.next_s(), self._refill)

    def _refill(self) -> None:
        self._refilling = None
        self._fill()
