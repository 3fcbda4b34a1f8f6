"""A thread that failed is given another chance: at the same node anew, or past it."""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import LHStatus
from littlehorse.model.wf_run_pb2 import ThreadRun, ThreadType

from remuda.workflow.advance import arrive
from remuda.workflow.commands import RunDue
from remuda.workflow.halts import halt_children
from remuda.workflow.run import ENDED, FAILED, Run
from remuda.workflow.threads import new_node


def rescue_thread(run: Run, thread: ThreadRun, skip: bool) -> str | None:
    """Why it cannot be rescued, or None."""
    refusal = _refusal(run, thread)
    if refusal is not None:
        return refusal
    thread.status = LHStatus.RUNNING
    thread.ClearField("end_time")
    thread.ClearField("error_message")
    if thread.type == ThreadType.ENTRYPOINT:
        run.work.clear_timer(RunDue(run.work.tenant, run.name))
        run.message.status = LHStatus.RUNNING
        run.message.ClearField("end_time")
    run.changed()
    node = run.current_node(thread)
    if skip:
        node.failures[-1].was_properly_handled = True
        run.node_changed(node)
    else:
        arrive(run, thread, new_node(run, thread, node.node_name, node.id.position + 1))
    halt_children(run, thread)
    if thread.HasField("parent_thread_id"):
        halt_children(run, run.thread(thread.parent_thread_id))
    run.work.stir(run)
    return None


def _refusal(run: Run, thread: ThreadRun) -> str | None:
    if thread.status not in FAILED:
        return f"thread {thread.number} of run {run.name} has not failed"
    if thread.type == ThreadType.ENTRYPOINT:
        return None
    if thread.type != ThreadType.CHILD:
        return f"thread {thread.number} is a handler: its failure is its parent's"
    parent = run.thread(thread.parent_thread_id)
    if parent.status in ENDED:
        return f"thread {parent.number}, its parent, has ended: rescue that one"
    if thread.number in parent.handled_failed_children:
        return f"the failure of thread {thread.number} was handled by its parent"
    return None
