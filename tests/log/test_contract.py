"""What every cluster log promises, asked of both kinds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from msgspec import Raw

from remuda.config import Config
from remuda.errors import Collected, EntryTooLarge
from remuda.log.memory import MemoryLog
from remuda.log.port import ClusterLog, Origin, Placed
from remuda.log.record import Record
from remuda.log.subscription import follow
from remuda.log.zookeeper import ZooKeeperLog
from remuda.zookeeper.address import Address
from remuda.zookeeper.connection import Connection

OpenLog = Callable[[], AbstractAsyncContextManager[ClusterLog]]


def record(number: int, payload: str = "") -> Record:
    return Record(
        f"id-{number}", "tester", number, Raw(f'{{"n":{number},"p":"{payload}"}}'.encode())
    )


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.integration)])
def open_log(request: pytest.FixtureRequest) -> OpenLog:
    """Opens the test's log; for ZooKeeper, each time by a session of its own."""
    memory = MemoryLog()

    @asynccontextmanager
    async def open_memory() -> AsyncGenerator[ClusterLog]:
        yield memory

    @asynccontextmanager
    async def open_zookeeper() -> AsyncGenerator[ClusterLog]:
        assert config.zookeeper is not None
        connection = await Connection.open(
            Address.parse(config.zookeeper), config.session_timeout_s, create_chroot=True
        )
        try:
            yield await ZooKeeperLog.open(connection)
        finally:
            await connection.close()

    if request.param == "memory":
        return open_memory
    config: Config = request.getfixturevalue("config")
    return open_zookeeper


def asking(open_log: OpenLog, test: Callable[[ClusterLog], Awaitable[None]]) -> None:
    async def run() -> None:
        async with open_log() as log, asyncio.timeout(60):
            await test(log)

    asyncio.run(run())


def test_appends_are_numbered_without_gaps_and_read_back_in_order(open_log: OpenLog) -> None:
    async def test(log: ClusterLog) -> None:
        assert await log.end() == 0
        assert await log.read(0, 10) == []
        for number in range(30):
            assert await log.append(record(number)) == number
        assert await log.end() == 30
        assert await log.read(5, 7) == [Placed(n, record(n)) for n in range(5, 12)]
        assert await log.read(30, 7) == []

    asking(open_log, test)


def test_a_record_is_written_once_for_each_append_however_many_append_at_once(
    open_log: OpenLog,
) -> None:
    async def test(log: ClusterLog) -> None:
        positions = await asyncio.gather(*(log.append(record(n)) for n in range(200)))
        assert sorted(positions) == list(range(200))
        found: list[Placed] = []
        while batch := await log.read(len(found), 1000):
            found += batch
        assert {one.record.id: one.position for one in found} == {
            f"id-{n}": position for n, position in enumerate(positions)
        }

    asking(open_log, test)


def test_waiting_ends_when_the_entry_comes(open_log: OpenLog) -> None:
    async def test(log: ClusterLog) -> None:
        waiting = asyncio.create_task(log.wait(1))
        await log.append(record(0))
        await asyncio.sleep(0)
        assert not waiting.done()
        await log.append(record(1))
        await waiting
        await log.wait(0)

    asking(open_log, test)


def test_the_origin_only_moves_forward(open_log: OpenLog) -> None:
    async def test(log: ClusterLog) -> None:
        for number in range(10):
            await log.append(record(number))
        assert await log.origin() is None
        assert await log.set_origin(Origin(4, b"four"))
        assert not await log.set_origin(Origin(3, b"three"))
        assert not await log.set_origin(Origin(4, b"four"))
        assert await log.origin() == Origin(4, b"four")
        assert await log.set_origin(Origin(7, b"seven"))
        assert await log.origin() == Origin(7, b"seven")

    asking(open_log, test)


def test_trimming_removes_what_the_origin_covers_and_nothing_else(open_log: OpenLog) -> None:
    async def test(log: ClusterLog) -> None:
        for number in range(10):
            await log.append(record(number))
        assert await log.trim() == 0
        await log.set_origin(Origin(6, b"six"))
        assert await log.trim() == 7
        assert await log.trim() == 0
        assert await log.first() == 7
        with pytest.raises(Collected) as raised:
            await log.read(3, 10)
        assert raised.value.origin == 6
        assert [one.position for one in await log.read(7, 10)] == [7, 8, 9]
        assert await log.append(record(10)) == 10

    asking(open_log, test)


def test_a_follower_sees_every_entry_once_and_takes_the_origin_when_it_fell_behind(
    open_log: OpenLog,
) -> None:
    async def test(log: ClusterLog) -> None:
        for number in range(5):
            await log.append(record(number))
        news = follow(log)
        assert await anext(news) == [Placed(n, record(n)) for n in range(5)]
        for number in range(5, 20):
            await log.append(record(number))
        await log.set_origin(Origin(17, b"all up to 17"))
        await log.trim()
        assert await anext(news) == Origin(17, b"all up to 17")
        assert await anext(news) == [Placed(18, record(18)), Placed(19, record(19))]
        coming = asyncio.ensure_future(anext(news))
        await log.append(record(20))
        assert await coming == [Placed(20, record(20))]

    asking(open_log, test)


def test_a_new_follower_starts_at_the_origin(open_log: OpenLog) -> None:
    async def test(log: ClusterLog) -> None:
        for number in range(4):
            await log.append(record(number))
        await log.set_origin(Origin(2, b"two"))
        news = follow(log)
        assert await anext(news) == Origin(2, b"two")
        assert await anext(news) == [Placed(3, record(3))]

    asking(open_log, test)


def test_a_record_that_is_too_large_is_refused_and_nothing_is_written(open_log: OpenLog) -> None:
    async def test(log: ClusterLog) -> None:
        with pytest.raises(EntryTooLarge):
            await log.append(record(0, "x" * 1_100_000))
        assert await log.append(record(1, "x" * 900_000)) == 0
        assert await log.read(0, 10) == [Placed(0, record(1, "x" * 900_000))]

    asking(open_log, test)
