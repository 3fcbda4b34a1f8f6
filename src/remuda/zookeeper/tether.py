"""A child that ends when its parent ends, even if the parent is killed with -9.

A parent that is killed gets no chance to stop its children, so the kernel has to: between fork
and exec the child asks for a SIGKILL at its parent's death. Python offers no safe place for that
(`preexec_fn` can deadlock in a process with threads), so this file is also the launcher: run as
a script it makes the request and then becomes the command, which keeps its pid.

SIGKILL and not SIGTERM, because everything that Remuda starts is built to survive it, and a child
that is wedged must not outlive its parent either.

The launcher runs with `-I -S` and pays for each import at each start: keep them few.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1
_CANNOT_EXECUTE = 127
# Python ignores these at its start, and what is ignored stays ignored in the command after exec.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def tethered(command: Sequence[str]) -> list[str]:
    """The command line that runs `command` as a child that ends when this process ends.

    Give it to `Popen` in this process. The kernel counts the end of the *thread* that spawned the
    child as the parent's end, so spawn from a thread that lives as long as the child should: the
    main thread. What the command itself starts is not tethered.

    Only Linux can do this; elsewhere the command comes back unchanged.
    """
    if sys.platform != "linux":
        return list(command)
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def _launch(parent: int, command: list[str]) -> int:
    _ask_to_die_with_parent()
    # A parent that ended before the request was made would never be noticed.
    if os.getppid() != parent:
        return 1
    for signum in _IGNORED_BY_PYTHON:
        signal.signal(signum, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
    return _CANNOT_EXECUTE


def _ask_to_die_with_parent() -> None:
    import ctypes  # only the launcher needs it, and it is the slowest import here

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")


if __name__ == "__main__":
    sys.exit(_launch(int(sys.argv[1]), sys.argv[2:]))
