"""Why a job was killed, in one line: the task, the row, the error, and the user's own line."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from typing import Any

from remuda.errors import RemudaError

_SHOWN_CHARACTERS = 300
_OURS = str(Path(__file__).resolve().parents[1])
_LIBRARIES = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")})


class JobKilled(RemudaError):
    """A job cannot go on: what it was doing, and how to mend it."""


class TaskFailed(JobKilled):
    """A task's function raised, and no flow condition takes what it raised."""

    def __init__(
        self,
        task: str,
        what: str,
        error: BaseException,
        *,
        row: Any = None,
        mend: str = "mend the function",
    ) -> None:
        self.task = task
        self.where = line_of(error)
        at = f" at {self.where}" if self.where else ""
        of = "" if row is None else f", for the row {shown(row)}"
        super().__init__(
            f"{what} raised {type(error).__name__}: {' '.join(str(error).split())}{at}{of}: {mend}"
        )


def line_of(error: BaseException) -> str | None:
    """`file:line` of the innermost frame that is the user's."""
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if not is_foreign(frame.filename)]
    return f"{users[-1].filename}:{users[-1].lineno}" if users else None


def shown(value: Any) -> str:
    """A value for a line of text, shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"


def is_foreign(filename: str) -> bool:
    return filename.startswith((_OURS, *_LIBRARIES, "<frozen"))
