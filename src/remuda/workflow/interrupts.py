"""Interrupts: an event makes a thread stand still, and a handler runs before it goes on."""

from __future__ import annotations

from littlehorse.model.external_event_pb2 import ExternalEvent
from littlehorse.model.wf_run_pb2 import ThreadHaltReason, ThreadRun, ThreadType

from remuda.workflow.errors import BadValue
from remuda.workflow.failures import Failed, record
from remuda.workflow.halts import add_halt
from remuda.workflow.keys import event_key
from remuda.workflow.run import ENDED, Run
from remuda.workflow.threads import fail_thread, handler_inputs, start_thread


def interrupted_by(run: Run, event: ExternalEvent) -> ThreadRun | None:
    """The first thread that this event interrupts: the one it names, or the lowest number."""
    name = event.id.external_event_def_id.name
    for thread in run.message.thread_runs:
        if thread.status in ENDED or name not in run.thread_plan(thread).interrupts:
            continue
        if not event.HasField("thread_run_number") or event.thread_run_number == thread.number:
            return thread
    return None


def interrupt(run: Run, thread: ThreadRun, event: ExternalEvent) -> None:
    """The event is the thread's; its handler starts when the thread stands still."""
    event.claimed = True
    event.thread_run_number = thread.number
    name = event.id.external_event_def_id.name
    run.message.pending_interrupts.add(
        external_event_id=event.id,
        handler_spec_name=run.thread_plan(thread).interrupts[name],
        interrupted_thread_id=thread.number,
    )
    reason = ThreadHaltReason()
    reason.pending_interrupt.external_event_id.CopyFrom(event.id)
    add_halt(run, thread, reason)


def start_interrupt(run: Run, thread: ThreadRun, reason: ThreadHaltReason) -> None:
    """The thread stands still for this reason, which is the first of its reasons."""
    message = run.message
    event_id = reason.pending_interrupt.external_event_id
    pending = next(
        one
        for one in message.pending_interrupts
        if one.interrupted_thread_id == thread.number and one.external_event_id == event_id
    )
    spec_name = pending.handler_spec_name
    key = event_key(run.at, event_id.external_event_def_id.name, event_id.guid)
    event = run.work.objects.get(key, ExternalEvent)
    trigger = type(event_id)()
    trigger.CopyFrom(event_id)
    message.pending_interrupts.remove(pending)
    number = len(message.thread_runs)
    del thread.halt_reasons[0]
    thread.halt_reasons.add().interrupted.interrupt_thread_id = number
    try:
        content = None if event is None else event.content
        inputs = handler_inputs(run.plan.threads[spec_name], content)
        handler = start_thread(run, spec_name, ThreadType.INTERRUPT, thread, inputs)
    except BadValue as error:
        name = trigger.external_event_def_id.name
        failed = Failed("VAR_SUB_ERROR", f"the handler of event {name}: {error}")
        node = run.current_node(thread)
        record(node, failed)
        run.node_changed(node)
        fail_thread(run, thread, failed)
        return
    handler.interrupt_trigger_id.CopyFrom(trigger)
