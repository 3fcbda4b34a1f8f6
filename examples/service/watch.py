"""Three ticker processes; then one is killed, one is added, one leaves: watch the units move."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "REMUDA_SESSION_TIMEOUT": "2", "REMUDA_SETTLE_TIME": "1"}
SHARDS = [f"shard-{number}" for number in range(1, 8)]


def remuda(*words: str) -> str:
    command = [sys.executable, "-m", "remuda.cli.main", *words]
    return subprocess.run(
        command, env=ENVIRONMENT, check=True, capture_output=True, text=True
    ).stdout


def start() -> subprocess.Popen[bytes]:
    command = [sys.executable, str(HERE / "ticker.py")]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL)


def watch(title: str, seconds: float) -> None:
    print(f"\n{title}")
    shown = ""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pids = {peer["id"]: peer["pid"] for peer in json.loads(remuda("status", "--json"))["peers"]}
        owned: dict[str, list[str]] = {}
        for unit in json.loads(remuda("units", "list", "ticker", "--json")):
            owner = f"process {pids.get(unit['owner'], '?')}" if unit["owner"] else "nobody"
            owned.setdefault(owner, []).append(unit["id"].removeprefix("shard-"))
        line = "   ".join(f"{owner}: {' '.join(units)}" for owner, units in sorted(owned.items()))
        if line != shown:
            print(f"  {line}", flush=True)
            shown = line
        time.sleep(0.1)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="remuda-ticker-") as data:
        ENVIRONMENT["REMUDA_DATA"] = data
        remuda("up", "--peers", "0", "--detach")
        processes: list[subprocess.Popen[bytes]] = []
        try:
            remuda("units", "add", "ticker", *SHARDS)
            processes += [start(), start(), start()]
            watch("three processes join", 7)
            processes.pop(0).kill()
            watch("one is killed with -9: its shards move within the session time-out", 5)
            processes.append(start())
            watch("another one joins: it gets its share, once the members have settled", 5)
            processes[0].send_signal(signal.SIGTERM)
            watch("one is asked to leave: its shards move first, then it goes", 4)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
            remuda("down")


if __name__ == "__main__":
    main()
