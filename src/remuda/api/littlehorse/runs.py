"""Calls on runs and what they are made of: nodes, variables, schedules."""

# pyright: basic
# The requests are of many types, and have the fields that their messages say.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message

from remuda.api.littlehorse.handlers import Asked, Desk, Handler, found, keyed, put
from remuda.api.littlehorse.listing import parts_of_a_run, searched
from remuda.partition.keys import u64
from remuda.workflow.data.values import run_id_text
from remuda.workflow.keys import node_key, place, run_key, schedule_key, variable_key
from remuda.workflow.placement import partition_of_schedule
from remuda.workflow.readers import node_run_shown, variable_shown


async def _wf_run(desk: Desk, asked: Asked, request: Any) -> Message:
    home = desk.gateway.home_of_run(asked.tenant, request)
    data = await desk.gateway.stored(home, run_key(place(asked.tenant, request)))
    return found(data, asked, f"run {run_id_text(request)}")


async def _node_run(desk: Desk, asked: Asked, request: Any) -> Message:
    run = request.wf_run_id
    place_of = request.thread_run_number, request.position
    key = keyed(node_key, place(asked.tenant, run), *place_of)
    data = await desk.gateway.stored(desk.gateway.home_of_run(asked.tenant, run), key)
    what = f"node {place_of[1]} in thread {place_of[0]} of run {run_id_text(run)}"
    return node_run_shown(found(data, asked, what))


async def _variable(desk: Desk, asked: Asked, request: Any) -> Message:
    run = request.wf_run_id
    key = keyed(variable_key, place(asked.tenant, run), request.thread_run_number, request.name)
    data = await desk.gateway.stored(desk.gateway.home_of_run(asked.tenant, run), key)
    what = f"variable {request.name} in thread {request.thread_run_number} of run "
    return variable_shown(found(data, asked, what + run_id_text(run)))


async def _schedule(desk: Desk, asked: Asked, request: Any) -> Message:
    home = partition_of_schedule(asked.tenant, request.id, desk.gateway.route.partitions)
    data = await desk.gateway.stored(home, schedule_key(asked.tenant, request.id))
    return found(data, asked, f"schedule {request.id}")


def _thread(request: Any) -> bytes:
    if not request.HasField("thread_run_number"):
        return b""
    return keyed(u64, request.thread_run_number)


HANDLERS: Mapping[str, Handler] = {
    "RunWf": put,
    "GetWfRun": _wf_run,
    "SearchWfRun": searched,
    "StopWfRun": put,
    "ResumeWfRun": put,
    "RescueThreadRun": put,
    "DeleteWfRun": put,
    "GetNodeRun": _node_run,
    "ListNodeRuns": parts_of_a_run("node", node_run_shown, _thread),
    "SearchNodeRun": searched,
    "GetVariable": _variable,
    "ListVariables": parts_of_a_run("variable", variable_shown),
    "SearchVariable": searched,
    "ScheduleWf": put,
    "DeleteScheduledWfRun": put,
    "GetScheduledWfRun": _schedule,
    "SearchScheduledWfRun": searched,
}
