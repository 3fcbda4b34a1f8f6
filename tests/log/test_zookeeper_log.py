"""The log on a real ZooKeeper, when connections and servers do not behave."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Raw

from remuda.config import Config
from remuda.errors import (
    AppendUncertain,
    ChrootMissing,
    CorruptEntry,
    MissingEntry,
    Unreachable,
)
from remuda.log.port import Origin
from remuda.log.record import Record
from remuda.log.zookeeper import ZooKeeperLog
from remuda.zookeeper.address import Address
from remuda.zookeeper.connection import Connection
from remuda.zookeeper.ensemble import Ensemble
from remuda.zookeeper.server import ZooKeeperServer

pytestmark = pytest.mark.integration


def record(name: str) -> Record:
    return Record(name, "tester", 0, Raw(b'{"type":"void"}'))


def address_of(config: Config) -> Address:
    assert config.zookeeper is not None
    return Address.parse(config.zookeeper)


@asynccontextmanager
async def opened(address: Address) -> AsyncGenerator[tuple[ZooKeeperLog, Connection]]:
    connection = await Connection.open(address, 4.0, create_chroot=True)
    try:
        yield await ZooKeeperLog.open(connection), connection
    finally:
        await connection.close()


def run(test: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(90):
            await test

    asyncio.run(bounded())


async def ids(log: ZooKeeperLog) -> list[str]:
    found: list[str] = []
    start = position = await log.first()
    while batch := await log.read(position, 1000):
        found += [one.record.id for one in batch]
        position = start + len(found)
    return found


class Proxy:
    """A wire between client and server that breaks on command."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.pass_requests = True
        self.pass_answers = True

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[Proxy]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.cut()

    def cut(self) -> None:
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        self._writers |= {writer, up_writer}
        await asyncio.gather(
            self._pump(reader, up_writer, lambda: self.pass_requests),
            self._pump(up_reader, writer, lambda: self.pass_answers),
        )

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        passes: Callable[[], bool],
    ) -> None:
        try:
            while data := await reader.read(65536):
                if passes():
                    writer.write(data)
        except ConnectionError:
            pass
        finally:
            writer.close()


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_an_append_that_is_cut_off_is_written_exactly_once(
    config: Config, zookeeper: ZooKeeperServer, lost: str
) -> None:
    async def test() -> None:
        async with Proxy(zookeeper.port).listening() as wire:
            address = Address((f"127.0.0.1:{wire.port}",), address_of(config).chroot, False)
            async with opened(address) as (log, _), opened(address_of(config)) as (direct, _):
                await log.append(record("before"))
                for number in range(5):
                    wire.pass_requests = lost != "request"
                    wire.pass_answers = lost != "answer"
                    appending = asyncio.create_task(log.append(record(f"cut-{number}")))
                    if lost == "answer":
                        await direct.wait(number + 1)
                    else:
                        await asyncio.sleep(0.1)
                    wire.cut()
                    wire.pass_requests = wire.pass_answers = True
                    assert await appending == number + 1
                assert await ids(direct) == ["before", *(f"cut-{n}" for n in range(5))]

    run(test())


def test_an_append_whose_fate_was_collected_is_not_written_again(
    config: Config, zookeeper: ZooKeeperServer
) -> None:
    async def test() -> None:
        async with Proxy(zookeeper.port).listening() as wire:
            address = Address((f"127.0.0.1:{wire.port}",), address_of(config).chroot, False)
            async with opened(address) as (log, _), opened(address_of(config)) as (direct, _):
                await log.append(record("before"))
                wire.pass_answers = False
                appending = asyncio.create_task(log.append(record("cut")))
                await direct.wait(1)
                await direct.append(record("after"))
                await direct.set_origin(Origin(1, b"state"))
                await direct.trim()
                wire.cut()
                wire.pass_answers = True
                with pytest.raises(AppendUncertain):
                    await appending
                assert await ids(direct) == ["after"]

    run(test())


def test_appends_under_kill_9_of_the_server_are_answered_once_each(tmp_path: Path) -> None:
    async def test(server: ZooKeeperServer) -> None:
        address = Address.parse(server.address)
        async with opened(address) as (log, _):
            names = [f"n-{n}" for n in range(300)]
            appending = [asyncio.create_task(log.append(record(name))) for name in names]
            await log.wait(20)
            server.kill()
            await asyncio.to_thread(server.start)
            positions = await asyncio.gather(*appending)
            found = await ids(log)
            assert sorted(found) == sorted(names)
            assert [found[position] for position in positions] == names

    with ZooKeeperServer(tmp_path / "zookeeper") as server:
        run(test(server))


def test_nothing_is_lost_when_an_ensemble_loses_its_leader(tmp_path: Path) -> None:
    async def test(ensemble: Ensemble) -> None:
        async with opened(Address.parse(ensemble.address)) as (log, _):
            answered: list[str] = []
            for number in range(60):
                if number == 20:
                    leader = next(s for s in ensemble.servers if s.mode() == "leader")
                    leader.kill()
                await log.append(record(f"n-{number}"))
                answered.append(f"n-{number}")
            assert await ids(log) == answered

    with Ensemble(tmp_path) as ensemble:
        run(test(ensemble))


def test_a_state_larger_than_a_znode_makes_an_origin_in_parts(config: Config) -> None:
    async def test() -> None:
        async with opened(address_of(config)) as (log, connection):
            state = os.urandom(3_000_000)
            for number in range(4):
                await log.append(record(f"n-{number}"))
            await log.set_origin(Origin(1, b"small"))
            await log.set_origin(Origin(2, state))
            assert await log.origin() == Origin(2, state)
            await log.trim()
            assert await log.origin() == Origin(2, state)
            assert len(await connection.list("/origins")) == 4

    run(test())


def test_a_trim_that_was_interrupted_is_finished_by_the_next(config: Config) -> None:
    async def test() -> None:
        async with opened(address_of(config)) as (log, connection):
            for number in range(10):
                await log.append(record(f"n-{number}"))
            await log.set_origin(Origin(5, b"five"))
            # As a trimmer leaves it that dies after its first deletes.
            await connection.delete_many(["/log/e-0000000000", "/log/e-0000000001"])
            await log.set_origin(Origin(8, b"eight"))
            await log.trim()
            assert (await connection.children("/log")).present == 1
            assert await ids(log) == ["n-9"]

    run(test())


def test_a_corrupt_entry_stops_readers_until_it_is_voided(config: Config) -> None:
    async def test() -> None:
        async with opened(address_of(config)) as (log, connection):
            await log.append(record("good"))
            await connection.create("/log/e-", b"\xffjunk", sequence=True)
            await log.append(record("also good"))
            assert [one.record.id for one in await log.read(0, 10)] == ["good"]
            with pytest.raises(CorruptEntry, match=r"entry 1 .* --void 1"):
                await log.read(1, 10)
            with pytest.raises(CorruptEntry, match="entry 0 is not corrupt"):
                await log.void(0)
            await log.void(1)
            assert await ids(log) == ["good", "void-1", "also good"]

    run(test())


def test_an_entry_that_somebody_deleted_is_missed(config: Config) -> None:
    async def test() -> None:
        async with opened(address_of(config)) as (log, connection):
            for number in range(3):
                await log.append(record(f"n-{number}"))
            await connection.delete_many(["/log/e-0000000001"])
            with pytest.raises(MissingEntry, match="entry 1"):
                await log.read(1, 10)
            with pytest.raises(MissingEntry, match="no entry 7"):
                await log.void(7)

    run(test())


def test_a_chroot_that_a_user_names_must_exist(zookeeper: ZooKeeperServer) -> None:
    async def test() -> None:
        address = Address.parse(f"{zookeeper.address}/no/such/place")
        with pytest.raises(ChrootMissing, match="/no/such/place does not exist"):
            await Connection.open(address, 4.0)
        connection = await Connection.open(Address((zookeeper.address,), chroot=""), 4.0)
        try:
            assert not await connection.exists("/no")
        finally:
            await connection.close()

    run(test())


def test_an_address_where_nobody_listens_is_reported(unused_tcp_port: int) -> None:
    async def test() -> None:
        with pytest.raises(Unreachable, match=f"127.0.0.1:{unused_tcp_port}"):
            await Connection.open(
                Address.parse(f"127.0.0.1:{unused_tcp_port}"), 4.0, connect_timeout_s=0.5
            )

    run(test())
