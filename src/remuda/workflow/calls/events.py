"""Calls that put and delete external and correlated events."""

from __future__ import annotations

from littlehorse.model.external_event_pb2 import CorrelatedEvent, ExternalEvent, ExternalEventDef
from littlehorse.model.service_pb2 import (
    DeleteCorrelatedEventRequest,
    DeleteExternalEventRequest,
    PutCorrelatedEventRequest,
    PutExternalEventRequest,
)

from remuda.partition.machine import Rejection
from remuda.workflow import events
from remuda.workflow.calls.runs import no_run
from remuda.workflow.commands import Call
from remuda.workflow.definitions.definition import Refusal, invalid
from remuda.workflow.keys import event_key
from remuda.workflow.work import Work


def put_external_event(
    work: Work, request: PutExternalEventRequest, call: Call
) -> ExternalEvent | Refusal:
    definition = _definition(work, request.external_event_def_id.name)
    if isinstance(definition, Refusal):
        return definition
    run = work.run(request.wf_run_id)
    if run is None:
        return no_run(request.wf_run_id)
    guid = request.guid or call.chosen
    if not guid:
        return invalid("guid: an event needs one")
    return events.put_event(run, definition, request, guid)


def delete_external_event(
    work: Work, request: DeleteExternalEventRequest, call: Call
) -> Refusal | None:
    run = work.run(request.id.wf_run_id)
    if run is None:
        return no_run(request.id.wf_run_id)
    name, guid = request.id.external_event_def_id.name, request.id.guid
    event = work.objects.get(event_key(run.at, name, guid), ExternalEvent)
    if event is not None and event.claimed:
        reason = f"event {name} {guid} was claimed, and run {run.name} may need it"
        return Refusal(Rejection.PRECONDITION, reason)
    if events.delete_event(run, name, guid):
        return None
    return Refusal(Rejection.NOT_FOUND, f"run {run.name} has no event {name} {guid}")


def put_correlated_event(
    work: Work, request: PutCorrelatedEventRequest, call: Call
) -> CorrelatedEvent | Refusal:
    definition = _definition(work, request.external_event_def_id.name)
    if isinstance(definition, Refusal):
        return definition
    name = definition.id.name
    if not definition.HasField("correlated_event_config"):
        return Refusal(Rejection.PRECONDITION, f"ExternalEventDef {name} is not for correlation")
    if not request.key:
        return invalid("key: a correlated event needs one")
    event = events.put_correlated(work, definition, request)
    if event is None:
        reason = f"there is a correlated event {name} with key {request.key} already"
        return Refusal(Rejection.EXISTS, reason)
    return event


def delete_correlated_event(
    work: Work, request: DeleteCorrelatedEventRequest, call: Call
) -> Refusal | None:
    name, key = request.id.external_event_def_id.name, request.id.key
    if events.delete_correlated(work, name, key):
        return None
    return Refusal(Rejection.NOT_FOUND, f"there is no correlated event {name} with key {key}")


def _definition(work: Work, name: str) -> ExternalEventDef | Refusal:
    found = work.event_def(name)
    if found is None:
        return Refusal(Rejection.NOT_FOUND, f"there is no ExternalEventDef {name}")
    return found
