# The client has no types to rely on.
# pyright: basic
"""How many workflows of three no-op steps a node finishes, and how long each takes.

One node and one process of LittleHorse's own task workers, all synced to disk; a client that runs
a workflow and waits for the event that it throws at its end. One at a time shows what a workflow
costs, 32 in flight what the node can do.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
import uuid
from typing import Any

from littlehorse.config import LHConfig
from littlehorse.model.object_id_pb2 import WorkflowEventDefId
from littlehorse.model.service_pb2 import AwaitWorkflowEventRequest, RunWfRequest
from littlehorse.worker import LHTaskWorker
from littlehorse.workflow import Workflow, WorkflowThread, create_workflow_spec

from bench.stage import Bar, Sheet, Wrong, local_cluster, until
from bench.workflow_worker import step
from remuda.peer.local import LocalCluster
from remuda.peer.observer import cluster_log, current
from remuda.zookeeper.tether import tethered

LIMIT_S = 180.0

_SESSION_TIMEOUT_S = 10.0
_STEPS = ("step-one", "step-two", "step-three")
_SPEC, _DONE = "three-steps", "done"
_WARM_UP_S, _SECONDS = 3.0, 8.0
_IN_FLIGHT = 32
_BARS = {
    1: {"p50": Bar("under", 10.0)},
    _IN_FLIGHT: {"rate": Bar("at least", 500.0), "p99": Bar("under", 100.0)},
}


def run(sheet: Sheet) -> None:
    with local_cluster(_SESSION_TIMEOUT_S) as cluster:
        cluster.start_peer()
        host, port = asyncio.run(_address(cluster)).rsplit(":", 1)
        config = LHConfig()
        config.load({"LHC_API_HOST": host, "LHC_API_PORT": port})
        for name in _STEPS:
            LHTaskWorker(step, name, config).register_task_def()
        create_workflow_spec(Workflow(_SPEC, _three_steps), config)
        command = [sys.executable, "-m", "bench.workflow_worker", host, port, *_STEPS]
        worker = subprocess.Popen(tethered(command), stderr=subprocess.DEVNULL)
        try:
            asyncio.run(_measure_all(sheet, config))
        finally:
            worker.kill()
            worker.wait()


def _three_steps(thread: WorkflowThread) -> None:
    number = thread.declare_int("number").required()
    for name in _STEPS:
        thread.execute(name, number)
    thread.throw_event(_DONE, number, auto_register=True, return_type=int)


async def _address(cluster: LocalCluster) -> str:
    """Of the node, when it has all partitions."""
    async with cluster_log(cluster.config) as log:

        async def look() -> Any:
            return await current(log)

        def serves(replica: Any) -> bool:
            pool = replica.pools.get("partitions")
            return bool(pool and pool.units) and all(
                unit.owner is not None for unit in pool.units.values()
            )

        replica = await until(look, serves, "the node serves its partitions")
        return next(info.address for info in replica.peers.values() if info.address)


async def _measure_all(sheet: Sheet, config: LHConfig) -> None:
    stub: Any = config.stub(async_channel=True)
    await _finished(stub, 1, _WARM_UP_S)
    for in_flight in (1, _IN_FLIGHT):
        took_s, waits_s = await _finished(stub, in_flight, _SECONDS)
        cuts = statistics.quantiles([wait_s * 1000 for wait_s in waits_s], n=100)
        rate = len(waits_s) / took_s
        bars = _BARS[in_flight]
        name = f"{in_flight} in flight"
        sheet.figure(f"{name}: workflows", rate, "/s", bars.get("rate"))
        sheet.figure(f"{name}: steps", rate * len(_STEPS), "/s")
        sheet.figure(f"{name}: done, p50", cuts[49], "ms", bars.get("p50"))
        sheet.figure(f"{name}: done, p99", cuts[98], "ms", bars.get("p99"))


async def _finished(stub: Any, in_flight: int, seconds: float) -> tuple[float, list[float]]:
    waits_s: list[float] = []
    started = time.perf_counter()

    async def call(caller: int) -> None:
        while (asked := time.perf_counter()) - started < seconds:
            await _once(stub, caller)
            waits_s.append(time.perf_counter() - asked)

    await asyncio.gather(*map(call, range(in_flight)))
    return time.perf_counter() - started, waits_s


async def _once(stub: Any, number: int) -> None:
    request = RunWfRequest(wf_spec_name=_SPEC, id=uuid.uuid4().hex)
    request.variables["number"].int = number
    run = await stub.RunWf(request, timeout=60)
    event = await stub.AwaitWorkflowEvent(
        AwaitWorkflowEventRequest(wf_run_id=run.id, event_def_ids=[WorkflowEventDefId(name=_DONE)]),
        timeout=60,
    )
    if event.content.int != number:
        raise Wrong(f"run {run.id.id} threw {event.content}, not {number}")
