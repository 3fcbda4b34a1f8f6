"""A cluster on this machine: an embedded ZooKeeper, and peers as processes of their own.

    <data>/up.lock             held as long as a cluster runs on this directory
    <data>/up.json             its pid and address, for `remuda down`
    <data>/zookeeper.address   where every other command finds it
    <data>/zookeeper/          ZooKeeper's own
    <data>/logs/               one file a peer

Children are tethered: whatever ends this process ends them.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Self

import msgspec
from msgspec import Struct

from remuda.config import OPTIONS, Config
from remuda.errors import DataDirUnusable
from remuda.log.zookeeper import ZooKeeperLog
from remuda.zookeeper.connection import Connection
from remuda.zookeeper.locate import credentials_of, data_dir, forget, locate, remember
from remuda.zookeeper.server import ZooKeeperServer
from remuda.zookeeper.tether import tethered

# What a peer process is told on its command line, when it is not the default.
_PASSED_ON = (
    "zookeeper_auth",
    "zookeeper_tls",
    "zookeeper_tls_ca",
    "zookeeper_tls_cert",
    "zookeeper_tls_key",
    "zookeeper_tls_verify",
    "session_timeout",
    "connect_timeout",
    "join_timeout",
    "leave_timeout",
    "ack_timeout",
    "gc_entries",
    "check_invariants",
)
_PASSED_ON_TO_PEER = (
    "data",
    "slots",
    "tags",
    "spares",
    "jobs",
    "spark_master",
    "spark_conf",
    "driver_memory",
    "settle_time",
    "drain_time",
    "drain_deadline",
    "partitions",
    "history_keep",
    "grpc_host",
    "route_timeout",
)
_PASSED_ON_TO_SERVE = (
    "settle_time",
    "rebalance_interval",
    "load_interval",
    "drain_time",
    "drain_deadline",
    "start_attempts",
)


class Running(Struct, frozen=True):
    """What `up.json` says."""

    pid: int
    zookeeper: str


class LocalCluster:
    """`with LocalCluster(config) as cluster:` runs ZooKeeper; `start_peer` adds processes."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.data = data_dir(config)
        self.server: ZooKeeperServer | None = None
        self.peers: list[subprocess.Popen[bytes]] = []
        self._lock: IO[str] | None = None
        self._spawned = 0

    # ── the whole ────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """ZooKeeper, unless an outside one is named; raises before anything is changed."""
        if self.config.zookeeper is None:
            self.server = ZooKeeperServer(
                self.data / "zookeeper", port=self.config.zookeeper_port or None
            )
            self.server.start()
        try:
            self._take_lock()
            if self.server is not None:
                remember(self.config, self.server.address)
                asyncio.run(_lay_out(self.config))
            running = Running(os.getpid(), str(locate(self.config)))
            (self.data / "up.json").write_bytes(msgspec.json.encode(running))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Peers leave, then ZooKeeper stops. Safe to call at any time, and twice."""
        self.end_peers(self.peers)
        if self.server is not None:
            self.server.stop()
        if self._lock is not None:
            forget(self.config)
            (self.data / "up.json").unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        return str(locate(self.config))

    def tend(self) -> list[str]:
        """Start ZooKeeper again if it died, forget peers that did; says what happened."""
        happened: list[str] = []
        if self.server is not None and not self.server.running:
            self.server.start()
            happened.append(f"ZooKeeper died and was started again on {self.server.address}")
        for peer in [peer for peer in self.peers if peer.poll() is not None]:
            self.peers.remove(peer)
            happened.append(f"the peer with pid {peer.pid} {_ended(peer.returncode)}")
        return happened

    # ── peers ────────────────────────────────────────────────────────────────────────────────

    def start_peer(self, *verb: str) -> subprocess.Popen[bytes]:
        """A peer; or with the words of another verb, `serve ingest module:Ingest`, that."""
        self._spawned += 1
        logs = self.data / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "remuda.cli.main", *(verb or ("peer",))]
        command += ["--zookeeper", self.address]
        for name in (*_PASSED_ON, *(_PASSED_ON_TO_SERVE if verb else _PASSED_ON_TO_PEER)):
            command += _flag(self.config, name)
        if not verb and self.config.grpc_port:
            command += [OPTIONS["grpc_port"].flag, str(self.config.grpc_port + self._spawned - 1)]
        with (logs / f"peer-{self._spawned}.log").open("ab") as output:
            peer = subprocess.Popen(
                tethered(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Ctrl-C is for this process, which then ends the peers in order.
                start_new_session=True,
            )
        self.peers.append(peer)
        return peer

    def end_peers(self, peers: Iterable[subprocess.Popen[bytes]]) -> None:
        """SIGTERM, so that they leave; SIGKILL for those who have not in time."""
        ending = list(peers)
        for peer in ending:
            if peer.poll() is None:
                peer.send_signal(signal.SIGCONT)
                peer.terminate()
        deadline = time.monotonic() + self.config.leave_timeout_s + 5
        for peer in ending:
            try:
                peer.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                peer.kill()
                peer.wait()
        self.peers = [peer for peer in self.peers if peer not in ending]

    def _take_lock(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        lock = (self.data / "up.lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise DataDirUnusable(
                f"a cluster runs on {self.data} already: stop it with `remuda down --data "
                f"{self.data}`, or choose another directory with --data"
            ) from None
        self._lock = lock


async def _lay_out(config: Config) -> None:
    """The log of a new cluster, so that units can be added before the first peer is there."""
    connection = await Connection.open(
        locate(config), config.session_timeout_s, credentials_of(config), create_chroot=True
    )
    try:
        await ZooKeeperLog.open(connection)
    finally:
        await connection.close()


def running_on(data: Path) -> Running | None:
    """The cluster that runs on a data directory, if any does."""
    try:
        with (data / "up.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
    except FileNotFoundError:
        return None
    except BlockingIOError:
        pass
    try:
        return msgspec.json.decode((data / "up.json").read_bytes(), type=Running)
    except (FileNotFoundError, msgspec.DecodeError):
        # It has the lock but has not got so far yet.
        return None


def _flag(config: Config, name: str) -> list[str]:
    option = OPTIONS[name]
    value = getattr(config, option.field)
    if value == option.default:
        return []
    if isinstance(value, bool):
        return [option.flag if value else f"--no-{option.flag[2:]}"]
    return [option.flag, str(value)]


def _ended(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}" if code else "has left"
