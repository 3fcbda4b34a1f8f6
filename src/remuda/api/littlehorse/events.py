"""Calls on events: those that come from outside, those found by a key, those that runs throw."""

# pyright: basic
# The requests are of many types, and have the fields that their messages say.

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import Message
from littlehorse.model.service_pb2_grpc import LittleHorseStub
from littlehorse.model.workflow_event_pb2 import WorkflowEvent

from remuda.api.littlehorse.callers import TENANT
from remuda.api.littlehorse.handlers import Asked, Desk, Handler, found, keyed, put
from remuda.api.littlehorse.listing import parts_of_a_run, searched
from remuda.api.routing import KEY
from remuda.errors import NotServed
from remuda.partition.runtime import Partition
from remuda.wire.status import error_of_call
from remuda.workflow.data.values import run_id_text
from remuda.workflow.gateway import invalid
from remuda.workflow.keys import correlated_key, event_key, place, thrown_key
from remuda.workflow.placement import partition_of_correlation


async def _external_event(desk: Desk, asked: Asked, request: Any) -> Message:
    run, name = request.wf_run_id, request.external_event_def_id.name
    key = event_key(place(asked.tenant, run), name, request.guid)
    data = await desk.gateway.stored(desk.gateway.home_of_run(asked.tenant, run), key)
    return found(data, asked, f"event {name} {request.guid} of run {run_id_text(run)}")


async def _correlated_event(desk: Desk, asked: Asked, request: Any) -> Message:
    name = request.external_event_def_id.name
    partitions = desk.gateway.route.partitions
    home = partition_of_correlation(asked.tenant, name, request.key, partitions)
    data = await desk.gateway.stored(home, correlated_key(asked.tenant, name, request.key))
    return found(data, asked, f"correlated event {name} with key {request.key}")


async def _workflow_event(desk: Desk, asked: Asked, request: Any) -> Message:
    run, name = request.wf_run_id, request.workflow_event_def_id.name
    key = keyed(thrown_key, place(asked.tenant, run), name, request.number)
    data = await desk.gateway.stored(desk.gateway.home_of_run(asked.tenant, run), key)
    return found(data, asked, f"event {name} {request.number} thrown by run {run_id_text(run)}")


# ── waiting for one to be thrown ─────────────────────────────────────────────────────────────


async def _await_workflow_event(desk: Desk, asked: Asked, request: Any) -> Message:
    """The first that fits, now or when it is thrown. How long to wait is the client's deadline."""
    if not request.event_def_ids:
        raise invalid("event_def_ids: say which events to wait for")
    number = desk.gateway.home_of_run(asked.tenant, request.wf_run_id)
    is_passed_on = KEY in dict(asked.context.invocation_metadata() or ())
    while True:
        home = desk.router.here(number)
        address = "" if home is not None else desk.router.elsewhere(number)
        try:
            if home is not None:
                return await _thrown_here(desk, asked, request, home)
            if is_passed_on:
                raise NotServed(f"partition {number} is not served by this node")
            if address:
                return await _thrown_there(desk, asked, request, address)
        except NotServed:
            if is_passed_on:
                raise
        await desk.router.stirred()


async def _thrown_here(desk: Desk, asked: Asked, request: Any, home: Partition) -> Message:
    gone = asyncio.ensure_future(home.ended())
    try:
        with desk.announcements.thrown(asked.tenant, run_id_text(request.wf_run_id)) as heard:
            while not gone.done():
                heard.clear()
                event = await desk.gateway.thrown(asked.tenant, request)
                if event is not None:
                    return WorkflowEvent.FromString(event)
                hearing = asyncio.ensure_future(heard.wait())
                try:
                    await asyncio.wait([hearing, gone], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    hearing.cancel()
        raise NotServed(str(gone.result()))
    finally:
        gone.cancel()


async def _thrown_there(desk: Desk, asked: Asked, request: Any, address: str) -> Message:
    stub = LittleHorseStub(desk.router.channel(address))
    metadata = ((TENANT, asked.tenant), (KEY, desk.router.key))
    timeout = asked.context.time_remaining()
    try:
        return await stub.AwaitWorkflowEvent(request, metadata=metadata, timeout=timeout)
    except grpc.aio.AioRpcError as error:
        raise error_of_call(error) from None


HANDLERS: Mapping[str, Handler] = {
    "PutExternalEvent": put,
    "GetExternalEvent": _external_event,
    "ListExternalEvents": parts_of_a_run("event"),
    "SearchExternalEvent": searched,
    "PutCorrelatedEvent": put,
    "DeleteCorrelatedEvent": put,
    "GetCorrelatedEvent": _correlated_event,
    "SearchCorrelatedEvent": searched,
    "GetWorkflowEvent": _workflow_event,
    "ListWorkflowEvents": parts_of_a_run("thrown"),
    "SearchWorkflowEvent": searched,
    "AwaitWorkflowEvent": _await_workflow_event,
}
