"""`python -m remuda.testing.run`: many seeds, or the story of one.

--seeds N     run seeds 0 to N-1 on all cores; the first failure prints its seed
--seed S      run one seed and tell its story, entry by entry
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from remuda.testing.simulation import CheckFailed, Simulation


def run_seed(seed: int) -> tuple[int, int, str | None]:
    """The seed, how many entries its log has, and what went wrong."""
    simulation = Simulation(seed)
    try:
        simulation.run()
    except CheckFailed as failure:
        return seed, len(simulation.history), str(failure)
    return seed, len(simulation.history), None


def run_many(seeds: range) -> bool:
    started = time.monotonic()
    entries = 0
    shown_at = started
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for done, (seed, length, failure) in enumerate(pool.map(run_seed, seeds, chunksize=8), 1):
            entries += length
            if failure is not None:
                _say(f"FAILED: {failure}\nIts story: make sim SEED={seed}")
                pool.shutdown(cancel_futures=True)
                return False
            if time.monotonic() - shown_at > 5:
                shown_at = time.monotonic()
                _say(f"{done} of {len(seeds)} seeds pass so far")
    took = time.monotonic() - started
    _say(f"{len(seeds)} seeds passed: {entries:,} entries in {took:.1f} s")
    return True


def tell_one(seed: int) -> bool:
    simulation = Simulation(seed, record_story=True)
    try:
        simulation.run()
    except CheckFailed as failure:
        outcome = f"FAILED: {failure}"
    else:
        outcome = f"seed {seed} passed"
    _say("\n".join([*(simulation.story or ()), outcome]))
    return not outcome.startswith("FAILED")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description="Simulate clusters from seeds.")
    parser.add_argument("--seeds", type=int, default=2000, help="how many seeds to run")
    parser.add_argument("--seed", type=int, help="tell the story of this one")
    arguments = parser.parse_args()
    passed = (
        tell_one(arguments.seed) if arguments.seed is not None else run_many(range(arguments.seeds))
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
