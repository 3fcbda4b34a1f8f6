"""One real ZooKeeper server as a child process, from the jars in PySpark's wheel.

    <data>/zoo.cfg              how it was started last; its port is used again
    <data>/log4j2.properties
    <data>/zookeeper.log        and two older ones, 10 MB each at most
    <data>/data/                snapshots and transactions
    <data>/lock                 held as long as the server lives

It listens on loopback only, syncs to disk as any ZooKeeper does, and ends with this process.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

from remuda.errors import PortInUse, ServerFailed
from remuda.zookeeper import lock, ports
from remuda.zookeeper.java import class_path, find_java
from remuda.zookeeper.server_log import logged_since, telling_line
from remuda.zookeeper.tether import tethered
from remuda.zookeeper.zoo_cfg import (
    LOG,
    LOG4J2_PROPERTIES,
    SNAPSHOTS_AND_TRANSACTIONS,
    Membership,
    client_port,
    zoo_cfg,
)

_MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_CFG = "zoo.cfg"
_LOG4J2 = "log4j2.properties"

_POLL_S = 0.05
_ANSWER_TIMEOUT_S = 1.0
_STOP_TIMEOUT_S = 5.0


class ZooKeeperServer:
    """Spawn it from a thread that lives as long as the server should: see `tether`."""

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int | None = None,
        heap_mb: int = 256,
        tick_ms: int = 200,
        membership: Membership | None = None,
    ) -> None:
        """`port=None` means the port of the last start on this data if it is free, or any."""
        self.data_dir = data_dir.absolute()
        self._asked_port = port
        self._heap_mb = heap_mb
        self._tick_ms = tick_ms
        self._membership = membership
        self._process: subprocess.Popen[bytes] | None = None
        self._held_port: socket.socket | None = None
        self._port = port
        self._log_begin = 0

    # ── a life ───────────────────────────────────────────────────────────────────────────────

    def start(self, timeout_s: float = 30.0) -> None:
        """Spawn it and wait until it serves; a server that does not is not left behind."""
        self.spawn()
        try:
            self.await_ready(timeout_s)
        except BaseException:
            self.kill()
            raise

    def spawn(self) -> None:
        """Start the process and do not wait. What can be refused is refused before any write."""
        command = [*self._jvm(), _MAIN_CLASS, f"./{_CFG}"]
        # Before the port: who holds the directory tells more than who holds its port.
        lock.refuse_if_held(self.data_dir)
        self._hold_port()
        try:
            with lock.held(self.data_dir) as lock_fd:
                self._write_configuration()
                self._process = self._launch(command, lock_fd)
                lock.name_holder(lock_fd, self._process.pid)
        except BaseException:
            self._release_port()
            raise

    def await_ready(self, timeout_s: float = 30.0) -> None:
        """Wait until it serves clients. A member of an ensemble does when a quorum is there."""
        if self._process is None:
            raise ServerFailed(f"ZooKeeper on {self.data_dir} has not been started")
        deadline = time.monotonic() + timeout_s
        while self.mode() is None:
            if time.monotonic() > deadline:
                raise self._failed(f"does not serve after {timeout_s:g} s")
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._process.wait(_POLL_S)
                raise self._failed(f"ended with exit code {code} while it started")
        self._release_port()

    def stop(self) -> None:
        """SIGTERM, and SIGKILL if that is not enough. Safe to call at any time, and twice."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            # A server that a test has frozen would not see the SIGTERM.
            self._process.send_signal(signal.SIGCONT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_TIMEOUT_S)
        self.kill()

    def kill(self) -> None:
        """SIGKILL, as a crash would: it can be started again on the same data."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._release_port()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # ── what it is ───────────────────────────────────────────────────────────────────────────

    @property
    def port(self) -> int:
        if self._port is None:
            raise ServerFailed(
                f"ZooKeeper on {self.data_dir} has no port before it is started for the first time"
            )
        return self._port

    @property
    def address(self) -> str:
        return f"{ports.LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Of the Java process, also after its end; None before the first start."""
        return None if self._process is None else self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process lives; whether it serves is `mode`'s to say."""
        return self._process is not None and self._process.poll() is None

    @property
    def log_path(self) -> Path:
        return self.data_dir / LOG

    def mode(self) -> str | None:
        """`standalone`, `leader` or `follower`; None while it does not serve."""
        if not self.running:
            return None
        match = re.search(r"^Mode: (\w+)", _ask(self.port, "srvr"), re.MULTILINE)
        return match[1] if match else None

    # ── its start, step by step ──────────────────────────────────────────────────────────────

    def _jvm(self) -> list[str]:
        return [
            str(find_java()),
            f"-Xmx{self._heap_mb}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            # A server without memory is neither dead nor alive: let it be dead.
            "-XX:+ExitOnOutOfMemoryError",
            # Its file in /tmp would stay there after a SIGKILL.
            "-XX:-UsePerfData",
            "-Dzookeeper.preAllocSize=1024",
            f"-Dlog4j2.configurationFile=./{_LOG4J2}",
            "-cp",
            class_path(),
        ]

    def _hold_port(self) -> None:
        self._release_port()
        if self._asked_port is not None:
            try:
                self._held_port = ports.hold(self._asked_port)
            except OSError as error:
                raise PortInUse(
                    f"port {self._asked_port} cannot be used ({error.strerror}): choose another "
                    "one with --zookeeper-port"
                ) from None
        else:
            self._held_port = self._hold_last_port() or ports.hold_free()
        self._port = ports.port_of(self._held_port)

    def _hold_last_port(self) -> socket.socket | None:
        try:
            last = client_port((self.data_dir / _CFG).read_text())
            return None if last is None else ports.hold(last)
        except (OSError, ValueError, OverflowError):
            return None

    def _release_port(self) -> None:
        if self._held_port is not None:
            self._held_port.close()
            self._held_port = None

    def _write_configuration(self) -> None:
        data = self.data_dir / SNAPSHOTS_AND_TRANSACTIONS
        try:
            data.mkdir(exist_ok=True)
            self.log_path.touch()
            (self.data_dir / _LOG4J2).write_text(LOG4J2_PROPERTIES)
            (self.data_dir / _CFG).write_text(zoo_cfg(self.port, self._tick_ms, self._membership))
            if self._membership is not None:
                (data / "myid").write_text(f"{self._membership.id}\n")
        except OSError as error:
            raise lock.unusable(self.data_dir, error) from None

    def _launch(self, command: list[str], lock_fd: int) -> subprocess.Popen[bytes]:
        # What the JVM itself has to say goes to the same file as the server's log.
        with self.log_path.open("ab") as log:
            self._log_begin = log.seek(0, os.SEEK_END)
            return subprocess.Popen(
                tethered(command),
                cwd=self.data_dir,
                # In the C locale Java cannot name a directory that is not plain ASCII.
                env={**os.environ, "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock_fd,),
                # Ctrl-C is for this process, which then stops the server.
                start_new_session=True,
            )

    def _failed(self, what: str) -> ServerFailed:
        line = telling_line(logged_since(self._log_begin, self.log_path))
        return ServerFailed(f"ZooKeeper at {self.address} {what}: {line} (see {self.log_path})")


def _ask(port: int, word: str) -> str:
    """The answer to a four-letter word, as far as it came."""
    answer = b""
    with (
        contextlib.suppress(OSError),
        socket.create_connection((ports.LOOPBACK, port), timeout=_ANSWER_TIMEOUT_S) as server,
    ):
        server.sendall(word.encode())
        while received := server.recv(4096):
            answer += received
            # A server that is just starting may say this and then forget to hang up.
            if b"not currently serving" in answer:
                break
    return answer.decode(errors="replace")
