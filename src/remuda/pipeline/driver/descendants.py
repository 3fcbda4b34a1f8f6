"""All processes of a session, found and killed.

Spark's Python daemon and workers leave their parent's process group, and a worker whose daemon was
killed belongs to nobody. A session they leave only if they mean to.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

_PROC = Path("/proc")


def living_in(session: int) -> list[int]:
    """The processes of a session, without those that have ended and wait to be reaped."""
    return [pid for pid in _pids() if _is_in(session, pid)]


def kill_all_in(session: int) -> int:
    """SIGKILL to each; how many there were. What was just being forked is found the next time."""
    found = living_in(session)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(found)


def _pids() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]


def _is_in(session: int, pid: int) -> bool:
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return False
    # The command, in parentheses, may hold anything: what follows the last one is plain.
    state, _parent, _group, in_session, *_ = stat.rpartition(")")[2].split()
    return state not in "ZX" and int(in_session) == session
