"""Jobs on a cluster: how soon they start, and how two of them share the slots of three nodes."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bench.stage import Bar, Sheet, Wrong, local_cluster
from remuda.config import Config
from remuda.peer.local import LocalCluster
from remuda.peer.observer import cluster_log, current
from remuda.pipeline.control import job_control
from remuda.pipeline.submission import submission_of
from remuda.replica.state import Replica

LIMIT_S = 900.0

_SESSION_TIMEOUT_S = 4.0
_PATIENCE_S = 240.0
_SLOTS = 4


def run(sheet: Sheet) -> None:
    with local_cluster(_SESSION_TIMEOUT_S) as cluster:
        cluster.config = replace(cluster.config, slots=_SLOTS, driver_memory_mb=512)
        for _ in range(3):
            cluster.start_peer()
        folder = Path(cluster.config.data) / "bench"
        folder.mkdir()
        (folder / "in").mkdir()
        (folder / "in" / "a.json").write_text("\n".join(f'{{"n": {n}}}' for n in range(1000)))
        _until(cluster.config, lambda replica: len(replica.slots) == 3 * _SLOTS, "slots are there")
        _starts(sheet, cluster, folder)
        _shares(sheet, cluster, folder)


def _starts(sheet: Sheet, cluster: LocalCluster, folder: Path) -> None:
    """Submitted, on a node that has never run a job; and again, with a warm driver there."""
    cold = _ran(cluster, _job(folder, "first"))
    sheet.figure("first job, from submission to its sealed output", cold, "s")
    # The node's next driver is warming up meanwhile.
    time.sleep(60)
    warm = _ran(cluster, _job(folder, "second"))
    sheet.figure("second job, on a warm driver", warm, "s")
    sheet.figure("the second takes, of the first", warm / cold, "times", Bar("under", 1.0))


def _shares(sheet: Sheet, cluster: LocalCluster, folder: Path) -> None:
    asyncio.run(_schedule_by_percentage(cluster.config))
    for name, percentage in (("seventy", 70), ("thirty", 30)):
        stream = _job(folder, name, mode="continuous", percentage=percentage)
        asyncio.run(_submit(cluster.config, stream))
    _share(sheet, cluster, {"seventy": 8, "thirty": 4}, "three nodes")
    leaving = cluster.peers[-1]
    began = time.monotonic()
    cluster.end_peers([leaving])
    _share(sheet, cluster, {"seventy": 6, "thirty": 2}, "two nodes")
    _until(cluster.config, _all_driven, "both are driven again")
    sheet.figure("after a node left, until both are driven", time.monotonic() - began, "s")


def _share(sheet: Sheet, cluster: LocalCluster, expected: dict[str, int], where: str) -> None:
    replica = _until(cluster.config, lambda replica: _held(replica) == expected, f"{expected}")
    held = _held(replica)
    for job, slots in held.items():
        sheet.figure(f"{where}, 70 to 30: slots of `{job}`", slots, "slots")
    if min(held.values()) == 0:
        raise Wrong(f"a job starves: {held}")


def _held(replica: Replica) -> dict[str, int]:
    held = Counter(slot.wanted.job for slot in replica.slots.values() if slot.wanted is not None)
    return {name: held[name] for name, job in replica.jobs.items() if not job.is_ended}


def _all_driven(replica: Replica) -> bool:
    going_on = [job for job in replica.jobs.values() if not job.is_ended]
    return all(job.phase == "running" and job.is_driven for job in going_on)


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────


def _job(folder: Path, name: str, **parts: Any) -> Path:
    file = folder / f"{name}.json"
    options = {"path": str(folder / "in")}
    out = {"path": str(folder / f"out-{name}")}
    catalog = [
        {"name": "in", "type": "input", "plugin": "json", "options": options, "schema": "n long"},
        {"name": "out", "type": "output", "plugin": "json", "options": out},
    ]
    job = {"id": name, "workflow": [["in", "out"]], "catalog": catalog, **parts}
    file.write_text(json.dumps(job))
    return file


def _ran(cluster: LocalCluster, job: Path) -> float:
    began = time.monotonic()
    asyncio.run(_submit(cluster.config, job, wait=True))
    return time.monotonic() - began


async def _submit(config: Config, job: Path, *, wait: bool = False) -> None:
    async with job_control(config) as jobs:
        submission = submission_of(job)
        await jobs.submit(submission)
        if wait:
            async with asyncio.timeout(_PATIENCE_S):
                ended = await jobs.ended(submission.id)
            if ended.phase != "completed":
                raise Wrong(f"job {submission.id} is {ended.phase}: {ended.reason}")


async def _schedule_by_percentage(config: Config) -> None:
    async with job_control(config) as jobs:
        await jobs.schedule_by("percentage")


def _until(config: Config, true: Callable[[Replica], bool], what: str) -> Replica:
    began = time.monotonic()
    while not true(replica := asyncio.run(_replica(config))):
        if time.monotonic() - began > _PATIENCE_S:
            raise Wrong(f"waited {_PATIENCE_S:g} s in vain until {what}: {_held(replica)}")
        time.sleep(0.1)
    return replica


async def _replica(config: Config) -> Replica:
    async with cluster_log(config) as log:
        return await current(log)
