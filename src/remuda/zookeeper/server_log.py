"""What a server's log says about the start that failed."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

_TAIL_BYTES = 64 * 1024
_STACK_FRAME = ("\tat ", "\t... ")
_EXCEPTION = re.compile(r"^(Caused by: )?[\w$]+\.[\w.$]+(Exception|Error)\b")


def logged_since(begin: int, log_path: Path) -> str:
    """The end of what was logged after the log was `begin` bytes long."""
    with contextlib.suppress(OSError), log_path.open("rb") as log:
        end = log.seek(0, os.SEEK_END)
        # It is shorter than it was if it has been rolled over since.
        log.seek(max(begin if begin <= end else 0, end - _TAIL_BYTES))
        return log.read().decode(errors="replace")
    return ""


def telling_line(log: str) -> str:
    """The line that says best why a server failed: its last exception, error, or line at all."""
    lines = [line for line in log.splitlines() if line.strip()]
    lines = [line.strip() for line in lines if not line.startswith(_STACK_FRAME)]
    exceptions = [line for line in lines if _EXCEPTION.search(line)]
    errors = [line for line in lines if " ERROR " in line]
    # The JVM says first what is wrong and then, more than once, that this is an "Error".
    others = [line for line in lines if not line.startswith("Error")]
    return (exceptions or errors or others or lines or ["it logged nothing"])[-1]
