"""External events: put to a run, claimed by a node or a thread; and those found by a key.

An event that nobody has claimed waits in the order of arrival. One that names a thread or a node is
for that one only. A correlated event has no run: it lives in the partition of its key, knows which
nodes wait for it, and is sent to each of them as an event of its run.
"""

from __future__ import annotations

import msgspec
from littlehorse.model.external_event_pb2 import CorrelatedEvent, ExternalEvent, ExternalEventDef
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.service_pb2 import PutCorrelatedEventRequest, PutExternalEventRequest
from littlehorse.model.type_definition_pb2 import VariableValue

from remuda.partition.keys import after, number, text, u64
from remuda.workflow.commands import (
    Correlate,
    Correlated,
    CorrelatedDue,
    EventDue,
    Uncorrelate,
    encode,
)
from remuda.workflow.data.casts import assigned
from remuda.workflow.data.sound import ensure_sound
from remuda.workflow.data.values import run_id_from_text
from remuda.workflow.interrupts import interrupt, interrupted_by
from remuda.workflow.keys import (
    UNCLAIMED,
    correlated_key,
    correlation_key,
    event_key,
    unclaimed_key,
)
from remuda.workflow.run import Run
from remuda.workflow.work import Work, event_type

_decode_waiting = msgspec.msgpack.Decoder(Correlate).decode


def put_event(
    run: Run, definition: ExternalEventDef, request: PutExternalEventRequest, guid: str
) -> ExternalEvent:
    """The event, kept with the run. The same guid again is the same event: nothing happens."""
    work = run.work
    name = definition.id.name
    key = event_key(run.at, name, guid)
    there = work.objects.get(key, ExternalEvent)
    if there is not None:
        return there
    event = ExternalEvent(created_at=work.now, content=checked(work, definition, request.content))
    event.id.wf_run_id.CopyFrom(run.run_id)
    event.id.external_event_def_id.name = name
    event.id.guid = guid
    if request.HasField("thread_run_number"):
        event.thread_run_number = request.thread_run_number
    if request.HasField("node_run_position"):
        event.node_run_position = request.node_run_position
    work.objects.put(key, event)
    thread = interrupted_by(run, event)
    if thread is not None:
        interrupt(run, thread, event)
    else:
        work.state.put(unclaimed_key(run.at, name, _next_number(run, name)), guid.encode())
        policy = definition.retention_policy
        if policy.HasField("seconds_after_put"):
            due = EventDue(work.tenant, run.name, name, guid)
            work.set_timer(work.now_ms + policy.seconds_after_put * 1000, due)
    work.stir(run)
    return event


def checked(work: Work, definition: ExternalEventDef, content: VariableValue) -> VariableValue:
    """The content as its definition wants it."""
    ensure_sound(content)
    wanted = event_type(definition)
    if wanted is None or wanted.WhichOneof("defined_type") is None:
        return content
    return assigned(content, wanted, work)


def _next_number(run: Run, event: str) -> int:
    prefix = UNCLAIMED + run.at + text(event)
    for key, _ in run.work.state.scan(prefix, after(prefix), limit=1, reverse=True):
        return number(key, len(prefix)) + 1
    return 0


def claim_event(run: Run, node: NodeRun, name: str) -> ExternalEvent | None:
    """The first event that this node may have; it is the node's from now on."""
    work = run.work
    prefix = UNCLAIMED + run.at + text(name)
    for place, guid in work.state.scan(prefix, after(prefix)):
        key = event_key(run.at, name, guid.decode())
        event = work.objects.get(key, ExternalEvent)
        if event is None or not _may_have(node, event):
            continue
        event.claimed = True
        event.thread_run_number = node.id.thread_run_number
        event.node_run_position = node.id.position
        work.objects.change(key)
        work.state.delete(place)
        work.clear_timer(EventDue(work.tenant, run.name, name, guid.decode()))
        return event
    return None


def _may_have(node: NodeRun, event: ExternalEvent) -> bool:
    if event.HasField("thread_run_number") and (
        event.thread_run_number != node.id.thread_run_number
    ):
        return False
    return not event.HasField("node_run_position") or (event.node_run_position == node.id.position)


def delete_event(run: Run, name: str, guid: str) -> bool:
    """Whether there was one."""
    work = run.work
    key = event_key(run.at, name, guid)
    if work.objects.get(key, ExternalEvent) is None:
        return False
    prefix = UNCLAIMED + run.at + text(name)
    for place, found in work.state.scan(prefix, after(prefix)):
        if found.decode() == guid:
            work.state.delete(place)
            break
    work.clear_timer(EventDue(work.tenant, run.name, name, guid))
    work.objects.delete(key)
    return True


# ── correlated events, in the partition of their key ─────────────────────────────────────────


def put_correlated(
    work: Work, definition: ExternalEventDef, request: PutCorrelatedEventRequest
) -> CorrelatedEvent | None:
    """None if there is one with this key already."""
    name, correlation = definition.id.name, request.key
    key = correlated_key(work.tenant, name, correlation)
    if work.objects.get(key, CorrelatedEvent) is not None:
        return None
    event = CorrelatedEvent(created_at=work.now)
    event.id.key = correlation
    event.id.external_event_def_id.name = name
    event.content.CopyFrom(checked(work, definition, request.content))
    work.objects.put(key, event)
    config = definition.correlated_event_config
    if config.HasField("ttl_seconds"):
        due = CorrelatedDue(work.tenant, name, correlation)
        work.set_timer(work.now_ms + config.ttl_seconds * 1000, due)
    prefix = correlation_key(work.tenant, name, correlation)
    for place, data in list(work.state.scan(prefix, after(prefix))):
        work.state.delete(place)
        if _deliver(work, event, definition, _decode_waiting(data)):
            break
    return event


def correlate(work: Work, waiting: Correlate) -> None:
    """Remember a node that waits; if its event is here already, it gets it at once."""
    key = correlated_key(work.tenant, waiting.event, waiting.correlation)
    event = work.objects.get(key, CorrelatedEvent)
    definition = work.event_def(waiting.event)
    if event is not None and definition is not None:
        _deliver(work, event, definition, waiting)
        work.objects.change(key)
    else:
        work.state.put(_waiting_key(waiting), encode(waiting))


def uncorrelate(work: Work, waiting: Uncorrelate) -> None:
    work.state.delete(_waiting_key(waiting))


def delete_correlated(work: Work, name: str, correlation: str) -> bool:
    key = correlated_key(work.tenant, name, correlation)
    if work.objects.get(key, CorrelatedEvent) is None:
        return False
    work.clear_timer(CorrelatedDue(work.tenant, name, correlation))
    work.objects.delete(key)
    return True


def _deliver(
    work: Work, event: CorrelatedEvent, definition: ExternalEventDef, waiting: Correlate
) -> bool:
    """Send the event to a node. Whether it is gone after that."""
    guid = work.new_guid(waiting.run, waiting.thread, waiting.position)
    work.send(
        waiting.partition,
        Correlated(
            work.tenant,
            waiting.event,
            waiting.run,
            waiting.thread,
            waiting.position,
            guid,
            event.content.SerializeToString(deterministic=True),
        ),
    )
    external = event.external_events.add(guid=guid)
    external.wf_run_id.CopyFrom(run_id_from_text(waiting.run))
    external.external_event_def_id.name = waiting.event
    if definition.correlated_event_config.delete_after_first_correlation:
        delete_correlated(work, waiting.event, event.id.key)
        return True
    return False


def _waiting_key(waiting: Correlate | Uncorrelate) -> bytes:
    prefix = correlation_key(waiting.tenant, waiting.event, waiting.correlation)
    return prefix + text(waiting.run) + u64(waiting.thread) + u64(waiting.position)
