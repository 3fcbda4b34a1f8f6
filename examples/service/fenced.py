"""A store that refuses an old owner's write: a frozen process wakes in the middle of its work."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import remuda

ACCOUNT = "account-1"


class Store:
    """One row a unit: its value, and the largest epoch that has written to it."""

    def __init__(self, path: str) -> None:
        self.database = sqlite3.connect(path, timeout=10, isolation_level=None)
        self.database.execute(
            "CREATE TABLE IF NOT EXISTS units (id TEXT PRIMARY KEY, value INT, epoch INT)"
        )

    def add(self, unit: str, amount: int, epoch: int) -> bool:
        """One statement, so that no other write comes between the check and the change."""
        cursor = self.database.execute(
            "INSERT INTO units VALUES (:id, :amount, :epoch) ON CONFLICT (id) DO UPDATE "
            "SET value = value + :amount, epoch = :epoch WHERE :epoch >= epoch",
            {"id": unit, "amount": amount, "epoch": epoch},
        )
        return cursor.rowcount == 1


class Teller(remuda.Service):
    def __init__(self, path: str) -> None:
        self.store = Store(path)

    async def start(self, unit: remuda.Unit) -> None:
        print(f"process {os.getpid()} owns {unit.id} under epoch {unit.epoch}", flush=True)
        unit.spawn(self.work(unit))

    async def work(self, unit: remuda.Unit) -> None:
        while True:
            # A process may sleep for ever between any two lines: here, it does.
            time.sleep(0.05)
            if not self.store.add(unit.id, 1, unit.epoch):
                print(f"process {os.getpid()} is refused: epoch {unit.epoch} is old", flush=True)
                return
            await asyncio.sleep(0.05)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="remuda-fenced-") as data:
        config = remuda.Config(data=f"{data}/cluster", session_timeout_s=2.0)
        with remuda.LocalCluster(config) as cluster:
            environment = {
                **os.environ,
                "REMUDA_ZOOKEEPER": cluster.address,
                "REMUDA_SESSION_TIMEOUT": "2",
            }
            command = [sys.executable, __file__, str(Path(data) / "store.sqlite")]
            add = [sys.executable, "-m", "remuda.cli.main", "units", "add", "tellers", ACCOUNT]
            subprocess.run(add, env=environment, check=True)
            first = subprocess.Popen(command, env=environment)
            time.sleep(3)
            second = subprocess.Popen(command, env=environment)
            time.sleep(2)
            print(f"process {first.pid} falls asleep in the middle of its work", flush=True)
            first.send_signal(signal.SIGSTOP)
            time.sleep(5)
            print(f"process {first.pid} wakes", flush=True)
            first.send_signal(signal.SIGCONT)
            time.sleep(3)
            for process in (first, second):
                process.terminate()
                process.wait()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        remuda.serve("tellers", Teller(sys.argv[1]))
    else:
        main()
