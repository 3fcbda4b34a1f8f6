"""`python -m bench [NAME…] [--json] [--profile]`: run the benchmarks and print their figures."""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from bench import (
    agreement,
    draining,
    freezing,
    handing_over,
    healing,
    jobs,
    joining,
    partitions,
    passes,
    queues,
    replay,
    seeds,
    server_death,
    services,
    workflows,
)
from bench.stage import Sheet, Wrong
from remuda.errors import RemudaError

_MODULES = {
    "healing": healing,
    "freezing": freezing,
    "server_death": server_death,
    "joining": joining,
    "replay": replay,
    "services": services,
    "handing_over": handing_over,
    "draining": draining,
    "partitions": partitions,
    "queues": queues,
    "passes": passes,
    "agreement": agreement,
    "jobs": jobs,
    "workflows": workflows,
    "seeds": seeds,
}
_PROFILED = {"replay": replay.run, "services": services.run}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Remuda here.")
    parser.add_argument("names", metavar="NAME", nargs="*", help=", ".join(_MODULES))
    parser.add_argument("--json", action="store_true", help="print the figures as JSON lines")
    parser.add_argument(
        "--profile",
        action="store_true",
        help="also show where the time of a replay and of a service's member goes",
    )
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in _MODULES:
            parser.error(f"there is no benchmark `{name}`; there are: {', '.join(_MODULES)}")
    sheet = Sheet(json=arguments.json)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    sheet.say(f"{os.cpu_count()} cores, load {load} before we start", indent="")
    wrong = False
    for name in arguments.names or _MODULES:
        module = _MODULES[name]
        run: Callable[[Sheet], None] = module.run
        if name in _PROFILED:
            run = functools.partial(_PROFILED[name], profile=arguments.profile)
        sheet.begin(name)
        try:
            with _bounded(module.LIMIT_S):
                run(sheet)
        except (Wrong, RemudaError) as error:
            wrong = True
            print(f"{name}: {error}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            return 130
    bars = [figure.met for figure in sheet.figures if figure.met is not None]
    if bars:
        sheet.say(f"{sum(bars)} of {len(bars)} bars met", indent="")
    return 1 if wrong else 0


@contextmanager
def _bounded(limit_s: float) -> Generator[None]:
    """The last resort: every wait in a benchmark has a deadline of its own."""

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        # A pool waits for its workers, whatever happened: those that hang must go first.
        for child in multiprocessing.active_children():
            child.kill()
        raise Wrong(f"did not end within {limit_s:g} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    sys.exit(main())
