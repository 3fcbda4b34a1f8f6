"""Bringing what a partition has sent to where it belongs.

An envelope is sent until the receiver says how far it has come, so it may arrive twice; the
numbers in it tell the receiver what is new. What has arrived is taken out of the outbox.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from remuda.partition.fold import Parcel, outbox
from remuda.partition.overlay import Reads
from remuda.peer.backoff import Backoff

log = logging.getLogger("remuda.partition")

_PARCELS_MAX = 256
_BYTES_MAX = 1 << 20
_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.02, 5.0


class Envelope(Struct, frozen=True):
    """Some of what one partition has sent to another, in the order of sending."""

    sender: int
    parcels: tuple[Parcel, ...]


Deliver: TypeAlias = Callable[[int, Envelope], Awaitable[int]]
"""Bring an envelope to the owner of a partition: `Partition.receive` there, and its answer.
Raises whatever it likes when that fails: it is tried again."""


class Courier:
    """For one addressee: works while something waits in the store, and rests otherwise."""

    def __init__(
        self, sender: int, to: int, store: Reads, deliver: Deliver, ack: Callable[[int, int], None]
    ) -> None:
        self._sender = sender
        self._to = to
        self._store = store
        self._deliver = deliver
        self._ack = ack
        self._arrived = 0
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """There is something new in the store."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, random.Random())
        while parcels := self._waiting():
            if await self._bring(parcels):
                backoff.reset()
            else:
                await asyncio.sleep(backoff.next_s())

    async def _bring(self, parcels: tuple[Parcel, ...]) -> bool:
        """Whether anything of it has arrived."""
        try:
            heard = await self._deliver(self._to, Envelope(self._sender, parcels))
        except Exception as error:
            log.debug("partition %d → %d: %s; trying again", self._sender, self._to, error)
            return False
        first, last = parcels[0].number, parcels[-1].number
        if heard < first:
            if heard < first - 1:
                log.error(
                    "partition %d has forgotten what it had of partition %d: it is at number %d, "
                    "and all up to %d had arrived; was an old snapshot put in its place?",
                    self._to,
                    self._sender,
                    heard,
                    first - 1,
                )
            return False
        self._arrived = min(heard, last)
        self._ack(self._to, self._arrived)
        return True

    def _waiting(self) -> tuple[Parcel, ...]:
        """What comes next, as much as fits one envelope; one parcel always does."""
        found: list[Parcel] = []
        size = 0
        for parcel in islice(outbox(self._store, self._to, self._arrived), _PARCELS_MAX):
            size += len(parcel.command)
            if found and size > _BYTES_MAX:
                break
            found.append(parcel)
        return tuple(found)
