"""Throwing a WorkflowEvent, for those outside who wait for it."""

from __future__ import annotations

from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.wf_run_pb2 import ThreadRun
from littlehorse.model.wf_spec_pb2 import ThrowEventNode
from littlehorse.model.workflow_event_pb2 import WorkflowEvent

from remuda.partition.keys import after, number, text
from remuda.workflow.data.assignments import evaluated
from remuda.workflow.data.casts import assigned
from remuda.workflow.effects import EventThrown
from remuda.workflow.errors import BadValue
from remuda.workflow.keys import THROWN, thrown_key
from remuda.workflow.nodes.kind import Kind
from remuda.workflow.run import Run
from remuda.workflow.scope import ThreadScope
from remuda.workflow.work import event_type


def _arrive(run: Run, thread: ThreadRun, node: NodeRun, spec: ThrowEventNode) -> None:
    work = run.work
    name = spec.event_def_id.name
    node.throw_event.SetInParent()
    definition = work.thrown_def(name)
    if definition is None:
        raise BadValue(f"there is no WorkflowEventDef {name}")
    content = evaluated(spec.content, ThreadScope(run, thread))
    wanted = event_type(definition)
    if wanted is not None:
        content = assigned(content, wanted, work)
    event = WorkflowEvent(created_at=work.now, content=content)
    event.id.wf_run_id.CopyFrom(run.run_id)
    event.id.workflow_event_def_id.name = name
    event.id.number = _next_number(run, name)
    event.node_run_id.CopyFrom(node.id)
    # Written at once: the number of the next one is found by looking.
    key = thrown_key(run.at, name, event.id.number)
    work.objects.put(key, event)
    work.objects.flush_one(key)
    node.throw_event.workflow_event_id.CopyFrom(event.id)
    work.effects.append(EventThrown(work.tenant, run.name, name, event.id.number))


def _next_number(run: Run, event: str) -> int:
    prefix = THROWN + run.at + text(event)
    for key, _ in run.work.state.scan(prefix, after(prefix), limit=1, reverse=True):
        return number(key, len(prefix)) + 1
    return 0


THROW_EVENT = Kind(_arrive)
