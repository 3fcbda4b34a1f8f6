"""What happens when a timer fires. What it was set for may be over: then nothing does."""

from __future__ import annotations

from littlehorse.model.external_event_pb2 import ExternalEvent
from littlehorse.model.node_run_pb2 import NodeRun

from remuda.workflow.attempts import attempt_due
from remuda.workflow.commands import (
    ActionDue,
    AttemptDue,
    CorrelatedDue,
    Due,
    EventDue,
    NodeDue,
    RunDue,
    ScheduleDue,
)
from remuda.workflow.data.values import run_id_from_text
from remuda.workflow.events import delete_correlated, delete_event
from remuda.workflow.keys import event_key, node_key
from remuda.workflow.run import ENDED, Run
from remuda.workflow.runs import retire_run
from remuda.workflow.schedules import run_scheduled
from remuda.workflow.task_queue import load_task
from remuda.workflow.user_tasks import act, load_user_task
from remuda.workflow.work import Work


def fire(work: Work, due: Due) -> None:
    if isinstance(due, CorrelatedDue):
        delete_correlated(work, due.event, due.correlation)
        return
    if isinstance(due, ScheduleDue):
        run_scheduled(work, due)
        return
    run = work.run(run_id_from_text(due.run))
    if run is None:
        return
    match due:
        case NodeDue():
            _node(run, due)
        case AttemptDue():
            task = load_task(run, due.guid)
            if task is not None and len(task.attempts) - 1 == due.attempt:
                attempt_due(run, task)
        case ActionDue():
            user_task = load_user_task(run, due.guid)
            if user_task is not None:
                act(run, user_task, due)
                work.stir(run)
        case RunDue():
            retire_run(run)
        case EventDue():
            event = work.objects.get(event_key(run.at, due.event, due.guid), ExternalEvent)
            if event is not None and not event.claimed:
                delete_event(run, due.event, due.guid)


def _node(run: Run, due: NodeDue) -> None:
    node = run.work.objects.get(node_key(run.at, due.thread, due.position), NodeRun)
    if node is None or node.status in ENDED:
        return
    if node.WhichOneof("node_type") == "sleep":
        node.sleep.matured = True
    else:
        node.external_event.timed_out = True
    run.node_changed(node)
    run.work.stir(run)
