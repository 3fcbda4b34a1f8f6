"""From a wall of JVM to one clear line.

What kills a job in a Python worker crosses the JVM as text. A worker puts a line of JSON into it,
which is found again on the other side.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Generator

from pyspark.errors import PySparkException

from remuda.errors import RemudaError
from remuda.pipeline.io.failures import explained
from remuda.pipeline.killed import JobKilled, TaskFailed, is_foreign

_MARK = "remuda-killed"
_MARKED = re.compile(rf"{_MARK} (\{{.*\}})")
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in ', re.MULTILINE)
_RAISED = re.compile(
    r"^(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)\b.*)$", re.MULTILINE
)
_FROM_PYTHON = "Traceback (most recent call last):"


class _Marked(Exception):
    """Carries a JobKilled through the JVM."""


class KilledInWorker(JobKilled):
    """A job was killed by what happened in a Python worker."""

    def __init__(self, message: str, task: str | None = None, where: str | None = None) -> None:
        self.task = task
        self.where = where
        super().__init__(message)


@contextlib.contextmanager
def marked() -> Generator[None]:
    """In a worker: what kills the job is marked, so that `killed_by` finds it."""
    try:
        yield
    except JobKilled as error:
        task, where = (error.task, error.where) if isinstance(error, TaskFailed) else (None, None)
        mark = json.dumps({"message": str(error), "task": task, "where": where})
        raise _Marked(f"{_MARK} {mark}") from error


def killed_by(error: BaseException) -> RemudaError:
    """In the driver: why the job was killed, whatever Spark made of it."""
    if isinstance(error, RemudaError):
        return error
    about_data = explained(error)
    if about_data is not None:
        return about_data
    text = str(error)
    found = _MARKED.search(text)
    if found is not None:
        mark = json.loads(found[1])
        return KilledInWorker(mark["message"], mark["task"], mark["where"])
    if _FROM_PYTHON in text:
        return _from_traceback(text)
    if isinstance(error, PySparkException):
        return JobKilled(f"Spark cannot run the job: {_first_line(text)}")
    return JobKilled(f"the job cannot go on: {type(error).__name__}: {_first_line(text)}")


def _from_traceback(text: str) -> JobKilled:
    """From a traceback of Python: the user's innermost line, and what was raised."""
    frames = [f for f in _FRAME.finditer(text) if not is_foreign(f["file"])]
    raised = [found["kind"] for found in _RAISED.finditer(text[text.rindex(_FROM_PYTHON) :])]
    where = f"{frames[-1]['file']}:{frames[-1]['line']}" if frames else None
    what = " ".join(raised[-1].split()) if raised else "an error"
    at = f" at {where}" if where else ""
    return KilledInWorker(f"a Python function raised {what}{at}: mend the function", where=where)


def _first_line(text: str) -> str:
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "no reason was given"
