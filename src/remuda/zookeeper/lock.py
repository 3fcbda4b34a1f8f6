"""One server a data directory: a lock that lives exactly as long as the server does.

The lock belongs to the open file and not to a process, so the server inherits it with the file
and the parent then closes its own copy. It is free again when the server has ended, however it
ended; nothing is left to clean up, and a parent that lives on is not in its own way.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO

from remuda.errors import DataDirUnusable

_FILE_NAME = "lock"
# A server whose parent was killed this very moment needs a moment to end, too.
_GRACE_S = 1.0
_POLL_S = 0.02


def refuse_if_held(directory: Path) -> None:
    """Raise if a server runs on the directory; creates nothing."""
    with contextlib.suppress(OSError), (directory / _FILE_NAME).open("rb") as lock:
        _take(lock.fileno(), directory)


@contextlib.contextmanager
def held(directory: Path) -> Generator[int]:
    """Create the directory if need be and hold its lock: a descriptor for the server to inherit."""
    with _open(directory) as lock:
        _take(lock.fileno(), directory)
        lock.truncate(0)
        yield lock.fileno()


def name_holder(lock: int, pid: int) -> None:
    """Say who holds the lock. For people to read: the lock holds without it."""
    with contextlib.suppress(OSError):
        os.write(lock, f"{pid}\n".encode())


def unusable(directory: Path, error: OSError) -> DataDirUnusable:
    return DataDirUnusable(
        f"the data directory {directory} cannot be used ({error.strerror}): choose another one "
        "with --data"
    )


def _open(directory: Path) -> BinaryIO:
    missing: list[Path] = []
    try:
        missing = [path for path in (directory, *directory.parents) if not path.exists()]
        directory.mkdir(parents=True, exist_ok=True)
        return (directory / _FILE_NAME).open("ab")
    except OSError as error:
        for made in missing:
            with contextlib.suppress(OSError):
                made.rmdir()
        raise unusable(directory, error) from None


def _take(lock: int, directory: Path) -> None:
    deadline = time.monotonic() + _GRACE_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise DataDirUnusable(
                    f"the data directory {directory} is in use by the ZooKeeper server with pid "
                    f"{_holder(directory)}: stop it, or choose another directory with --data"
                ) from None
            time.sleep(_POLL_S)
        except OSError as error:
            raise unusable(directory, error) from None
        else:
            return


def _holder(directory: Path) -> str:
    try:
        return (directory / _FILE_NAME).read_text().strip() or "unknown"
    except OSError:
        return "unknown"
