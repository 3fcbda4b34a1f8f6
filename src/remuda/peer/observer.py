"""Looking at a cluster without being part of it: what the CLI and dashboards do."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from remuda.clock import SystemClock
from remuda.config import Config
from remuda.errors import Collected, RemudaError
from remuda.log.port import ClusterLog, Origin
from remuda.log.subscription import READ_LIMIT, follow
from remuda.log.zookeeper import ZooKeeperLog
from remuda.peer.names import new_entry_id
from remuda.replica.commands import AnyCommand, Gc
from remuda.replica.entry import entry_of, record_of
from remuda.replica.fold import Played, play
from remuda.replica.state import Replica, decode_replica, encode_replica
from remuda.zookeeper.connection import Connection
from remuda.zookeeper.locate import credentials_of, locate


@asynccontextmanager
async def opened_log(config: Config) -> AsyncGenerator[tuple[Connection, ZooKeeperLog]]:
    """The log of the cluster that the configuration means, and the connection to it. Reading
    changes nothing."""
    connection = await Connection.open(
        locate(config),
        config.session_timeout_s,
        credentials_of(config),
        connect_timeout_s=config.connect_timeout_s,
    )
    try:
        yield connection, await ZooKeeperLog.find(connection)
    finally:
        await connection.close()


@asynccontextmanager
async def cluster_log(config: Config) -> AsyncGenerator[ZooKeeperLog]:
    async with opened_log(config) as (_, log):
        yield log


async def start_of(log: ClusterLog) -> Replica:
    """Where playing starts: the origin's replica, or the empty one."""
    origin = await log.origin()
    return Replica() if origin is None else decode_replica(origin.state)


async def plays(log: ClusterLog, replica: Replica, end: int) -> AsyncIterator[Played]:
    """Each entry after the replica's up to but not including `end`, played."""
    while replica.position + 1 < end:
        batch = await log.read(replica.position + 1, min(READ_LIMIT, end - replica.position - 1))
        if not batch:
            return
        for placed in batch:
            played = play(replica, entry_of(placed))
            replica = played.replica
            yield played


async def current(log: ClusterLog) -> Replica:
    """What the log amounts to now; read anew if a gc overtakes the reading."""
    while True:
        try:
            replica = await start_of(log)
            async for played in plays(log, replica, await log.end()):
                replica = played.replica
            return replica
        except Collected:
            continue


async def as_of(log: ClusterLog, position: int) -> Replica:
    """What the log amounted to after the entry at `position`."""
    replica = await start_of(log)
    if position < replica.position:
        raise Collected(
            f"entry {position} has been collected: the oldest state that can be shown is that of "
            f"entry {replica.position}",
            replica.position,
        )
    end = await log.end()
    if position >= end:
        raise RemudaError(f"there is no entry {position} yet: the last one is {end - 1}")
    async for played in plays(log, replica, position + 1):
        replica = played.replica
    return replica


async def ask(log: ClusterLog, command: AnyCommand) -> Played:
    """Append a command as an operator, and answer what came of it."""
    record = record_of(
        command,
        entry_id=new_entry_id(random.Random()),
        by=f"operator@{socket.gethostname()}:{os.getpid()}",
        at_ms=SystemClock().wall_ms(),
    )
    position = await log.append(record)
    before = await as_of(log, position - 1) if position else Replica()
    async for played in plays(log, before, position + 1):
        return played
    raise AssertionError(f"entry {position} was appended and cannot be read")


async def following(log: ClusterLog) -> AsyncIterator[Replica | Played]:
    """Every entry as it comes, for ever; a replica alone where an origin was taken."""
    replica = Replica()
    async for news in follow(log):
        if isinstance(news, Origin):
            replica = decode_replica(news.state)
            yield replica
            continue
        for placed in news:
            played = play(replica, entry_of(placed))
            replica = played.replica
            yield played


async def collect(log: ClusterLog) -> tuple[int, int]:
    """Append a gc, keep what the log amounts to at that entry, and trim.

    Answers the gc's position and how many entries were trimmed.
    """
    # A log that cannot be read must not be written to either.
    await current(log)
    try:
        replica = (await ask(log, Gc())).replica
    except Collected as error:
        # Another gc came in between, and covers more than ours would have.
        return error.origin, 0
    await log.set_origin(Origin(replica.position, encode_replica(replica)))
    return replica.position, await log.trim()
