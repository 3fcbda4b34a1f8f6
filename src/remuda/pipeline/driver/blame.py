"""What went wrong, in one line, and where in the user's code.

Spark tells of an error in a Python worker with the worker's traceback somewhere in a wall of JVM
frames, and a stream wraps that a few times more. The innermost traceback is the one that counts,
and in it the innermost frame that is neither Python's, nor a library's, nor ours.
"""

from __future__ import annotations

import re
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path

from remuda.errors import RemudaError
from remuda.pipeline.driver.messages import Failed
from remuda.pipeline.run import Fenced

_LONGEST = 1000
_INSTALLED = tuple({sysconfig.get_path(kind) for kind in ("purelib", "platlib")})
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")
# Nobody's job lives in these.
_FOREIGN = (
    str(Path(__file__).resolve().parents[2]),
    *(f"{folder}/{package}/" for folder in _INSTALLED for package in ("pyspark", "py4j")),
    "<",
)

_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)$')
_PREFACE = re.compile(r"^An error occurred while calling [\w.]+\.\s*:\s*")
_LOST_TASK = re.compile(r"^.*most recent failure: Lost task .*? executor [\w-]+\): ")
_PACKAGE = re.compile(r"^(?:[A-Za-z_$][\w$]*\.)+(?=[A-Z][\w$]*(?:: |$))")
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w+.*$")

_FENCED = f"{Fenced.__module__}.{Fenced.__qualname__}: "

# Said when a process died, and not the job's doing.
_CRASHED = (
    "Python worker exited unexpectedly",
    "Python worker failed to connect back",
    "ExecutorLostFailure",
)


def blame(error: BaseException) -> Failed:
    """The failure as the peer is told it."""
    text = str(error)
    # The job is not to blame for it: another driver has it.
    fenced = isinstance(error, Fenced) or _FENCED in text
    if isinstance(error, RemudaError):
        return Failed(reason=text, where=_place(_frames_of(error)), retry=fenced)
    tracebacks = text.split(_TRACEBACK)[1:]
    if tracebacks:
        reason, where = _raised(tracebacks[-1]), _innermost(tracebacks)
        return Failed(reason=reason, where=where, retry=fenced)
    for sign in _CRASHED:
        if sign in text:
            return Failed(reason=f"a process of the job died: {_java_line(text)}", retry=True)
    if _package(error) in ("pyspark", "py4j"):
        return Failed(reason=_java_line(text), where=_place(_frames_of(error)))
    name = type(error).__name__
    return Failed(reason=_one_line(f"{name}: {text}"), where=_place(_frames_of(error)))


def may_be_cut_off(error: BaseException) -> bool:
    """Whether it is what a call to a JVM looks like that has just died."""
    return isinstance(error, OSError | EOFError) or _package(error) == "py4j"


# ── tracebacks ───────────────────────────────────────────────────────────────────────────────

_Frame = tuple[str, int, str]


def _innermost(tracebacks: list[str]) -> str | None:
    """From the last traceback that went through the user's code at all."""
    for text in reversed(tracebacks):
        place = _place(_frames_in(text))
        if place is not None:
            return place
    return None


def _frames_in(text: str) -> list[_Frame]:
    matches = (_FRAME.match(line) for line in text.splitlines())
    return [(m["file"], int(m["line"]), m["function"]) for m in matches if m]


def _frames_of(error: BaseException) -> list[_Frame]:
    frames = traceback.extract_tb(error.__traceback__)
    return [(frame.filename, frame.lineno or 0, frame.name) for frame in frames]


def _place(frames: Iterable[_Frame]) -> str | None:
    """The innermost frame that may be the user's: first of files of theirs, then of packages."""
    not_foreign = [frame for frame in frames if not frame[0].startswith(_FOREIGN)]
    installed = [frame for frame in not_foreign if frame[0].startswith(_INSTALLED)]
    own = [
        frame for frame in not_foreign if not frame[0].startswith((*_INSTALLED, _STANDARD_LIBRARY))
    ]
    for file, line, function in reversed(own or installed):
        return f"{file}:{line} in {function}"
    return None


def _raised(text: str) -> str:
    """The line below the frames: the error's name and the beginning of its message."""
    lines = text.splitlines()
    last_frame = max((n for n, line in enumerate(lines) if _FRAME.match(line)), default=0)
    for line in lines[last_frame + 1 :]:
        if line.strip() and not line[0].isspace():
            return _one_line(_without_our_names(line))
    return _one_line(text)


def _without_our_names(line: str) -> str:
    """Errors of ours say it all in their message; of others, the name without its package."""
    name, colon, message = line.partition(": ")
    if colon and name.startswith("remuda."):
        return message
    return _PACKAGE.sub("", line)


# ── what Java says ───────────────────────────────────────────────────────────────────────────


def _package(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def _java_line(text: str) -> str:
    """The first line, or, where a task failed, what it failed of."""
    first = _PREFACE.sub("", text.strip()).partition("\n")[0]
    failed = _LOST_TASK.sub("", first)
    return _one_line(_SQLSTATE.sub("", _PACKAGE.sub("", failed)))


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
