"""Threads stand still, for reasons, and go on when the last reason is gone.

A thread that gets a reason is HALTING; it is HALTED when a worker no longer holds its task and its
children stand still. Reasons:

    manual_halt        somebody asked for it
    parent_halted      its parent stands still, or has failed
    halted_by_parent   its parent no longer waits for it; for good
    pending_failure    a node failed, and its handler can start when all is still
    handling_failure   the handler runs
    pending_interrupt  an event came, and its handler can start when all is still
    interrupted        the handler runs

A handler is a child of the thread that stands still for it, and runs all the same.
"""

from __future__ import annotations

from collections.abc import Callable

from littlehorse.model.common_enums_pb2 import (
    HALTED,
    HALTING,
    RUNNING,
)
from littlehorse.model.wf_run_pb2 import ThreadHaltReason, ThreadRun

from remuda.workflow.run import ENDED, FAILED, Run
from remuda.workflow.task_queue import claimed_by_worker, hold_task, resume_task

PENDING = frozenset({"pending_failure", "pending_interrupt"})
FROM_OUTSIDE = frozenset({"manual_halt", "parent_halted", "halted_by_parent"})
"""Reasons that hold handlers, too."""


def add_halt(run: Run, thread: ThreadRun, reason: ThreadHaltReason) -> None:
    thread.halt_reasons.append(reason)
    if thread.status == RUNNING:
        thread.status = HALTING
        _hold_node(run, thread)
    run.changed()
    halt_children(run, thread)


def remove_halts(run: Run, thread: ThreadRun, unwanted: Callable[[ThreadHaltReason], bool]) -> bool:
    """Whether there were any. The thread goes on when it is its turn."""
    kept = [reason for reason in thread.halt_reasons if not unwanted(reason)]
    if len(kept) == len(thread.halt_reasons):
        return False
    del thread.halt_reasons[:]
    thread.halt_reasons.extend(kept)
    run.changed()
    halt_children(run, thread)
    return True


def has_halt(thread: ThreadRun, name: str) -> bool:
    return any(reason.WhichOneof("reason") == name for reason in thread.halt_reasons)


def is_about(reason: ThreadHaltReason, handler: int) -> bool:
    """Whether a thread stands still because this thread handles something for it."""
    match reason.WhichOneof("reason"):
        case "handling_failure":
            return reason.handling_failure.handler_thread_id == handler
        case "interrupted":
            return reason.interrupted.interrupt_thread_id == handler
        case _:
            return False


def halt_children(run: Run, thread: ThreadRun) -> None:
    """Let the children stand still or go on, as the thread's own reasons want it."""
    for child in run.children(thread):
        if child.status in ENDED:
            continue
        wanted = thread.status in FAILED or _halts(thread, child)
        if wanted and not has_halt(child, "parent_halted"):
            reason = ThreadHaltReason()
            reason.parent_halted.parent_thread_id = thread.number
            add_halt(run, child, reason)
        elif not wanted:
            remove_halts(run, child, lambda one: one.WhichOneof("reason") == "parent_halted")


def _halts(thread: ThreadRun, child: ThreadRun) -> bool:
    """Whether a child stands still with its parent. A handler does so only with good reason."""
    if any(is_about(reason, child.number) for reason in thread.halt_reasons):
        return any(reason.WhichOneof("reason") in FROM_OUTSIDE for reason in thread.halt_reasons)
    return bool(thread.halt_reasons)


# ── becoming still, and going on ─────────────────────────────────────────────────────────────


def try_halt(run: Run, thread: ThreadRun) -> bool:
    """HALTING → HALTED, or back to RUNNING if there is no reason any more."""
    if not thread.halt_reasons:
        return go_on(run, thread)
    if not _is_still(run, thread):
        return False
    thread.status = HALTED
    run.changed()
    return True


def go_on(run: Run, thread: ThreadRun) -> bool:
    thread.status = RUNNING
    run.changed()
    node = run.current_node(thread)
    if node.WhichOneof("node_type") == "task" and node.task.HasField("task_run_id"):
        resume_task(run, node.task.task_run_id.task_guid)
    return True


def next_pending(thread: ThreadRun) -> ThreadHaltReason | None:
    """What a thread that stands still should start, if nothing else keeps it from that."""
    reasons = thread.halt_reasons
    if any(reason.WhichOneof("reason") not in PENDING for reason in reasons):
        return None
    return reasons[0] if reasons else None


def _is_still(run: Run, thread: ThreadRun) -> bool:
    node = run.current_node(thread)
    if (
        node.WhichOneof("node_type") == "task"
        and node.status not in ENDED
        and claimed_by_worker(run, node.task.task_run_id.task_guid)
    ):
        return False
    return all(
        child.status in ENDED
        or child.status == HALTED
        or any(is_about(reason, child.number) for reason in thread.halt_reasons)
        for child in run.children(thread)
    )


def _hold_node(run: Run, thread: ThreadRun) -> None:
    node = run.current_node(thread)
    if node.WhichOneof("node_type") == "task" and node.task.HasField("task_run_id"):
        hold_task(run, node.task.task_run_id.task_guid)
