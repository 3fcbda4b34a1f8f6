"""Threads begin, enter nodes, and end."""

from __future__ import annotations

from collections.abc import Mapping

from littlehorse.model.common_enums_pb2 import (
    COMPLETED,
    RUNNING,
    LHStatus,
)
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.wf_run_pb2 import ThreadRun, ThreadType

from remuda.workflow.commands import RunDue
from remuda.workflow.correlation import stop_correlating
from remuda.workflow.data.casts import assigned
from remuda.workflow.data.values import is_null
from remuda.workflow.effects import RunEnded
from remuda.workflow.errors import BadValue
from remuda.workflow.failures import Failed, last_failure, record
from remuda.workflow.halts import halt_children, is_about, remove_halts
from remuda.workflow.keys import node_key
from remuda.workflow.run import FAILED, Run
from remuda.workflow.spec import ThreadPlan
from remuda.workflow.work import Work

THREADS_MAX = 10_000
DEPTH_MAX = 50
"""Of one run: threads that start themselves are stopped there, side by side or one in another."""

INPUT = "INPUT"
"""The variable in which a handler or a thread for each item finds what it is for."""


def start_thread(
    run: Run,
    spec_name: str,
    thread_type: ThreadType,
    parent: ThreadRun | None,
    inputs: Mapping[str, VariableValue],
) -> ThreadRun:
    """A new thread, about to enter its entrypoint. Raises `BadValue` if the inputs do not fit."""
    plan = run.plan.threads[spec_name]
    values = starting_values(run.work, plan, inputs)
    number = len(run.message.thread_runs)
    if number >= THREADS_MAX:
        raise BadValue(f"run {run.name} has {THREADS_MAX} threads, and no more fit")
    if parent is not None and _depth(run, parent) >= DEPTH_MAX:
        raise BadValue(f"thread {parent.number} has {DEPTH_MAX} parents above it, and no more fit")
    thread = run.message.thread_runs.add(
        number=number,
        status=RUNNING,
        thread_spec_name=spec_name,
        start_time=run.work.now,
        type=thread_type,
    )
    thread.wf_spec_id.CopyFrom(run.message.wf_spec_id)
    if parent is not None:
        thread.parent_thread_id = parent.number
        parent.child_thread_ids.append(number)
    run.message.greatest_threadrun_number = number
    run.changed()
    for name, value in values.items():
        run.add_variable(thread, plan.variables[name], value)
    new_node(run, thread, plan.entrypoint, 0).entrypoint.SetInParent()
    return thread


def starting_values(
    work: Work, plan: ThreadPlan, inputs: Mapping[str, VariableValue]
) -> dict[str, VariableValue]:
    """A value for each variable that the thread holds itself: given, or its default."""
    for name in sorted(inputs):
        if name not in plan.variables:
            raise BadValue(f"thread {plan.name} has no variable {name}")
    values: dict[str, VariableValue] = {}
    for name, variable in plan.variables.items():
        if variable.inherited:
            continue
        given = inputs.get(name)
        if given is None or is_null(given):
            if variable.required:
                raise BadValue(f"variable {name} is required")
            values[name] = variable.default if given is None else given
            continue
        try:
            values[name] = assigned(given, variable.type_def, work)
        except BadValue as error:
            raise BadValue(f"variable {name}: {error}") from error
    return values


def _depth(run: Run, thread: ThreadRun) -> int:
    """How many threads a thread has above it, itself included."""
    depth = 1
    while thread.HasField("parent_thread_id"):
        thread = run.thread(thread.parent_thread_id)
        depth += 1
    return depth


def handler_inputs(plan: ThreadPlan, content: VariableValue | None) -> dict[str, VariableValue]:
    """What a handler is given: the content, if it wants it."""
    return {INPUT: content} if content is not None and INPUT in plan.variables else {}


def new_node(run: Run, thread: ThreadRun, node_name: str, position: int) -> NodeRun:
    """The thread is at this node now."""
    node = NodeRun(
        status=RUNNING,
        arrival_time=run.work.now,
        thread_spec_name=thread.thread_spec_name,
        node_name=node_name,
    )
    node.id.wf_run_id.CopyFrom(run.run_id)
    node.id.thread_run_number = thread.number
    node.id.position = position
    node.wf_spec_id.CopyFrom(run.message.wf_spec_id)
    run.work.objects.put(node_key(run.at, thread.number, position), node)
    thread.current_node_position = position
    run.changed()
    return node


# ── the end of a thread ──────────────────────────────────────────────────────────────────────


def complete_thread(run: Run, thread: ThreadRun) -> None:
    _end(run, thread, COMPLETED)


def fail_thread(run: Run, thread: ThreadRun, failed: Failed) -> None:
    """For good, as far as the thread goes; its parent sees it when it asks."""
    thread.error_message = failed.message
    _end(run, thread, failed.status)


def _end(run: Run, thread: ThreadRun, status: LHStatus) -> None:
    thread.status = status
    thread.end_time.CopyFrom(run.work.now)
    _forget_pending(run, thread.number)
    del thread.halt_reasons[:]
    run.changed()
    if status in FAILED:
        halt_children(run, thread)
        stop_correlating(run, run.current_node(thread))
    if thread.type == ThreadType.ENTRYPOINT:
        _end_run(run, status)
    elif thread.type in (ThreadType.FAILURE_HANDLER, ThreadType.INTERRUPT):
        _tell_interrupted(run, thread)


def _forget_pending(run: Run, number: int) -> None:
    message = run.message
    interrupts = [one for one in message.pending_interrupts if one.interrupted_thread_id != number]
    if len(interrupts) != len(message.pending_interrupts):
        del message.pending_interrupts[:]
        message.pending_interrupts.extend(interrupts)
    failures = [one for one in message.pending_failures if one.failed_thread_run != number]
    if len(failures) != len(message.pending_failures):
        del message.pending_failures[:]
        message.pending_failures.extend(failures)


def _tell_interrupted(run: Run, handler: ThreadRun) -> None:
    """A handler or an interrupt is over: the thread that stood still for it goes on, or fails."""
    thread = run.thread(handler.parent_thread_id)
    if not any(is_about(reason, handler.number) for reason in thread.halt_reasons):
        return  # the handler of a thread that another one waits for: that one asks
    if handler.status == COMPLETED:
        if handler.type == ThreadType.FAILURE_HANDLER:
            node = run.current_node(thread)
            node.failures[-1].was_properly_handled = True
            run.node_changed(node)
        remove_halts(run, thread, lambda reason: is_about(reason, handler.number))
        return
    failed = last_failure(run.current_node(handler))
    node = run.current_node(thread)
    record(node, failed)
    run.node_changed(node)
    fail_thread(run, thread, failed)


def _end_run(run: Run, status: LHStatus) -> None:
    work = run.work
    run.message.status = status
    run.message.end_time.CopyFrom(work.now)
    work.effects.append(RunEnded(work.tenant, run.name))
    if run.plan.retention_ms is not None:
        work.set_timer(work.now_ms + run.plan.retention_ms, RunDue(work.tenant, run.name))
    if run.run_id.HasField("parent_wf_run_id"):
        parent = work.run(run.run_id.parent_wf_run_id)
        if parent is not None:
            work.stir(parent)
