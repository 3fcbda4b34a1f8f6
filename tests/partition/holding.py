"""A process that has a store open, says so, and does nothing more.

python -m tests.partition.holding HOME PEER EPOCH
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from remuda.partition.rocks import RocksStore
from remuda.partition.tenant import moved_in


def main(home: Path, peer: str, epoch: int) -> None:
    store = RocksStore.open(home / "store", epoch)
    moved_in(home, peer, epoch)
    print("open", flush=True)
    signal.pause()
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
