"""`remuda down`: end the cluster that `remuda up --detach` started."""

from __future__ import annotations

import os
import select
import signal
import time

from remuda.cli.options import AsJson, configured
from remuda.cli.output import console, print_json
from remuda.config import Config
from remuda.errors import RemudaError, Unreachable
from remuda.peer.local import running_on
from remuda.zookeeper.locate import data_dir

_DOWN_WITHIN_S = 60.0


@configured("data")
def down(config: Config, *, json: AsJson = False) -> None:
    """End the cluster that runs on the data directory. Its data stays."""
    data = data_dir(config)
    running = running_on(data)
    if running is None:
        raise Unreachable(f"no cluster runs on {data}: nothing to end")
    process = _handle(running.pid)
    os.kill(running.pid, signal.SIGTERM)
    deadline = time.monotonic() + _DOWN_WITHIN_S
    while running_on(data) is not None or _lives(process):
        if time.monotonic() > deadline:
            raise RemudaError(
                f"the cluster on {data} has not ended within {_DOWN_WITHIN_S:g} s: see "
                f"{data / 'up.log'}, or end pid {running.pid} with SIGKILL"
            )
        time.sleep(0.05)
    if json:
        print_json({"stopped": running.pid, "data": str(data)})
    else:
        console.print(f"the cluster on {data} has ended; its data is kept")


def _handle(pid: int) -> int | None:
    """What tells the end of a process from that of its namesake; only Linux has it."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _lives(process: int | None) -> bool:
    """The lock is let go of a moment before the process that held it has ended."""
    if process is None:
        return False
    ended, _, _ = select.select([process], [], [], 0)
    return not ended
