"""What is true of every state that the commands can produce, by name. Each answers what is wrong.

They look at a whole partition, and are for tests and for doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from google.protobuf.message import Message
from littlehorse.model.common_enums_pb2 import (
    HALTED,
    HALTING,
    RUNNING,
    TASK_SCHEDULED,
    LHStatus,
)
from littlehorse.model.external_event_pb2 import ExternalEvent
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.task_run_pb2 import TaskRun
from littlehorse.model.user_tasks_pb2 import UserTaskRun
from littlehorse.model.wf_run_pb2 import ThreadRun, WfRun
from littlehorse.model.workflow_event_pb2 import WorkflowEvent

from remuda.partition.keys import after, parts
from remuda.partition.machine import View
from remuda.workflow.data.casts import ms_of_timestamp
from remuda.workflow.data.values import run_id_text
from remuda.workflow.halts import FROM_OUTSIDE, has_halt, is_about
from remuda.workflow.keys import (
    EVENT,
    NODE,
    QUEUE,
    RUN,
    TAG,
    TASK,
    THROWN,
    UNCLAIMED,
    USER_TASK,
    queue_key,
)
from remuda.workflow.run import ENDED, FAILED
from remuda.workflow.tags import fixed_tags, moving_tags, tag_prefix
from remuda.workflow.tasks import OPEN

M = TypeVar("M", bound=Message)


def broken(view: View) -> list[str]:
    """Everything that is wrong, with the name of the rule."""
    return [
        f"{rule.__name__.replace('_', ' ')}: {wrong}" for rule in INVARIANTS for wrong in rule(view)
    ]


# ── runs and threads ─────────────────────────────────────────────────────────────────────────


def a_run_has_the_status_of_its_first_thread(view: View) -> Iterator[str]:
    for _, run in _runs(view):
        first = run.thread_runs[0]
        asked = first.status in ENDED or has_halt(first, "manual_halt")
        wanted = first.status if asked else RUNNING
        if run.status != wanted:
            yield f"{_name(run)} is {LHStatus.Name(run.status)}, not {LHStatus.Name(wanted)}"


def what_has_ended_has_an_end(view: View) -> Iterator[str]:
    for _, run in _runs(view):
        if run.HasField("end_time") != (run.status in ENDED):
            yield _name(run)
        for thread in run.thread_runs:
            if thread.HasField("end_time") != (thread.status in ENDED):
                yield f"{_name(run)}, thread {thread.number}"


def a_thread_stands_still_for_a_reason(view: View) -> Iterator[str]:
    for run, thread in _threads(view):
        stands = thread.status in (HALTING, HALTED)
        if stands != bool(thread.halt_reasons):
            status = LHStatus.Name(thread.status)
            yield f"{_name(run)}, thread {thread.number} is {status}: {thread.halt_reasons}"


def children_stand_still_with_their_parents(view: View) -> Iterator[str]:
    for run, thread in _threads(view):
        for number in thread.child_thread_ids:
            child = run.thread_runs[number]
            if child.status in ENDED:
                continue
            handles = any(is_about(one, number) for one in thread.halt_reasons)
            if handles:
                wanted = any(has_halt(thread, name) for name in sorted(FROM_OUTSIDE))
            else:
                wanted = bool(thread.halt_reasons) or thread.status in FAILED
            if has_halt(child, "parent_halted") != wanted:
                yield f"{_name(run)}, thread {number} of {thread.number}"


def nothing_is_stuck(view: View) -> Iterator[str]:
    """A thread that only waits for its handler to begin has begun it."""
    for run, thread in _threads(view):
        reasons = {one.WhichOneof("reason") for one in thread.halt_reasons}
        if thread.status == HALTED and reasons <= {"pending_failure", "pending_interrupt"}:
            yield f"{_name(run)}, thread {thread.number}: {sorted(map(str, reasons))}"


def a_thread_that_completed_has_left_no_child_running(view: View) -> Iterator[str]:
    for run, thread in _threads(view):
        if thread.status not in ENDED or thread.status in FAILED:
            continue
        for number in thread.child_thread_ids:
            if run.thread_runs[number].status in (RUNNING, HALTING):
                yield f"{_name(run)}, thread {number} of {thread.number}"


def what_is_pending_is_a_reason(view: View) -> Iterator[str]:
    for _, run in _runs(view):
        listed = sorted(
            [one.interrupted_thread_id for one in run.pending_interrupts]
            + [one.failed_thread_run for one in run.pending_failures]
        )
        reasons = sorted(
            thread.number
            for thread in run.thread_runs
            for one in thread.halt_reasons
            if one.WhichOneof("reason") in ("pending_interrupt", "pending_failure")
        )
        if listed != reasons:
            yield f"{_name(run)}: {listed} are listed, {reasons} stand still"


def a_thread_is_at_its_last_node(view: View) -> Iterator[str]:
    last: dict[tuple[str, int], int] = {}
    for _, node in _all(view, NODE, NodeRun):
        thread = run_id_text(node.id.wf_run_id), node.id.thread_run_number
        last[thread] = max(last.get(thread, 0), node.id.position)
    for run, thread in _threads(view):
        found = last.get((_name(run), thread.number))
        if found != thread.current_node_position:
            yield f"{_name(run)}, thread {thread.number}: {found}"


# ── tasks and events ─────────────────────────────────────────────────────────────────────────


def exactly_the_scheduled_tasks_are_in_the_queue(view: View) -> Iterator[str]:
    queued = {key for key, _ in view.scan(QUEUE, after(QUEUE))}
    wanted: set[bytes] = set()
    for key, task in _all(view, TASK, TaskRun):
        if task.status == TASK_SCHEDULED:
            tenant = str(parts(key, TASK, str)[0])
            at_ms = ms_of_timestamp(task.attempts[-1].schedule_time)
            wanted.add(queue_key(tenant, task.task_def_id.name, at_ms, task.id.task_guid))
    if queued != wanted:
        yield f"{len(queued - wanted)} too many, {len(wanted - queued)} too few"


def a_thread_that_stands_still_gives_out_no_task(view: View) -> Iterator[str]:
    still = {(_name(run), thread.number) for run, thread in _threads(view) if thread.halt_reasons}
    for _, task in _all(view, TASK, TaskRun):
        node_id = task.source.task_node.node_run_id
        if task.source.WhichOneof("task_run_source") != "task_node":
            continue
        thread = run_id_text(node_id.wf_run_id), node_id.thread_run_number
        if task.status == TASK_SCHEDULED and thread in still:
            yield f"{thread[0]}, thread {thread[1]}: {task.task_def_id.name}"


def only_the_last_attempt_is_open(view: View) -> Iterator[str]:
    for _, task in _all(view, TASK, TaskRun):
        statuses = [attempt.status for attempt in task.attempts]
        if task.status != statuses[-1] or any(one in OPEN for one in statuses[:-1]):
            yield f"{task.id.task_guid}: {statuses}"
        if len(statuses) > task.total_attempts:
            yield f"{task.id.task_guid}: {len(statuses)} attempts of {task.total_attempts}"


def exactly_the_unclaimed_events_wait(view: View) -> Iterator[str]:
    waiting = {guid.decode() for _, guid in view.scan(UNCLAIMED, after(UNCLAIMED))}
    wanted = {event.id.guid for _, event in _all(view, EVENT, ExternalEvent) if not event.claimed}
    if waiting != wanted:
        yield f"{sorted(waiting ^ wanted)}"


def every_tag_leads_to_its_object(view: View) -> Iterator[str]:
    """But for variables, whose tags are their spec's business."""
    wanted: set[bytes] = set()
    tenants: set[str] = set()
    for prefix, kind in _TAGGED.items():
        for key, message in _all(view, prefix, kind):
            tenant = str(parts(key, prefix, str)[0])
            tenants.add(tenant)
            wanted |= {*fixed_tags(tenant, message), *moving_tags(tenant, message)}
    variables = tuple(tag_prefix(tenant, "variable") for tenant in sorted(tenants))
    found = {key for key, _ in view.scan(TAG, after(TAG)) if not key.startswith(variables)}
    if found != wanted:
        yield f"{len(found - wanted)} too many, {len(wanted - found)} too few"


INVARIANTS: tuple[Callable[[View], Iterator[str]], ...] = (
    a_run_has_the_status_of_its_first_thread,
    what_has_ended_has_an_end,
    a_thread_stands_still_for_a_reason,
    children_stand_still_with_their_parents,
    nothing_is_stuck,
    a_thread_that_completed_has_left_no_child_running,
    what_is_pending_is_a_reason,
    a_thread_is_at_its_last_node,
    exactly_the_scheduled_tasks_are_in_the_queue,
    a_thread_that_stands_still_gives_out_no_task,
    only_the_last_attempt_is_open,
    exactly_the_unclaimed_events_wait,
    every_tag_leads_to_its_object,
)

# ── inside ───────────────────────────────────────────────────────────────────────────────────

_TAGGED: Mapping[bytes, type[Message]] = {
    RUN: WfRun,
    NODE: NodeRun,
    TASK: TaskRun,
    EVENT: ExternalEvent,
    USER_TASK: UserTaskRun,
    THROWN: WorkflowEvent,
}


def _all(view: View, prefix: bytes, kind: type[M]) -> Iterator[tuple[bytes, M]]:
    for key, data in view.scan(prefix, after(prefix)):
        yield key, kind.FromString(data)


def _runs(view: View) -> Iterator[tuple[bytes, WfRun]]:
    return _all(view, RUN, WfRun)


def _threads(view: View) -> Iterator[tuple[WfRun, ThreadRun]]:
    for _, run in _runs(view):
        for thread in run.thread_runs:
            yield run, thread


def _name(run: WfRun) -> str:
    return run_id_text(run.id)
