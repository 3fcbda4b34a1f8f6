"""Following a log from where it starts, across any gc that overtakes the reader."""

from __future__ import annotations

from collections.abc import AsyncIterator

from remuda.errors import Collected
from remuda.log.port import ClusterLog, Origin, Placed

READ_LIMIT = 512


async def follow(log: ClusterLog, start: int | None = None) -> AsyncIterator[Origin | list[Placed]]:
    """What a reader has to play, for ever: batches of entries, in order.

    An origin comes first when there is one and `start` is None, and again whenever a gc has
    removed what would have come next: the reader drops its state and takes the origin's.
    """
    position = 0 if start is None else start
    if start is None:
        origin = await log.origin()
        if origin is not None:
            yield origin
            position = origin.position + 1
    while True:
        try:
            batch = await log.read(position, READ_LIMIT)
        except Collected:
            origin = await log.origin()
            assert origin is not None
            yield origin
            position = origin.position + 1
            continue
        if batch:
            yield batch
            position += len(batch)
        else:
            await log.wait(position)
