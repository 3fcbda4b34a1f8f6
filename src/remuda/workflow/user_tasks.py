"""User tasks: assigned to people and groups, saved, completed, cancelled, talked about.

Every assignment begins a new *epoch* of the task. What the spec wants to happen a while after the
arrival (or after an assignment) is a timer of that epoch; one of an epoch that has passed is void.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from littlehorse.model.common_wfspec_pb2 import UTActionTrigger
from littlehorse.model.task_run_pb2 import TaskRunSource
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.user_tasks_pb2 import (
    UserTaskDef,
    UserTaskEvent,
    UserTaskRun,
    UserTaskRunStatus,
)

from remuda.workflow.commands import ActionDue
from remuda.workflow.data.assignments import evaluated
from remuda.workflow.data.casts import assigned, whole_number
from remuda.workflow.data.types import primitive
from remuda.workflow.data.values import is_null, text_of
from remuda.workflow.errors import BadValue
from remuda.workflow.keys import user_task_key
from remuda.workflow.run import Run
from remuda.workflow.scope import ThreadScope
from remuda.workflow.tasks import start_task

OVER = frozenset({UserTaskRunStatus.DONE, UserTaskRunStatus.CANCELLED})

ON_ARRIVAL = UTActionTrigger.ON_ARRIVAL
ON_TASK_ASSIGNED = UTActionTrigger.ON_TASK_ASSIGNED


def load_user_task(run: Run, guid: str) -> UserTaskRun | None:
    return run.work.objects.get(user_task_key(run.at, guid), UserTaskRun)


def changed(run: Run, task: UserTaskRun) -> None:
    run.work.objects.change(user_task_key(run.at, task.id.user_task_guid))


def say(run: Run, task: UserTaskRun) -> UserTaskEvent:
    """A new entry in the history of a task, to be filled in."""
    changed(run, task)
    return task.events.add(time=run.work.now)


def assign(run: Run, task: UserTaskRun, user_id: str, user_group: str) -> None:
    """To a person, a group, or both; "" is nobody."""
    said = say(run, task).assigned
    if task.HasField("user_id"):
        said.old_user_id = task.user_id
    if task.HasField("user_group"):
        said.old_user_group = task.user_group
    task.ClearField("user_id")
    task.ClearField("user_group")
    if user_id:
        task.user_id = said.new_user_id = user_id
    if user_group:
        task.user_group = said.new_user_group = user_group
    task.status = UserTaskRunStatus.ASSIGNED if user_id else UserTaskRunStatus.UNASSIGNED
    _clear(run, task, ON_TASK_ASSIGNED)
    task.epoch += 1
    if user_id:
        schedule_actions(run, task, ON_TASK_ASSIGNED)


def save(
    run: Run,
    task: UserTaskRun,
    definition: UserTaskDef,
    user_id: str,
    results: Mapping[str, VariableValue],
) -> None:
    """Keep what has been filled in so far. Raises `BadValue` if it does not fit the fields."""
    values = _fitting(run, definition, results)
    said = say(run, task).saved
    said.user_id = user_id
    for name, value in values.items():
        task.results[name].CopyFrom(value)
        said.results[name].CopyFrom(value)


def complete(
    run: Run,
    task: UserTaskRun,
    definition: UserTaskDef,
    user_id: str,
    results: Mapping[str, VariableValue],
) -> None:
    values = _fitting(run, definition, results)
    for field in definition.fields:
        given = values.get(field.name)
        if given is None and field.name in task.results:
            given = task.results[field.name]
        if field.required and (given is None or is_null(given)):
            raise BadValue(f"field {field.name} is required")
    for name, value in values.items():
        task.results[name].CopyFrom(value)
    if user_id and task.user_id != user_id:
        assign(run, task, user_id, task.user_group)
    task.status = UserTaskRunStatus.DONE
    clear_actions(run, task)
    say(run, task).completed.SetInParent()
    run.work.stir(run)


def cancel(run: Run, task: UserTaskRun, message: str) -> None:
    task.status = UserTaskRunStatus.CANCELLED
    clear_actions(run, task)
    say(run, task).cancelled.message = message
    run.work.stir(run)


def _fitting(
    run: Run, definition: UserTaskDef, results: Mapping[str, VariableValue]
) -> dict[str, VariableValue]:
    fields = {field.name: field for field in definition.fields}
    values: dict[str, VariableValue] = {}
    for name in sorted(results):
        if name not in fields:
            raise BadValue(f"user task {definition.name} has no field {name}")
        try:
            values[name] = assigned(results[name], primitive(fields[name].type), run.work)
        except BadValue as error:
            raise BadValue(f"field {name}: {error}") from error
    return values


# ── comments ─────────────────────────────────────────────────────────────────────────────────


def comment(run: Run, task: UserTaskRun, user_id: str, text: str) -> int:
    number = sum(1 for event in task.events if event.WhichOneof("event") == "comment_added")
    said = say(run, task).comment_added
    said.user_comment_id, said.user_id, said.comment = number, user_id, text
    return number


def edit_comment(run: Run, task: UserTaskRun, number: int, user_id: str, text: str) -> str | None:
    """Why not, or None."""
    refusal = _comment_refusal(task, number, user_id)
    if refusal is None:
        said = say(run, task).comment_edited
        said.user_comment_id, said.user_id, said.comment = number, user_id, text
    return refusal


def delete_comment(run: Run, task: UserTaskRun, number: int, user_id: str) -> str | None:
    refusal = _comment_refusal(task, number, user_id)
    if refusal is None:
        said = say(run, task).comment_deleted
        said.user_comment_id, said.user_id = number, user_id
    return refusal


def _comment_refusal(task: UserTaskRun, number: int, user_id: str) -> str | None:
    author: str | None = None
    for event in task.events:
        match event.WhichOneof("event"):
            case "comment_added":
                if event.comment_added.user_comment_id == number:
                    author = event.comment_added.user_id
            case "comment_deleted":
                if event.comment_deleted.user_comment_id == number:
                    author = None
            case _:
                pass
    if author is None:
        return f"there is no comment {number}"
    if user_id and author != user_id:
        return f"comment {number} is by {author}"
    return None


# ── actions, later ───────────────────────────────────────────────────────────────────────────


def schedule_actions(run: Run, task: UserTaskRun, hook: UTActionTrigger.UTHook) -> None:
    """Set the timers of the actions that begin to count now."""
    work = run.work
    scope = ThreadScope(run, run.thread(task.node_run_id.thread_run_number))
    for due, action in _actions(run, task, hook):
        seconds = whole_number(evaluated(action.delay_seconds, scope), "delay of an action")
        work.set_timer(work.now_ms + seconds * 1000, due)


def clear_actions(run: Run, task: UserTaskRun) -> None:
    """Nothing more is to happen to it."""
    _clear(run, task, ON_ARRIVAL)
    _clear(run, task, ON_TASK_ASSIGNED)


def _clear(run: Run, task: UserTaskRun, hook: UTActionTrigger.UTHook) -> None:
    for due, _ in _actions(run, task, hook):
        run.work.clear_timer(due)


def _actions(
    run: Run, task: UserTaskRun, hook: UTActionTrigger.UTHook
) -> Iterator[tuple[ActionDue, UTActionTrigger]]:
    """The actions of a hook, each with the timer that it has in this epoch."""
    node_id = task.node_run_id
    thread = run.thread(node_id.thread_run_number)
    node = run.node(thread.number, node_id.position)
    epoch = task.epoch if hook == ON_TASK_ASSIGNED else 0
    guid = task.id.user_task_guid
    for number, action in enumerate(run.node_plan(thread, node).node.actions):
        if action.hook == hook:
            yield ActionDue(run.work.tenant, run.name, guid, number, epoch), action


def act(run: Run, task: UserTaskRun, due: ActionDue) -> None:
    """An action is due."""
    if task.status in OVER or (due.epoch and due.epoch != task.epoch):
        return
    node_id = task.node_run_id
    thread = run.thread(node_id.thread_run_number)
    node = run.node(thread.number, node_id.position)
    action: UTActionTrigger = run.node_plan(thread, node).node.actions[due.action]
    scope = ThreadScope(run, thread)
    try:
        match action.WhichOneof("action"):
            case "cancel":
                cancel(run, task, "its time was over")
            case "reassign":
                _reassign(run, task, action.reassign, scope)
            case _:
                _remind(run, task, action.task, scope)
    except BadValue as error:
        cancel(run, task, f"action {due.action} failed: {error}")


def _reassign(
    run: Run, task: UserTaskRun, wanted: UTActionTrigger.UTAReassign, scope: ThreadScope
) -> None:
    user_id = text_of(evaluated(wanted.user_id, scope)) if wanted.HasField("user_id") else ""
    group = text_of(evaluated(wanted.user_group, scope)) if wanted.HasField("user_group") else ""
    assign(run, task, user_id, group)


def _remind(
    run: Run, task: UserTaskRun, wanted: UTActionTrigger.UTATask, scope: ThreadScope
) -> None:
    source = TaskRunSource(wf_spec_id=run.message.wf_spec_id)
    trigger = source.user_task_trigger
    trigger.node_run_id.CopyFrom(task.node_run_id)
    trigger.user_task_event_number = len(task.events)
    if task.HasField("user_id"):
        trigger.user_id = task.user_id
    if task.HasField("user_group"):
        trigger.user_group = task.user_group
    started = start_task(run, wanted.task, source, scope)
    say(run, task).task_executed.task_run.CopyFrom(started.id)
