"""How `remuda up --detach` puts a cluster into the background, and knows that it is up."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from typing import IO

from remuda.cli.output import console, print_json
from remuda.config import Config
from remuda.errors import DataDirUnusable, RemudaError, ServerFailed
from remuda.peer.local import running_on
from remuda.peer.observer import cluster_log, current
from remuda.replica.state import Replica
from remuda.zookeeper.locate import data_dir, locate

_UP_WITHIN_S = 90.0


def detach_up(config: Config, peers: int, *, json: bool) -> None:
    """Run the same command without `--detach`, and wait until its peers are members."""
    data = data_dir(config)
    if running_on(data) is not None:
        raise DataDirUnusable(
            f"a cluster runs on {data} already: see `remuda status --data {data}`, or stop it "
            f"with `remuda down --data {data}`"
        )
    flags = [word for word in sys.argv[2:] if word not in ("--detach", "--json")]
    command = [sys.executable, "-m", "remuda.cli.main", "up", *flags]
    with tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(
            [*command, "--output", str(data / "up.log")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        )
        with contextlib.nullcontext() if json else console.status("starting the cluster …"):
            replica = _await_up(config, peers, child, complaints)
    address = str(locate(config))
    if json:
        pids = [replica.peers[peer].pid for peer in replica.members]
        print_json({"pid": child.pid, "zookeeper": address, "data": str(data), "peers": pids})
    else:
        console.print(
            f"a cluster of {peers} peers is up on {data}, ZooKeeper at {address}\n"
            f"[dim]see it with `remuda status`, end it with `remuda down`[/]",
            soft_wrap=True,
        )


def _await_up(
    config: Config, peers: int, child: subprocess.Popen[bytes], complaints: IO[bytes]
) -> Replica:
    deadline = time.monotonic() + _UP_WITHIN_S
    while time.monotonic() < deadline:
        if child.poll() is not None:
            complaints.seek(0)
            said = complaints.read().decode(errors="replace").strip().removeprefix("error: ")
            raise ServerFailed(said or f"the cluster ended with exit code {child.returncode}")
        running = running_on(data_dir(config))
        if running is not None and running.pid == child.pid:
            try:
                replica = asyncio.run(_current(config)) if peers else Replica()
            except RemudaError:
                replica = Replica()
            if sum(_is_alive(replica, peer) for peer in replica.members) >= peers:
                return replica
        time.sleep(0.1)
    child.terminate()
    raise ServerFailed(
        f"the cluster was not up within {_UP_WITHIN_S:g} s: its peers' logs are in "
        f"{data_dir(config) / 'logs'}"
    )


async def _current(config: Config) -> Replica:
    async with cluster_log(config) as log:
        return await current(log)


def _is_alive(replica: Replica, peer: str) -> bool:
    """Members of an earlier run may still be in the log, not yet declared gone."""
    try:
        os.kill(replica.peers[peer].pid, 0)
    except OSError:
        return False
    return True
