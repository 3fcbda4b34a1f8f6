"""`python -m tests.histories.record NAME`: a new history, out of a simulation that has seen much.

--seed S            which simulation; look at its story first (`python -m remuda.testing.run`)
--processes-max N   how many processes it runs at most
--faults-s T        for how long things go wrong

It writes NAME.jsonl and NAME.digests beside this file, and refuses to write over a history that is
there: only ever add new ones, and never change the old.

0.1-membership came of `--seed 44 --processes-max 8 --faults-s 40`, by the simulator of its day:
joins, joins that were turned away, given up or stranded, clean and reported leaves, gcs, commands
that came too late. 0.1-ownership came of seed 4 likewise: units, claims, pegs, drains, handoffs.
0.1-jobs came of seed 26 likewise: slots, jobs, acks, drivers that stopped, seals, kills.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from msgspec import Raw

from remuda.log.record import Record, encode
from remuda.replica.fold import Played
from remuda.testing.simulation import Simulation
from tests.histories.replay import HERE, digests, digests_file, plays


class Recording(Simulation):
    """A simulation that keeps every entry as it was written, whatever a gc trims."""

    def __init__(self, seed: int, *, processes_max: int, faults_s: float) -> None:
        self.lines: list[bytes] = []
        super().__init__(seed, processes_max=processes_max, faults_s=faults_s)

    def append(self, record: Record) -> int:
        position = super().append(record)
        if position == len(self.lines):
            self.lines.append(encode(record))
        return position

    def void(self) -> None:
        """What an operator leaves in the place of a corrupt entry, which no simulation has."""
        position = len(self.lines)
        self.append(Record(f"void-{position}", "operator", 0, Raw(b'{"type":"void"}')))


def main() -> int:
    parser = argparse.ArgumentParser(description="Record a history out of a simulation.")
    parser.add_argument("name", help="the version, and what is in it: 0.1-membership")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--processes-max", type=int, default=7)
    parser.add_argument("--faults-s", type=float, default=25.0)
    asked = parser.parse_args()
    history = HERE / f"{asked.name}.jsonl"
    if history.exists():
        sys.stderr.write(f"{history.name} is there already, and a history is never rewritten\n")
        return 1
    simulation = Recording(asked.seed, processes_max=asked.processes_max, faults_s=asked.faults_s)
    simulation.run()
    simulation.void()
    history.write_bytes(b"".join(line + b"\n" for line in simulation.lines))
    digests_file(history).write_text(digests(simulation.lines))
    for kind, count in sorted(Counter(map(_kind, plays(simulation.lines))).items()):
        sys.stdout.write(f"{count:6}  {kind}\n")
    return 0


def _kind(played: Played) -> str:
    name = type(played.entry.command).__name__
    return name if played.rejected is None else f"{name}, rejected"


if __name__ == "__main__":
    sys.exit(main())
