"""`python -m tests.histories.replay`: the digests that every history amounts to, here and now."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from remuda.log.port import Placed
from remuda.log.record import decode
from remuda.replica.entry import entry_of
from remuda.replica.fold import Played, play
from remuda.replica.state import Replica

HERE = Path(__file__).parent
EVERY = 25


def histories() -> list[Path]:
    return sorted(HERE.glob("*.jsonl"))


def digests_file(history: Path) -> Path:
    return history.with_suffix(".digests")


def lines_of(history: Path) -> list[bytes]:
    return history.read_bytes().removesuffix(b"\n").split(b"\n")


def plays(lines: Iterable[bytes]) -> Iterator[Played]:
    replica = Replica()
    for position, line in enumerate(lines):
        played = play(replica, entry_of(Placed(position, decode(line, position))))
        replica = played.replica
        yield played


def digests(lines: list[bytes]) -> str:
    """As a digests file has them."""
    told = [
        f"{played.entry.position} {played.replica.digest()}\n"
        for played in plays(lines)
        if (played.entry.position + 1) % EVERY == 0 or played.entry.position + 1 == len(lines)
    ]
    return "".join(told)


def main() -> None:
    for history in histories():
        sys.stdout.write(f"{history.name}\n{digests(lines_of(history))}")


if __name__ == "__main__":
    main()
