"""Speaking to an outside ensemble: addresses, credentials, TLS."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import Awaitable
from pathlib import Path

import pytest

from remuda.config import Config
from remuda.errors import AccessDenied, BadAddress, BadConfig, Unreachable
from remuda.zookeeper.address import DEFAULT_CHROOT, Address
from remuda.zookeeper.connection import Connection, Credentials
from remuda.zookeeper.locate import credentials_of
from remuda.zookeeper.server import ZooKeeperServer


def run(test: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await test

    asyncio.run(bounded())


@pytest.mark.parametrize(
    ("text", "hosts", "chroot"),
    [
        ("zk", ("zk:2181",), DEFAULT_CHROOT),
        ("a:1,b:2/x/y", ("a:1", "b:2"), "/x/y"),
        (" a:1 , b:2/ ", ("a:1", "b:2"), DEFAULT_CHROOT),
        ("[::1]:2181/x/", ("[::1]:2181",), "/x"),
    ],
)
def test_an_address_is_hosts_with_ports_and_maybe_a_chroot(
    text: str, hosts: tuple[str, ...], chroot: str
) -> None:
    address = Address.parse(text)
    assert (address.hosts, address.chroot) == (hosts, chroot)
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    "text", ["", ",", "a:b", "a:0", "a:65536", "a b:1", "a:1/x//y", "a:1/../x"]
)
def test_what_is_no_address_is_refused_with_the_way_to_write_one(text: str) -> None:
    with pytest.raises(BadAddress, match="host:port,host:port/chroot"):
        Address.parse(text)


def test_credentials_that_cannot_be_read_are_refused() -> None:
    assert credentials_of(Config(zookeeper_auth="digest:me:secret")).auth == (
        ("digest", "me:secret"),
    )
    with pytest.raises(BadConfig, match="scheme:credential"):
        credentials_of(Config(zookeeper_auth="digest"))


@pytest.mark.integration
def test_what_is_written_with_credentials_is_closed_to_others(zookeeper: ZooKeeperServer) -> None:
    async def test() -> None:
        address = Address.parse(f"{zookeeper.address}/closed")
        mine = Credentials(auth=(("digest", "me:secret"),))
        owner = await Connection.open(address, 4.0, mine, create_chroot=True)
        await owner.ensure("/x", b"private")
        stranger = await Connection.open(Address((zookeeper.address,), chroot=""), 4.0)
        with pytest.raises(AccessDenied, match="--zookeeper-auth"):
            await stranger.get("/closed/x")
        with pytest.raises(AccessDenied):
            await stranger.get_many(["/closed/x"])
        friend = await Connection.open(address, 4.0, mine)
        assert await friend.get_many(["/x"]) == [b"private"]
        for connection in (owner, stranger, friend):
            await connection.close()

    run(test())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate that signs itself, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    try:
        subprocess.run(
            [*command, "-keyout", str(folder / "key"), "-out", str(folder / "cert")],
            check=True,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    both = folder / "both.pem"
    both.write_text((folder / "cert").read_text() + (folder / "key").read_text())
    return both


@pytest.mark.integration
def test_tls_is_spoken_and_the_servers_certificate_is_checked(
    zookeeper: ZooKeeperServer, certificate: Path, tmp_path: Path
) -> None:
    """The embedded server speaks no TLS, so a TLS end in front of it does."""

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", zookeeper.port)
        await asyncio.gather(
            forward(reader, up_writer), forward(up_reader, writer), return_exceptions=True
        )

    async def test() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        address = Address.parse(f"127.0.0.1:{port}/secured")
        trusted = Credentials(tls=True, tls_ca=str(certificate))
        connection = await Connection.open(address, 4.0, trusted, create_chroot=True)
        assert await connection.ensure("/x", b"secret")
        await connection.close()
        for credentials in (Credentials(), Credentials(tls=True)):
            with pytest.raises(Unreachable):
                await Connection.open(address, 4.0, credentials, connect_timeout_s=1.0)
        server.close()

    run(test())
