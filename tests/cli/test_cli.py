"""The command line as a script and as a person use it, bad input included."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.config import Config
from remuda.zookeeper.address import Address
from remuda.zookeeper.connection import Connection
from remuda.zookeeper.server import ZooKeeperServer
from tests.cli.commands import asked, asked_lines, complaint, remuda

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster of three in the background."""
    data = tmp_path_factory.mktemp("cli") / "data"
    told = asked("up", "--detach", "--data", str(data), "--session-timeout", "2", "--peers", "3")
    assert len(told["peers"]) == 3
    yield data
    pids = [told["pid"], *told["peers"]]
    assert asked("down", "--data", str(data))["stopped"] == told["pid"]
    assert [pid for pid in pids if is_running(pid)] == []


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_status_tells_who_is_here_and_who_watches_whom(up: Path) -> None:
    status = asked("status", "--check", "--data", str(up))
    assert status["position"] >= 6
    peers = {peer["id"]: peer for peer in status["peers"]}
    assert len(peers) == 3
    for peer in peers.values():
        assert peer["state"] == "member"
        assert peer["host"] == socket.gethostname()
        assert Path(f"/proc/{peer['pid']}").exists()
        assert peer["watches"] in peers
    assert {peer["watches"] for peer in peers.values()} == set(peers)


def test_status_for_people_names_every_peer(up: Path) -> None:
    shown = remuda("status", "--data", str(up)).stdout
    assert "3 members" in shown
    for peer in asked("status", "--data", str(up))["peers"]:
        assert peer["id"] in shown


def test_the_log_can_be_read_in_whole_and_as_of_any_entry(up: Path) -> None:
    entries = asked_lines("log", "--data", str(up))
    assert [entry["position"] for entry in entries] == list(range(len(entries)))
    assert entries[0]["command"]["type"] == "prepare-join"
    assert entries[0]["facts"][0]["type"] == "member-joined"
    first = asked("log", "--at", "0", "--data", str(up))
    assert [peer["id"] for peer in first["peers"]] == [entries[0]["by"]]
    assert len(asked_lines("log", "--tail", "2", "--data", str(up))) == 2
    assert "prepare-join" in remuda("log", "--data", str(up)).stdout


def test_following_the_log_goes_on_until_it_is_interrupted(up: Path) -> None:
    # What a shell starts in the background ignores SIGINT, and so do its children.
    listening = ["env", "--default-signal=INT", sys.executable, "-m", "remuda.cli.main"]
    following = subprocess.Popen(
        [*listening, "log", "--follow", "--json", "--data", str(up)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    seen = json.loads(following.stdout.readline())["position"]
    gc = asked("gc", "--data", str(up))
    while seen < gc["position"]:
        seen = json.loads(following.stdout.readline())["position"]
    following.send_signal(2)
    _, errors = following.communicate(timeout=30)
    assert following.returncode == 130
    assert errors == ""


def test_what_a_gc_collected_is_gone_and_said_to_be(up: Path) -> None:
    before = asked("status", "--data", str(up))
    gc = asked("gc", "--data", str(up))
    assert gc["trimmed"] > 0
    after = asked("status", "--data", str(up))
    assert after["peers"] == before["peers"]
    assert after["collected"] == gc["position"]
    line = complaint("log", "--at", "1", "--data", str(up))
    assert "entry 1 has been collected" in line
    assert str(gc["position"]) in line
    assert "there is no entry 99999 yet" in complaint("log", "--at", "99999", "--data", str(up))


def test_a_second_cluster_on_the_same_data_is_refused(up: Path) -> None:
    for words in (("up", "--detach"), ("up",)):
        assert "in use by" in (line := complaint(*words, "--data", str(up))) or "already" in line
    assert len(asked("status", "--data", str(up))["peers"]) == 3


# ── bad input: one clear line, and nothing changed ───────────────────────────────────────────


def test_no_cluster_on_the_data_directory(tmp_path: Path) -> None:
    for verb in ("status", "log", "gc", "peer"):
        assert "start one with `remuda up`" in complaint(verb, "--data", str(tmp_path / "none"))
    assert "no cluster runs on" in complaint("down", "--data", str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_an_address_that_nobody_listens_on(unused_tcp_port: int) -> None:
    line = complaint(
        "status", "--zookeeper", f"127.0.0.1:{unused_tcp_port}", "--connect-timeout", "0.5"
    )
    assert f"no ZooKeeper answers at 127.0.0.1:{unused_tcp_port}" in line


@pytest.mark.parametrize("address", ["", "host:port", "host:99999", "a b", "host:2181//x", "h:1,"])
def test_an_address_that_cannot_be_read(address: str) -> None:
    assert "host:port,host:port/chroot" in complaint("peer", "--zookeeper", address)


def test_a_chroot_that_does_not_exist(zookeeper: ZooKeeperServer) -> None:
    for verb in ("peer", "status"):
        line = complaint(verb, "--zookeeper", f"{zookeeper.address}/no/such")
        assert "chroot /no/such does not exist" in line
        assert "--create" in line


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        for extra in ([], ["--detach"]):
            line = complaint(
                "up", "--data", str(tmp_path / "data"), "--zookeeper-port", port, *extra
            )
            assert f"port {port}" in line
            assert "--zookeeper-port" in line
    assert not (tmp_path / "data").exists()


def test_no_java(tmp_path: Path) -> None:
    line = complaint(
        "up", "--data", str(tmp_path / "data"), environment={"PATH": "", "JAVA_HOME": ""}
    )
    assert "openjdk-17-jre-headless" in line
    assert not (tmp_path / "data").exists()


def test_a_data_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    line = complaint("up", "--data", str(tmp_path / "file" / "data"))
    assert "--data" in line


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--session-timeout", "soon"), "session_timeout cannot be `soon`"),
        (("--session-timeout", "-1"), "session_timeout cannot be `-1`"),
        (("--gc-entries", "0"), "gc_entries cannot be `0`"),
        (("--zookeeper-auth", "nonsense"), "scheme:credential"),
    ],
)
def test_an_option_that_cannot_be(words: tuple[str, ...], hint: str) -> None:
    assert hint in complaint("peer", "--zookeeper", "127.0.0.1:1", *words)


def test_a_corrupt_entry_and_its_repair(config: Config) -> None:
    async def spoil() -> None:
        assert config.zookeeper is not None
        connection = await Connection.open(Address.parse(config.zookeeper), 4.0)
        for path in ("/log", "/origins"):
            await connection.ensure(path)
        await connection.ensure("/origin", b"{}")
        await connection.create("/log/e-", b"junk", sequence=True)
        await connection.close()

    asyncio.run(spoil())
    where = ("--zookeeper", config.zookeeper or "")
    for verb in ("status", "log", "gc"):
        assert "entry 0 of the cluster log is corrupt" in complaint(verb, *where)
    peer = remuda("peer", *where)
    assert peer.returncode == 1
    assert "entry 0 of the cluster log is corrupt" in peer.stderr
    assert asked("log", "--void", "0", *where) == {"voided": 0}
    assert asked("status", *where)["position"] >= 0
    assert "is not corrupt" in complaint("log", "--void", "0", *where)
