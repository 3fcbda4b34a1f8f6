"""Who has a partition's store open, and how one that cannot let go is made to.

RocksDB's lock belongs to a process, and the kernel frees it when the process ends, however that
happens. A process that is frozen keeps it, though the cluster has long given its partitions to
another. Opening the store past the lock would let the frozen one write into it when it wakes, so
the next owner ends that process first. It does so only if all of this is true:

- the kernel says that this very process holds the lock, and it is not our own;
- the note beside the store was written by that process, on this machine, since it was booted;
- the note's epoch is older than ours, and the peer that it names is not in the cluster any more:
  that peer had to stop all of its work before its session could expire, and did not;
- it has had the time to close the store: a moment if it is stopped, longer if it only hangs.

Nothing is lost by that: what the process has acknowledged is on disk, and it owns nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import signal
import struct
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from remuda.replica.state import PeerId

log = logging.getLogger("remuda.partition")

_NOTE = "tenant.json"
_LOCK = "LOCK"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_FLOCK = struct.Struct("@hhqqi4x")

STOPPED_PATIENCE_S = 0.5
HUNG_PATIENCE_S = 10.0


class Tenant(Struct, frozen=True):
    """The note: an opening of a store, and the process that did it."""

    peer: PeerId
    epoch: int
    pid: int
    started: int
    """When the process began, in ticks since the machine was booted: pids come again."""
    boot: str


def moved_in(home: Path, peer: PeerId, epoch: int) -> None:
    """Leave a note in a partition's directory; to be called with the store open."""
    pid = os.getpid()
    _, started = _process(pid) or ("", 0)
    note = home / f"{_NOTE}.new"
    note.write_bytes(
        msgspec.json.encode(Tenant(peer, epoch, pid, started, _BOOT.read_text().strip()))
    )
    note.replace(home / _NOTE)


def tenant_of(home: Path) -> Tenant | None:
    """Who opened the store last, if that can be read."""
    try:
        return msgspec.json.decode((home / _NOTE).read_bytes(), type=Tenant)
    except (OSError, msgspec.DecodeError):
        return None


class Eviction:
    """One attempt to get a store that is locked: look again and again, while it stays so."""

    def __init__(
        self, home: Path, store: Path, epoch: int, hung_patience_s: float = HUNG_PATIENCE_S
    ) -> None:
        self._home = home
        self._lock = store / _LOCK
        self._epoch = epoch
        self._hung_patience_s = hung_patience_s
        self._since = time.monotonic()
        self._tenant: Tenant | None = None

    def consider(self, is_gone: bool, tenant: Tenant) -> bool:
        """End the process that holds the lock if it may not hold it; whether that was done.

        `is_gone`: the tenant's peer is not in the cluster any more.
        """
        if tenant != self._tenant:
            self._tenant, self._since = tenant, time.monotonic()
        held_s = time.monotonic() - self._since
        if not is_gone or tenant.epoch >= self._epoch or tenant.pid == os.getpid():
            return False
        if tenant.boot != _BOOT.read_text().strip() or self._holder() != tenant.pid:
            return False
        with contextlib.suppress(OSError), _opened(os.pidfd_open(tenant.pid)) as process:
            # The descriptor is of one process for good: what is read now is about that one.
            state, started = _process(tenant.pid) or ("", 0)
            patience_s = STOPPED_PATIENCE_S if state in ("T", "t") else self._hung_patience_s
            if started == tenant.started and held_s >= patience_s:
                log.warning(
                    "process %d has %s open and is %s, though its peer %s has left the cluster "
                    "and epoch %d took over: ending it",
                    tenant.pid,
                    self._home,
                    "stopped" if state in ("T", "t") else "not letting go",
                    tenant.peer,
                    self._epoch,
                )
                signal.pidfd_send_signal(process, signal.SIGKILL)
                return True
        return False

    def _holder(self) -> int | None:
        """The process that has the lock, as the kernel tells; 0 for one that we cannot see.

        Never asked in the process that has it: closing the file would free the lock.
        """
        try:
            with _opened(os.open(self._lock, os.O_RDWR)) as file:
                asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
                kind, _, _, _, pid = _FLOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, asked))
        except OSError:
            return None
        return None if kind == fcntl.F_UNLCK else pid


@contextlib.contextmanager
def _opened(descriptor: int):
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _process(pid: int) -> tuple[str, int] | None:
    """Its state, a letter, and when it began; None if it is gone."""
    try:
        # The name, in brackets, may have brackets and blanks in it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[19])
