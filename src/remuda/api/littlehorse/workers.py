"""Calls of task workers, and on task runs. `PollTask` is in `polling`."""

# pyright: basic
# The requests are of many types, and have the fields that their messages say.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message
from littlehorse.model.service_pb2 import LHHostInfo, RegisterTaskWorkerResponse

from remuda.api.littlehorse.handlers import Asked, Desk, Handler, found, keyed, put
from remuda.api.littlehorse.listing import parts_of_a_run, searched
from remuda.workflow.data.values import run_id_text
from remuda.workflow.gateway import missing
from remuda.workflow.keys import checkpoint_key, place, task_key
from remuda.workflow.readers import task_run_shown


async def _register(desk: Desk, asked: Asked, request: Any) -> Message:
    """Every node: each hands out the tasks of its own partitions, so a worker polls them all."""
    await check_task_def(desk, asked.tenant, request.task_def_id.name)
    replica = desk.router.replica
    addresses = sorted(info.address for info in replica.peers.values() if info.address)
    hosts = [_host(address) for address in addresses]
    partitions = range(desk.gateway.route.partitions)
    healthy = all(desk.router.owner(number) for number in partitions)
    return RegisterTaskWorkerResponse(your_hosts=hosts, is_cluster_healthy=healthy)


async def check_task_def(desk: Desk, tenant: str, name: str) -> None:
    if await desk.gateway.definition(tenant, "task", name) is None:
        raise missing(f"there is no TaskDef {name}: put it first")


def _host(address: str) -> LHHostInfo:
    host, _, port = address.rpartition(":")
    return LHHostInfo(host=host, port=int(port))


async def _task_run(desk: Desk, asked: Asked, request: Any) -> Message:
    run = request.wf_run_id
    key = task_key(place(asked.tenant, run), request.task_guid)
    data = await desk.gateway.stored(desk.gateway.home_of_run(asked.tenant, run), key)
    what = f"task {request.task_guid} of run {run_id_text(run)}"
    return task_run_shown(found(data, asked, what))


async def _checkpoint(desk: Desk, asked: Asked, request: Any) -> Message:
    run, guid = request.task_run.wf_run_id, request.task_run.task_guid
    number = request.checkpoint_number
    key = keyed(checkpoint_key, place(asked.tenant, run), guid, number)
    data = await desk.gateway.stored(desk.gateway.home_of_run(asked.tenant, run), key)
    return found(data, asked, f"checkpoint {number} of task {guid} of run {run_id_text(run)}")


HANDLERS: Mapping[str, Handler] = {
    "RegisterTaskWorker": _register,
    "ReportTask": put,
    "PutCheckpoint": put,
    "GetCheckpoint": _checkpoint,
    "GetTaskRun": _task_run,
    "ListTaskRuns": parts_of_a_run("task", task_run_shown),
    "SearchTaskRun": searched,
}
