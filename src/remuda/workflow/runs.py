"""Runs begin, are stopped, resumed, and deleted."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.message import Message
from littlehorse.model.common_enums_pb2 import (
    RUNNING,
)
from littlehorse.model.external_event_pb2 import ExternalEvent
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.object_id_pb2 import WfRunId
from littlehorse.model.task_run_pb2 import TaskRun
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.user_tasks_pb2 import UserTaskRun
from littlehorse.model.variable_pb2 import Variable
from littlehorse.model.wf_run_pb2 import ThreadHaltReason, ThreadRun, ThreadType, WfRun
from littlehorse.model.workflow_event_pb2 import WorkflowEvent

from remuda.partition.keys import after, parts
from remuda.workflow.commands import EventDue, NodeDue, RunDue
from remuda.workflow.correlation import stop_correlating
from remuda.workflow.data.values import run_id_from_text, run_id_text
from remuda.workflow.errors import BadValue
from remuda.workflow.halts import add_halt, has_halt, remove_halts
from remuda.workflow.keys import (
    CHILD,
    EVENT,
    NODE,
    OF_A_RUN,
    TASK,
    THROWN,
    USER_TASK,
    VARIABLE,
    child_key,
    run_key,
)
from remuda.workflow.run import ENDED, Run
from remuda.workflow.spec import Plan
from remuda.workflow.tags import variable_tags
from remuda.workflow.task_queue import forget_task
from remuda.workflow.threads import start_thread
from remuda.workflow.user_tasks import clear_actions
from remuda.workflow.work import Work

ANCESTORS_MAX = 10

RETENTION_MS_MIN = 60_000
"""Before it is asked again whether a parent still needs its child."""

RUNS_MAX = 100
"""Runs that one command may begin: a spec that runs itself is stopped there."""


def start_run(work: Work, plan: Plan, run_id: WfRunId, inputs: Mapping[str, VariableValue]) -> Run:
    """A new run with its first thread. Raises `BadValue`: the id is used, or inputs do not fit."""
    name = run_id_text(run_id)
    if work.run(run_id) is not None:
        raise BadValue(f"there is a run {name} already")
    if name.count("_") > ANCESTORS_MAX:
        raise BadValue(f"a run has at most {ANCESTORS_MAX} ancestors")
    if work.runs_started >= RUNS_MAX:
        raise BadValue(f"{RUNS_MAX} runs begun at once: the spec runs itself")
    work.runs_started += 1
    message = WfRun(id=run_id, status=RUNNING, start_time=work.now)
    message.wf_spec_id.CopyFrom(plan.spec_id)
    at = work.place(name)
    run = Run(work, name, at, message, plan)
    for variable in plan.threads[plan.entrypoint].variables.values():
        if variable.inherited:
            run.inherited(variable.name)
    start_thread(run, plan.entrypoint, ThreadType.ENTRYPOINT, None, inputs)
    work.objects.put(run_key(at), message)
    work.adopt(run)
    if run_id.HasField("parent_wf_run_id"):
        parent = work.place(run_id_text(run_id.parent_wf_run_id))
        work.state.put(child_key(parent, name), b"")
    return run


# ── stop and resume ──────────────────────────────────────────────────────────────────────────


def stop_thread(run: Run, thread: ThreadRun) -> str | None:
    """Why it cannot be stopped, or None. Stopping twice is stopping once."""
    if thread.status in ENDED:
        return f"thread {thread.number} of run {run.name} has ended"
    if not has_halt(thread, "manual_halt"):
        reason = ThreadHaltReason()
        reason.manual_halt.SetInParent()
        add_halt(run, thread, reason)
    run.work.stir(run)
    return None


def resume_thread(run: Run, thread: ThreadRun) -> str | None:
    if thread.status in ENDED:
        return f"thread {thread.number} of run {run.name} has ended"
    remove_halts(run, thread, lambda one: one.WhichOneof("reason") == "manual_halt")
    run.work.stir(run)
    return None


# ── delete ───────────────────────────────────────────────────────────────────────────────────

_TAGGED = {
    NODE: NodeRun,
    TASK: TaskRun,
    EVENT: ExternalEvent,
    USER_TASK: UserTaskRun,
    THROWN: WorkflowEvent,
}


def retire_run(run: Run) -> None:
    """It was kept as long as its spec says; or longer, if its parent may still ask for it."""
    work = run.work
    if run.message.status not in ENDED:
        return
    if run.run_id.HasField("parent_wf_run_id") and run.plan.retention_ms is not None:
        parent = work.run(run.run_id.parent_wf_run_id)
        if parent is not None and parent.message.status not in ENDED:
            again_ms = work.now_ms + max(run.plan.retention_ms, RETENTION_MS_MIN)
            work.set_timer(again_ms, RunDue(work.tenant, run.name))
            return
    delete_run(run)


def delete_run(run: Run) -> None:
    """The run, all that belongs to it, and its children."""
    work = run.work
    for child in _children(run):
        found = work.run(run_id_from_text(child))
        if found is not None:
            delete_run(found)
    work.clear_timer(RunDue(work.tenant, run.name))
    for prefix in OF_A_RUN:
        start = prefix + run.at
        for key, data in list(work.state.scan(start, after(start))):
            if prefix == VARIABLE:
                _untag(run, Variable.FromString(data))
            kind = _TAGGED.get(prefix)
            if kind is None:
                work.state.delete(key)
                continue
            _forget(run, work.objects.get(key, kind))
            work.objects.delete(key)
    work.objects.delete(run_key(run.at))
    if run.run_id.HasField("parent_wf_run_id"):
        parent_id = run.run_id.parent_wf_run_id
        work.state.delete(child_key(work.place(run_id_text(parent_id)), run.name))
        parent = work.run(parent_id)
        if parent is not None:
            work.stir(parent)
    work.forget(run)


def _forget(run: Run, message: Message | None) -> None:
    """Nothing is to wake for it any more: its id may be used again."""
    work = run.work
    match message:
        case TaskRun():
            forget_task(run, message)
        case UserTaskRun():
            clear_actions(run, message)
        case NodeRun():
            thread, position = message.id.thread_run_number, message.id.position
            work.clear_timer(NodeDue(work.tenant, run.name, thread, position))
            if message.status not in ENDED:
                stop_correlating(run, message)
        case ExternalEvent():
            name, guid = message.id.external_event_def_id.name, message.id.guid
            work.clear_timer(EventDue(work.tenant, run.name, name, guid))
        case _:
            return


def _children(run: Run) -> list[str]:
    prefix = CHILD + run.at
    found = run.work.state.scan(prefix, after(prefix))
    return [str(parts(key, prefix, str)[0]) for key, _ in found]


def _untag(run: Run, variable: Variable) -> None:
    thread = run.thread(variable.id.thread_run_number)
    found = run.thread_plan(thread).variables[variable.id.name]
    for tag in variable_tags(run.work.tenant, variable, found, variable.value):
        run.work.state.delete(tag)
