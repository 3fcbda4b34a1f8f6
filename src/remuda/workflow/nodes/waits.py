"""Waiting for threads: for all, for any that does well, or for the first that ends.

A thread that failed is handled by the first of the node's own handlers that catches its failure;
the handler is a child of the waiting thread, which waits on meanwhile. Without one, waiting for all
and for the first fails with the thread's failure; waiting for any fails when all have failed. Any
and first stop the threads that they no longer need, for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from littlehorse.model.common_enums_pb2 import LHStatus
from littlehorse.model.node_run_pb2 import NodeRun, WaitForThreadsRun
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.wf_run_pb2 import ThreadHaltReason, ThreadRun, ThreadType
from littlehorse.model.wf_spec_pb2 import WaitForThreadsNode, WaitForThreadsStrategy

from remuda.workflow.data.assignments import evaluated
from remuda.workflow.data.values import data_of, text_of, value_of
from remuda.workflow.errors import BadValue
from remuda.workflow.failures import Failed, last_failure
from remuda.workflow.halts import add_halt
from remuda.workflow.nodes.kind import Kind
from remuda.workflow.run import ENDED, FAILED, Run
from remuda.workflow.scope import ThreadScope
from remuda.workflow.spec import handler_plan
from remuda.workflow.threads import handler_inputs, start_thread

Waiting = WaitForThreadsRun.WaitForThread

IN_PROGRESS = WaitForThreadsRun.THREAD_IN_PROGRESS
HANDLING = WaitForThreadsRun.THREAD_HANDLING_FAILURE
WELL = WaitForThreadsRun.THREAD_COMPLETED_OR_FAILURE_HANDLED
BADLY = WaitForThreadsRun.THREAD_UNSUCCESSFUL
STOPPED = WaitForThreadsRun.THREAD_STOPPED


def _arrive(run: Run, thread: ThreadRun, node: NodeRun, spec: WaitForThreadsNode) -> None:
    node.wait_for_threads.SetInParent()
    for value in _numbers(spec, ThreadScope(run, thread)):
        if value.WhichOneof("value") != "int" or not run.has_thread(value.int):
            raise BadValue(f"there is no thread {text_of(value)} to wait for")
        child = run.thread(value.int)
        if child.number not in thread.child_thread_ids:
            raise BadValue(f"thread {child.number} is not a child of thread {thread.number}")
        node.wait_for_threads.threads.add(thread_run_number=child.number)


def _numbers(spec: WaitForThreadsNode, scope: ThreadScope) -> Iterator[VariableValue]:
    if spec.WhichOneof("threads_to_wait_for") == "threads":
        for one in spec.threads.threads:
            yield evaluated(one.thread_run_number, scope)
        return
    numbers = evaluated(spec.thread_list, scope)
    if numbers.WhichOneof("value") not in ("json_arr", "array"):
        raise BadValue("the threads to wait for are not an array of numbers")
    found: list[Any] = data_of(numbers)
    for one in found:
        yield value_of(one)


def _poll(run: Run, thread: ThreadRun, node: NodeRun, spec: WaitForThreadsNode) -> bool | Failed:
    waited = node.wait_for_threads.threads
    for one in waited:
        if one.waiting_status in (IN_PROGRESS, HANDLING):
            _look(run, thread, node, one, spec)
    well = [one for one in waited if one.waiting_status == WELL]
    badly = [one for one in waited if one.waiting_status == BADLY]
    outcome = _outcome(spec.strategy, len(waited), len(well), len(badly))
    if outcome is None:
        return False
    if spec.strategy != WaitForThreadsStrategy.WAIT_FOR_ALL:
        _stop_the_rest(run, thread, node)
    if outcome:
        if spec.strategy == WaitForThreadsStrategy.WAIT_FOR_ANY:
            thread.handled_failed_children.extend(one.thread_run_number for one in badly)
        return True
    # The waiting thread has the failure now: should it be handled, its exit must not find it again.
    thread.handled_failed_children.extend(one.thread_run_number for one in badly)
    failed = run.thread(badly[0].thread_run_number)
    return _failure_of(run, failed, badly[0]).seen_by_parent()


def _outcome(strategy: WaitForThreadsStrategy, all_: int, well: int, badly: int) -> bool | None:
    """True when the node is done, False when it has failed, None while it waits."""
    match strategy:
        case WaitForThreadsStrategy.WAIT_FOR_ALL:
            if badly:
                return False
            return True if well == all_ else None
        case WaitForThreadsStrategy.WAIT_FOR_ANY:
            if well or not all_:
                return True
            return False if badly == all_ else None
        case _:
            if well or not all_:
                return True
            return False if badly else None


def _look(
    run: Run, thread: ThreadRun, node: NodeRun, one: Waiting, spec: WaitForThreadsNode
) -> None:
    """See what has become of a thread that is waited for, and of its handler."""
    child = run.thread(one.thread_run_number)
    before = one.waiting_status, one.thread_status
    one.thread_status = child.status
    if one.waiting_status == HANDLING:
        handler = run.thread(one.failure_handler_thread_run_id)
        if handler.status == LHStatus.COMPLETED:
            one.waiting_status = WELL
            thread.handled_failed_children.append(child.number)
        elif handler.status in FAILED:
            one.waiting_status = BADLY
    elif child.status == LHStatus.COMPLETED:
        one.waiting_status = WELL
    elif child.status in FAILED:
        _handle(run, thread, one, child, spec)
    if child.status in ENDED:
        one.thread_end_time.CopyFrom(child.end_time)
    if (one.waiting_status, one.thread_status) != before:
        run.node_changed(node)
        run.changed()


def _handle(
    run: Run, thread: ThreadRun, one: Waiting, child: ThreadRun, spec: WaitForThreadsNode
) -> None:
    failed_node = run.current_node(child)
    failed = last_failure(failed_node)
    plans = map(handler_plan, spec.per_thread_failure_handlers)
    found = next((plan for plan in plans if plan.catches(failed.name)), None)
    if found is None:
        one.waiting_status = BADLY
        return
    inputs = handler_inputs(run.plan.threads[found.thread], failed.content)
    handler = start_thread(run, found.thread, ThreadType.FAILURE_HANDLER, thread, inputs)
    handler.failure_being_handled.thread_run_number = child.number
    handler.failure_being_handled.node_run_position = failed_node.id.position
    handler.failure_being_handled.failure_number = len(failed_node.failures) - 1
    one.failure_handler_thread_run_id = handler.number
    one.waiting_status = HANDLING


def _failure_of(run: Run, failed: ThreadRun, one: Waiting) -> Failed:
    """A handler that failed is what counts, not what it should have handled."""
    if one.HasField("failure_handler_thread_run_id"):
        return last_failure(run.current_node(run.thread(one.failure_handler_thread_run_id)))
    return last_failure(run.current_node(failed))


def _stop_the_rest(run: Run, thread: ThreadRun, node: NodeRun) -> None:
    for one in node.wait_for_threads.threads:
        if one.waiting_status not in (IN_PROGRESS, HANDLING):
            continue
        one.waiting_status = STOPPED
        child = run.thread(one.thread_run_number)
        reason = ThreadHaltReason()
        reason.halted_by_parent.parent_thread_run_number = thread.number
        reason.halted_by_parent.waiting_node_run_position = node.id.position
        if child.status not in ENDED:
            add_halt(run, child, reason)
        else:
            thread.handled_failed_children.append(child.number)
            add_halt(run, run.thread(one.failure_handler_thread_run_id), reason)
        run.node_changed(node)
        run.changed()


WAIT_FOR_THREADS = Kind(_arrive, _poll)
