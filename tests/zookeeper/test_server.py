"""A real ZooKeeper server, alone and in an ensemble: what it promises, and what it refuses."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient  # pyright: ignore[reportMissingTypeStubs]
from kazoo.exceptions import KazooException  # pyright: ignore[reportMissingTypeStubs]

from remuda.errors import DataDirUnusable, NoJava, PortInUse, RemudaError, ServerFailed
from remuda.zookeeper.ensemble import Ensemble
from remuda.zookeeper.java import major_version
from remuda.zookeeper.server import ZooKeeperServer
from remuda.zookeeper.server_log import telling_line
from remuda.zookeeper.zoo_cfg import Membership, PeerPorts, client_port, zoo_cfg

START_WITHIN_S = 30.0
LOOPBACK_IN_PROC = {"0100007F", "0000000000000000FFFF00000100007F"}

PARENT = """
import sys
from pathlib import Path
from remuda.zookeeper.server import ZooKeeperServer
server = ZooKeeperServer(Path(sys.argv[1]))
server.start()
print(server.pid, server.port, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[ZooKeeperServer]:
    """One for all tests that leave it running; its path has what paths may have."""
    with ZooKeeperServer(tmp_path_factory.mktemp("a sérver %d ${x}")) as started:
        yield started


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Generator[Ensemble]:
    with Ensemble(tmp_path_factory.mktemp("ensemble")) as started:
        yield started


@contextmanager
def client_of(address: str, timeout_s: float = 10.0) -> Generator[Any]:
    client: Any = KazooClient(hosts=address, timeout=timeout_s)
    client.start(timeout=START_WITHIN_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def eventually(condition: Callable[[], bool], within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while not (done := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return done


def has_ended(pid: int) -> bool:
    """Gone, or a zombie that its new parent has yet to reap."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def listening_addresses(pid: int) -> set[str]:
    """The addresses, as /proc writes them, on which a process listens."""
    sockets: set[str] = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            sockets.add(str(descriptor.readlink()))
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    listening = "0A"
    return {
        row[1].split(":")[0]
        for row in rows
        if row[3] == listening and f"socket:[{row[9]}]" in sockets
    }


def refuses(data_dir: Path, error: type[RemudaError], port: int | None = None) -> str:
    """What a start on `data_dir` says; one line, and nothing is left on disk."""
    existed = data_dir.exists()
    with pytest.raises(error) as refused:
        ZooKeeperServer(data_dir, port=port).start()
    assert data_dir.exists() == existed
    assert "\n" not in str(refused.value)
    return str(refused.value)


@contextmanager
def listener(port: int = 0) -> Generator[int]:
    with socket.create_server(("127.0.0.1", port)) as taken:
        yield taken.getsockname()[1]


# ── one server ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.integration
def test_a_started_server_serves(server: ZooKeeperServer) -> None:
    assert server.running
    assert server.mode() == "standalone"
    assert server.address == f"127.0.0.1:{server.port}"
    assert server.log_path.stat().st_size > 0


@pytest.mark.integration
def test_a_server_killed_and_started_again_has_its_port_and_its_data(
    server: ZooKeeperServer,
) -> None:
    address, pid = server.address, server.pid
    with client_of(address) as client:
        client.create("/kept", b"through a crash")
    server.kill()
    assert not server.running
    assert server.mode() is None
    server.start()
    assert server.address == address
    assert server.pid != pid
    with client_of(address) as client:
        assert client.get("/kept")[0] == b"through a crash"


@pytest.mark.integration
@pytest.mark.parametrize("timeout_s", [1.0, 60.0])
def test_short_and_long_session_timeouts_are_granted(
    server: ZooKeeperServer, timeout_s: float
) -> None:
    with client_of(server.address, timeout_s) as client:
        assert client._session_timeout == timeout_s * 1000


@pytest.mark.integration
def test_a_server_listens_on_loopback_only(server: ZooKeeperServer) -> None:
    assert server.pid is not None
    addresses = listening_addresses(server.pid)
    assert addresses
    assert addresses <= LOOPBACK_IN_PROC


@pytest.mark.integration
def test_a_servers_ctrl_c_is_not_that_of_its_parent(server: ZooKeeperServer) -> None:
    assert server.pid is not None
    assert os.getsid(server.pid) != os.getsid(0)


@pytest.mark.integration
def test_a_server_ends_when_its_parent_is_killed_and_another_takes_its_data_at_once(
    tmp_path: Path,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        pid, port = map(int, parent.stdout.readline().split())
        assert not has_ended(pid)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    with ZooKeeperServer(tmp_path) as successor:
        assert has_ended(pid)
        assert successor.port == port


@pytest.mark.integration
def test_a_port_that_somebody_else_has_taken_meanwhile_is_replaced(tmp_path: Path) -> None:
    server = ZooKeeperServer(tmp_path)
    server.start()
    server.stop()
    assert not server.running
    last = server.port
    with listener(last), server:
        assert server.port != last
        assert server.mode() == "standalone"


@pytest.mark.integration
def test_a_server_stops_at_any_time_and_twice(tmp_path: Path) -> None:
    server = ZooKeeperServer(tmp_path / "data")
    server.stop()
    server.spawn()
    server.stop()
    server.stop()
    assert not server.running


@pytest.mark.integration
def test_a_frozen_server_can_be_stopped(tmp_path: Path) -> None:
    server = ZooKeeperServer(tmp_path)
    server.spawn()
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    server.stop()
    assert not server.running


# ── an ensemble ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.integration
def test_an_ensemble_serves_on_when_its_leader_is_killed_and_takes_it_back(
    ensemble: Ensemble,
) -> None:
    modes = [server.mode() for server in ensemble.servers]
    assert sorted(map(str, modes)) == ["follower", "follower", "leader"]
    leader = ensemble.servers[modes.index("leader")]

    with client_of(ensemble.address) as client:
        client.create("/before", b"1")
        leader.kill()

        def written() -> bool:
            try:
                client.ensure_path("/after")
            except KazooException:
                return False
            return True

        assert eventually(written, within_s=20)
        assert client.get("/before")[0] == b"1"

    leader.start()
    assert leader.mode() == "follower"
    with client_of(leader.address) as client:
        client.sync("/")
        assert client.exists("/after")


@pytest.mark.integration
def test_every_server_of_an_ensemble_listens_on_loopback_only(ensemble: Ensemble) -> None:
    for server in ensemble.servers:
        assert server.pid is not None
        assert listening_addresses(server.pid) <= LOOPBACK_IN_PROC


def test_an_ensemble_has_no_address_before_it_is_started(tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match="has not been started"):
        _ = Ensemble(tmp_path).address


# ── what is refused ──────────────────────────────────────────────────────────────────────────


@pytest.mark.integration
def test_a_second_server_on_the_same_data_is_refused_and_told_who_has_it(
    server: ZooKeeperServer,
) -> None:
    said = refuses(server.data_dir, DataDirUnusable)
    assert str(server.data_dir) in said
    assert f"pid {server.pid}" in said
    assert refuses(server.data_dir, DataDirUnusable, port=server.port) == said
    assert server.mode() == "standalone"


@pytest.mark.integration
def test_a_port_in_use_is_refused_with_the_flag_that_chooses_another(tmp_path: Path) -> None:
    with listener() as port:
        said = refuses(tmp_path / "data", PortInUse, port)
    assert f"port {port} " in said
    assert "--zookeeper-port" in said


@pytest.mark.integration
def test_a_data_directory_that_cannot_be_made_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    below_a_file = tmp_path / "file" / "data"
    said = refuses(below_a_file, DataDirUnusable)
    assert str(below_a_file) in said
    assert "Not a directory" in said


@pytest.mark.integration
def test_no_directory_is_left_when_one_below_it_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(DataDirUnusable, match="File name too long"):
        ZooKeeperServer(tmp_path / "made" / ("x" * 300)).start()
    assert not (tmp_path / "made").exists()


def test_without_java_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    said = refuses(tmp_path / "data", NoJava)
    assert "apt install openjdk-17-jre-headless" in said
    assert "JAVA_HOME" in said


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"JAVA_HOME is {tmp_path}" in refuses(tmp_path / "data", NoJava)


def test_an_old_java_is_refused_by_its_version_and_java_home_comes_before_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("""#!/bin/sh\necho 'openjdk version "11.0.2" 2019-01-15' >&2\n""")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"{java} is Java 11" in refuses(tmp_path / "data", NoJava)


@pytest.mark.integration
def test_a_server_that_ends_while_it_starts_says_why_and_where_its_log_is(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "version-2").write_text("not a directory")
    server = ZooKeeperServer(tmp_path)
    with pytest.raises(ServerFailed) as failed:
        server.start()
    said = str(failed.value)
    assert "exit code 1" in said
    assert "version-2" in said
    assert str(server.log_path) in said


@pytest.mark.integration
def test_a_jvm_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match="Invalid maximum heap size"):
        ZooKeeperServer(tmp_path, heap_mb=-1).start()


@pytest.mark.integration
def test_a_server_that_takes_too_long_is_not_left_behind(tmp_path: Path) -> None:
    server = ZooKeeperServer(tmp_path)
    with pytest.raises(ServerFailed, match=r"does not serve after 0\.01 s"):
        server.start(timeout_s=0.01)
    assert not server.running


# ── the pure parts ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_392"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25-ea" 2025-09-16', 25),
        ("java: command not found", None),
    ],
)
def test_the_major_version_is_read_from_what_java_prints(printed: str, version: int | None) -> None:
    assert major_version(printed) == version


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("", "it logged nothing"),
        ("INFO one\nINFO two\n\n", "INFO two"),
        (
            "12:00 ERROR [main] exiting\njava.net.BindException: in use\n\tat Net.bind\n"
            "12:01 ERROR [main] Exiting JVM with code 1\n",
            "java.net.BindException: in use",
        ),
        (
            "java.io.IOException: load\n\tat Db\nCaused by: java.io.EOFException\n\t... 3 more\n",
            "Caused by: java.io.EOFException",
        ),
        ("12:00 ERROR [main] bad myid\n12:00 INFO  [main] bye\n", "12:00 ERROR [main] bad myid"),
        (
            "Invalid maximum heap size: -Xmx-1m\nError: Could not create the JVM.\n",
            "Invalid maximum heap size: -Xmx-1m",
        ),
    ],
)
def test_the_telling_line_is_the_last_that_names_an_error(log: str, line: str) -> None:
    assert telling_line(log) == line


def test_a_servers_port_is_found_again_in_its_configuration() -> None:
    assert client_port(zoo_cfg(2181, tick_ms=200)) == 2181
    assert client_port("clientPort=") is None


def test_members_of_an_ensemble_know_each_others_ports() -> None:
    cfg = zoo_cfg(2181, 200, Membership(2, (PeerPorts(1, 2), PeerPorts(3, 4)))).splitlines()
    assert {"server.1=127.0.0.1:1:2", "server.2=127.0.0.1:3:4"} <= set(cfg)
