"""The peer's side of a driver: starts it, talks to it, ends it with everything that it started.

<home>/<name>/driver.log    what the driver, its JVM and its Python workers wrote; kept
<home>/<name>/session       the id of its session, while it may have processes
<home>/<name>/scratch/      whatever Spark and Java put down for a while; gone with the driver
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import assert_never
from uuid import uuid4

from msgspec import Struct

from remuda.errors import RemudaError
from remuda.pipeline.driver.descendants import kill_all_in, living_in
from remuda.pipeline.driver.messages import (
    Beat,
    Begin,
    Failed,
    FromDriver,
    LastWord,
    Ready,
    RunJob,
    Seal,
    Sealed,
    Staged,
    Started,
    Stop,
    Stopped,
    ToDriver,
    Told,
    from_driver,
    line_of,
)
from remuda.zookeeper.tether import tethered

_LOG = "driver.log"
_SESSION = "session"
_SCRATCH = "scratch"

_READ_BYTES = 65536
_BEATS_PER_LEASE = 4
_POLL_S = 0.02
_ENDS_WITHIN_S = 30.0
_KEPT_LOGS = 100


class DriverFailed(RemudaError):
    """A driver did not start, or does not end."""


class Launch(Struct, frozen=True, kw_only=True):
    """How drivers are started on a node."""

    home: Path
    heap_mb: int = 1024
    java_options: tuple[str, ...] = ()
    # Of every Spark session; a job's own come first.
    options: Mapping[str, str] = {}
    lease_s: float = 10.0
    # A driver that says nothing for so long is taken for dead.
    silence_s: float = 60.0
    ready_within_s: float = 180.0


class Driver:
    """One driver process. Make it in the main thread, which must outlive it: see `tether`."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._folder = launch.home / f"driver-{time.strftime('%y%m%d-%H%M%S')}-{uuid4().hex[:8]}"
        self._socket, its = socket.socketpair()
        self._socket.setblocking(False)
        try:
            with its:
                self._process = _spawned(self._folder, its.fileno())
        except OSError as error:
            self._socket.close()
            raise DriverFailed(f"cannot start a driver in {launch.home}: {error}") from None
        self._to_say: asyncio.Queue[ToDriver] = asyncio.Queue()
        self._said: asyncio.Queue[FromDriver] = asyncio.Queue()
        self._ready: Ready | None = None
        self._ready_or_gone = asyncio.Event()
        self._last_word: LastWord | None = None
        self._holds: Callable[[], bool] | None = None
        self.alive = True
        self._say(
            Begin(
                scratch=str(self._folder / _SCRATCH),
                heap_mb=launch.heap_mb,
                java_options=list(launch.java_options),
                options=launch.options,
            )
        )
        self._life = asyncio.create_task(self._live())

    @property
    def pid(self) -> int:
        """Also the id of its session."""
        return self._process.pid

    @property
    def log_path(self) -> Path:
        return self._folder / _LOG

    @property
    def is_warm(self) -> bool:
        return self.alive and self._ready is not None

    async def ready(self) -> Ready:
        """When it is warm; raises if it never will be."""
        try:
            async with asyncio.timeout(self._launch.ready_within_s):
                await self._ready_or_gone.wait()
        except TimeoutError:
            await self.end()
        if self._ready is None:
            why = self._last_word.reason if isinstance(self._last_word, Failed) else "it was ended"
            raise DriverFailed(f"a driver did not get ready: {why} (see {self.log_path})")
        return self._ready

    # ── a job ────────────────────────────────────────────────────────────────────────────────

    def run(self, job: RunJob, holds: Callable[[], bool] = lambda: True) -> None:
        """At any time: a driver that is not warm yet takes the job as soon as it can.

        `holds` is asked before each beat: while it is false, the driver's lease runs out.
        """
        self._holds = holds
        self._beat()
        self._say(job)

    def seal(self) -> None:
        self._say(Seal())

    def stop(self, reason: str, grace_s: float = 30.0) -> None:
        self._say(Stop(reason, grace_s))

    async def events(self) -> AsyncIterator[FromDriver]:
        """All that it says of its job, up to its last word. There always is one: a process that
        ended without has Failed. By then everything that the driver started has ended, too."""
        while True:
            said = await self._said.get()
            yield said
            if isinstance(said, LastWord):
                return

    # ── its end ──────────────────────────────────────────────────────────────────────────────

    async def end(self) -> None:
        """Kill it and everything that it started, and wait until nothing is left."""
        if self.alive:
            kill_all_in(self.pid)
        await self.gone()

    async def gone(self) -> None:
        """When it has ended, by itself or not, with everything that it started."""
        await asyncio.shield(self._life)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _live(self) -> None:
        speaking = asyncio.create_task(self._speak())
        beating = asyncio.create_task(self._keep_beating())
        try:
            silent = not await self._listen()
        finally:
            self.alive = False
            speaking.cancel()
            beating.cancel()
            # Also when this task is cancelled, and cannot wait for the end.
            kill_all_in(self.pid)
        await self._await_end()
        code = self._process.wait()
        self._socket.close()
        await asyncio.to_thread(_tidy, self._folder)
        if self._last_word is None:
            self._last_word = Failed(self._ending(code, silent=silent), retry=True)
        self._said.put_nowait(self._last_word)
        self._ready_or_gone.set()

    async def _listen(self) -> bool:
        """Until its last word or its end; False if it only fell silent."""
        loop, buffer = asyncio.get_running_loop(), b""
        while True:
            try:
                async with asyncio.timeout(self._launch.silence_s):
                    read = await loop.sock_recv(self._socket, _READ_BYTES)
            except ConnectionError:
                return True
            except TimeoutError:
                return False
            *lines, buffer = (buffer + read).split(b"\n")
            for line in lines:
                self._hear(from_driver(line))
            if not read or self._last_word is not None:
                return True

    def _hear(self, message: FromDriver) -> None:
        match message:
            case Beat():
                pass
            case Ready():
                self._ready = message
                self._ready_or_gone.set()
            case Sealed() | Stopped() | Failed():
                self._last_word = message
            case Started() | Told() | Staged():
                self._said.put_nowait(message)
            case _:
                assert_never(message)

    def _say(self, message: ToDriver) -> None:
        self._to_say.put_nowait(message)

    async def _speak(self) -> None:
        loop = asyncio.get_running_loop()
        # That the driver is gone, `_listen` finds out.
        with contextlib.suppress(ConnectionError):
            while True:
                await loop.sock_sendall(self._socket, line_of(await self._to_say.get()))

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(self._launch.lease_s / _BEATS_PER_LEASE)
            self._beat()

    def _beat(self) -> None:
        if self._holds is not None and self._holds():
            self._say(Beat(time.monotonic() + self._launch.lease_s))

    async def _await_end(self) -> None:
        """It is not reaped before its session is empty, so that nobody else gets its id."""
        deadline = time.monotonic() + _ENDS_WITHIN_S
        while kill_all_in(self.pid):
            if time.monotonic() > deadline:
                raise DriverFailed(
                    f"processes {living_in(self.pid)} of a driver do not end within "
                    f"{_ENDS_WITHIN_S:g} s of SIGKILL: is the disk or the network that they use "
                    "stuck?"
                )
            await asyncio.sleep(_POLL_S)

    def _ending(self, code: int, *, silent: bool) -> str:
        if silent:
            return f"the driver said nothing for {self._launch.silence_s:g} s"
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the driver {how}"


def _spawned(folder: Path, fd: int) -> subprocess.Popen[bytes]:
    scratch = folder / _SCRATCH
    scratch.mkdir(parents=True)
    with (folder / _LOG).open("ab") as log:
        process = subprocess.Popen(
            tethered([sys.executable, "-m", "remuda.pipeline.driver.main", str(fd)]),
            env={**os.environ, "TMPDIR": str(scratch)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(fd,),
            # What is found in it was started by the driver.
            start_new_session=True,
        )
    (folder / _SESSION).write_text(str(process.pid))
    return process


# ── what drivers leave behind ────────────────────────────────────────────────────────────────


def sweep(home: Path) -> None:
    """Remove what drivers left whose peer was killed, and the oldest logs."""
    folders = sorted(home.glob("driver-*"))
    for folder in folders:
        with contextlib.suppress(OSError, ValueError):
            if not living_in(int((folder / _SESSION).read_text())):
                _tidy(folder)
    ended = [folder for folder in folders if not (folder / _SESSION).exists()]
    for folder in ended[:-_KEPT_LOGS]:
        shutil.rmtree(folder, ignore_errors=True)


def _tidy(folder: Path) -> None:
    shutil.rmtree(folder / _SCRATCH, ignore_errors=True)
    (folder / _SESSION).unlink(missing_ok=True)
