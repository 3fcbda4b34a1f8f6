"""Waiting for an external event: put to the run, or found by a key. It may take too long."""

from __future__ import annotations

from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.wf_run_pb2 import ThreadRun
from littlehorse.model.wf_spec_pb2 import ExternalEventNode

from remuda.workflow.commands import NodeDue
from remuda.workflow.correlation import start_correlating, stop_correlating
from remuda.workflow.data.assignments import evaluated
from remuda.workflow.data.casts import whole_number
from remuda.workflow.data.values import is_null, text_of
from remuda.workflow.errors import BadValue
from remuda.workflow.events import claim_event
from remuda.workflow.failures import Failed
from remuda.workflow.nodes.kind import Kind
from remuda.workflow.run import Run
from remuda.workflow.scope import ThreadScope


def _arrive(run: Run, thread: ThreadRun, node: NodeRun, spec: ExternalEventNode) -> None:
    work = run.work
    scope = ThreadScope(run, thread)
    waiting = node.external_event
    waiting.external_event_def_id.CopyFrom(spec.external_event_def_id)
    waiting.mask_correlation_key = spec.mask_correlation_key
    name = spec.external_event_def_id.name
    if work.event_def(name) is None:
        raise BadValue(f"there is no ExternalEventDef {name}")
    if spec.HasField("timeout_seconds"):
        seconds = whole_number(evaluated(spec.timeout_seconds, scope), "time-out")
        due = NodeDue(work.tenant, run.name, thread.number, node.id.position)
        work.set_timer(work.now_ms + seconds * 1000, due)
    if spec.HasField("correlation_key"):
        key = evaluated(spec.correlation_key, scope)
        if is_null(key):
            raise BadValue(f"the correlation key of event {name} is null")
        waiting.correlation_key = text_of(key)
        start_correlating(run, node)


def _poll(run: Run, thread: ThreadRun, node: NodeRun, spec: ExternalEventNode) -> bool | Failed:
    work = run.work
    name = spec.external_event_def_id.name
    event = claim_event(run, node, name)
    if event is not None:
        node.external_event.external_event_id.CopyFrom(event.id)
        node.external_event.event_time.CopyFrom(event.created_at)
        work.clear_timer(NodeDue(work.tenant, run.name, thread.number, node.id.position))
        stop_correlating(run, node)
        return True
    if node.external_event.timed_out:
        stop_correlating(run, node)
        return Failed("TIMEOUT", f"no event {name} in time")
    return False


EXTERNAL_EVENT = Kind(_arrive, _poll)
