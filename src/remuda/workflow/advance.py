"""A run goes on as far as it goes without waiting. This is the core loop of the engine.

Every thread takes its steps until none can take another. A thread that runs asks its node whether
it is done; a node that is done is left by the first edge whose condition holds, and the mutations
of that edge apply together. A thread that stands still starts what it stands still for, or goes on.
"""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import COMPLETED, HALTED, HALTING, RUNNING
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.wf_run_pb2 import ThreadHaltReason, ThreadRun, ThreadType

from remuda.workflow.errors import BadValue
from remuda.workflow.failures import Failed, last_failure, record
from remuda.workflow.halts import add_halt, go_on, has_halt, next_pending, try_halt
from remuda.workflow.interrupts import start_interrupt
from remuda.workflow.nodes import KINDS
from remuda.workflow.run import ENDED, Run
from remuda.workflow.scope import ThreadScope
from remuda.workflow.threads import (
    complete_thread,
    fail_thread,
    handler_inputs,
    new_node,
    start_thread,
)
from remuda.workflow.work import Work

STEPS_MAX = 1000
"""Nodes that a thread may enter in one command: a spec that spins is stopped there."""

ALL_STEPS_MAX = 50_000
"""The same for all threads and runs of a command."""


def settle(work: Work) -> None:
    """Advance every run that something happened to, until nothing more does."""
    while work.stirred:
        advance(work.stirred.pop(0))


def advance(run: Run) -> None:
    moved = True
    while moved:
        moved = False
        number = 0
        while number < len(run.message.thread_runs):
            moved = _step(run, run.message.thread_runs[number]) or moved
            number += 1
    _reflect(run)


def _step(run: Run, thread: ThreadRun) -> bool:
    """Whether the thread has moved."""
    status = thread.status
    if status == RUNNING:
        return _walk(run, thread)
    if status == HALTING:
        return try_halt(run, thread)
    if status == HALTED:
        return _leave_halt(run, thread)
    return False


def _reflect(run: Run) -> None:
    """The run's status is that of its first thread; it stands still only if somebody wants it."""
    entrypoint = run.message.thread_runs[0]
    if entrypoint.status in ENDED:
        return
    status = entrypoint.status if has_halt(entrypoint, "manual_halt") else RUNNING
    if run.message.status != status:
        run.message.status = status
        run.changed()


# ── a thread that runs ───────────────────────────────────────────────────────────────────────


def _walk(run: Run, thread: ThreadRun) -> bool:
    moved = False
    while thread.status == RUNNING:
        node = run.current_node(thread)
        if node.status in ENDED:
            _leave(run, thread, node)
        elif not _poll(run, thread, node):
            return moved
        moved = True
    return moved


def _poll(run: Run, thread: ThreadRun, node: NodeRun) -> bool:
    """Whether the node is over, well or badly."""
    plan = run.node_plan(thread, node)
    try:
        outcome = KINDS[plan.kind].poll(run, thread, node, plan.node)
    except BadValue as error:
        outcome = Failed("VAR_SUB_ERROR", str(error))
    if outcome is False:
        return False
    if isinstance(outcome, Failed):
        fail_node(run, thread, node, outcome)
        return True
    node.status = COMPLETED
    node.end_time.CopyFrom(run.work.now)
    run.node_changed(node)
    if plan.kind == "exit":
        complete_thread(run, thread)
    else:
        _leave(run, thread, node)
    return True


def _leave(run: Run, thread: ThreadRun, node: NodeRun) -> None:
    """By the first edge that is satisfied."""
    plan = run.node_plan(thread, node)
    scope = ThreadScope(run, thread)
    try:
        edge = next((edge for edge in plan.edges if scope.holds(edge.condition)), None)
    except BadValue as error:
        fail_node(run, thread, node, Failed("VAR_SUB_ERROR", f"a condition: {error}"))
        return
    if edge is None:
        failed = Failed("INTERNAL_ERROR", f"no edge of node {node.node_name} is satisfied")
        fail_node(run, thread, node, failed)
        return
    if edge.mutations:
        try:
            scope.mutate(edge.mutations)
        except BadValue as error:
            fail_node(run, thread, node, Failed("VAR_MUTATION_ERROR", str(error)))
            return
    _enter(run, thread, edge.sink)


def _enter(run: Run, thread: ThreadRun, node_name: str) -> None:
    node = new_node(run, thread, node_name, thread.current_node_position + 1)
    run.steps[thread.number] += 1
    run.work.steps += 1
    if run.steps[thread.number] > STEPS_MAX or run.work.steps > ALL_STEPS_MAX:
        failed = Failed("INTERNAL_ERROR", f"{STEPS_MAX} nodes without waiting: the spec spins")
        record(node, failed)
        node.end_time.CopyFrom(run.work.now)
        fail_thread(run, thread, failed)
        return
    arrive(run, thread, node)


def arrive(run: Run, thread: ThreadRun, node: NodeRun) -> None:
    plan = run.node_plan(thread, node)
    try:
        failed = KINDS[plan.kind].arrive(run, thread, node, plan.node)
    except BadValue as error:
        failed = Failed("VAR_SUB_ERROR", str(error))
    if failed is not None:
        fail_node(run, thread, node, failed)


# ── failures ─────────────────────────────────────────────────────────────────────────────────


def fail_node(run: Run, thread: ThreadRun, node: NodeRun, failed: Failed) -> None:
    """Its handler is to run, if it has one for this failure and none has run for it before."""
    handled_before = bool(node.failures)
    record(node, failed)
    node.end_time.CopyFrom(run.work.now)
    run.node_changed(node)
    plan = run.node_plan(thread, node)
    handler = next((one for one in plan.handlers if one.catches(failed.name)), None)
    if handler is None or handled_before:
        fail_thread(run, thread, failed)
        return
    run.message.pending_failures.add(
        failed_thread_run=thread.number, handler_spec_name=handler.thread
    )
    reason = ThreadHaltReason()
    reason.pending_failure.node_run_position = node.id.position
    add_halt(run, thread, reason)


def _start_failure_handler(run: Run, thread: ThreadRun) -> None:
    message = run.message
    pending = next(
        one for one in message.pending_failures if one.failed_thread_run == thread.number
    )
    spec_name = pending.handler_spec_name
    message.pending_failures.remove(pending)
    node = run.current_node(thread)
    failed = last_failure(node)
    number = len(message.thread_runs)
    del thread.halt_reasons[0]
    thread.halt_reasons.add().handling_failure.handler_thread_id = number
    node.failures[-1].failure_handler_threadrun_id = number
    node.failure_handler_ids.append(number)
    run.node_changed(node)
    try:
        inputs = handler_inputs(run.plan.threads[spec_name], failed.content)
        handler = start_thread(run, spec_name, ThreadType.FAILURE_HANDLER, thread, inputs)
    except BadValue as error:
        failed = Failed("VAR_SUB_ERROR", f"the handler of {failed.name}: {error}")
        record(node, failed)
        fail_thread(run, thread, failed)
        return
    handler.failure_being_handled.thread_run_number = thread.number
    handler.failure_being_handled.node_run_position = node.id.position
    handler.failure_being_handled.failure_number = len(node.failures) - 1


# ── a thread that stands still ───────────────────────────────────────────────────────────────


def _leave_halt(run: Run, thread: ThreadRun) -> bool:
    if not thread.halt_reasons:
        go_on(run, thread)
        return True
    pending = next_pending(thread)
    if pending is None:
        return False
    if pending.WhichOneof("reason") == "pending_failure":
        _start_failure_handler(run, thread)
    else:
        start_interrupt(run, thread, pending)
    return True
