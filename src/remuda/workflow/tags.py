"""Tags: keys that lead a search to objects, written with the object that they lead to.

A tag is `wi tenant name value… time id`, and its value is what a filter needs to know beside it.
Time is that of creation, so that a scan is in order of creation, and what several partitions
answer can be merged by it. Which objects have which tags:

    run          spec                       value: major, revision
    run-status   spec status                value: major, revision
    run-parent   parent
    task         task
    task-status  task status
    event        event claimed
    node         event status               of nodes that wait for an event
    user-task    all, def, user or group; its name; status
    variable     spec name value            value: major, revision; of searchable variables; the
                                            name of a field is `variable.path.to.it`
    thrown       event
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from littlehorse.model.common_enums_pb2 import LHStatus, TaskStatus
from littlehorse.model.external_event_pb2 import ExternalEvent
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.object_id_pb2 import WfSpecId
from littlehorse.model.task_run_pb2 import TaskRun
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.user_tasks_pb2 import UserTaskRun, UserTaskRunStatus
from littlehorse.model.variable_pb2 import Variable
from littlehorse.model.wf_run_pb2 import WfRun
from littlehorse.model.workflow_event_pb2 import WorkflowEvent
from msgspec import Struct

from remuda.partition.keys import text, u64
from remuda.workflow.data.inside import read_path
from remuda.workflow.data.paths import parse_path
from remuda.workflow.data.values import is_null, run_id_text, text_of
from remuda.workflow.keys import TAG, name_text
from remuda.workflow.spec import VariablePlan

if TYPE_CHECKING:
    from remuda.workflow.objects import Objects

Tags = Mapping[bytes, bytes]


def is_tagged(message: Message) -> bool:
    if isinstance(message, NodeRun):
        return message.HasField("external_event")
    return type(message) in _KINDS


def fixed_tags(tenant: str, message: Message) -> Tags:
    """Those that an object has as long as it is there."""
    kind = _KINDS.get(type(message))
    return {} if kind is None else kind.fixed(name_text(tenant), message)


def moving_tags(tenant: str, message: Message) -> Tags:
    """Those that come and go as it changes."""
    kind = _KINDS.get(type(message))
    return {} if kind is None else kind.moving(name_text(tenant), message)


def has_moved(old: Message, new: Message) -> bool:
    """Whether the tags that come and go are others now."""
    kind = _KINDS.get(type(new))
    return kind is not None and kind.state(old) != kind.state(new)


def tag_prefix(tenant: str, name: str, *values: str) -> bytes:
    """What the tags that a search wants begin with."""
    return TAG + text(tenant) + text(name) + b"".join(map(text, values))


def version_value(spec_id: WfSpecId) -> bytes:
    return u64(spec_id.major_version) + u64(spec_id.revision)


# ── variables ────────────────────────────────────────────────────────────────────────────────
# Whether a variable has tags is said by its spec, not by the object.


def variable_tags(
    tenant: str, variable: Variable, found: VariablePlan, value: VariableValue
) -> list[bytes]:
    if is_null(value) or found.masked:
        return []
    fields = [(found.name, value)] if found.searchable else []
    for path in found.indexes:
        inner = read_path(value, parse_path(path))
        if not is_null(inner):
            fields.append((found.name + path.removeprefix("$"), inner))
    front = TAG + text(tenant) + _VARIABLE + text(variable.wf_spec_id.name)
    end = _end(variable.created_at, variable.id)
    return [front + text(name) + text(text_of(inner)) + end for name, inner in fields]


def retag_variable(
    objects: Objects, variable: Variable, found: VariablePlan, value: VariableValue
) -> None:
    """Its value is about to become this one."""
    for tag in variable_tags(objects.tenant, variable, found, variable.value):
        objects.state.delete(tag)
    for tag in variable_tags(objects.tenant, variable, found, value):
        objects.state.put(tag, version_value(variable.wf_spec_id))


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _end(when: Timestamp, message_id: Message) -> bytes:
    """The end of a tag: the time, and the object that it leads to."""
    at = u64(when.seconds * 1000 + when.nanos // 1_000_000)
    return at + message_id.SerializeToString(deterministic=True)


def _run_fixed(tenant: bytes, run: WfRun) -> Tags:
    end = _end(run.start_time, run.id)
    value = version_value(run.wf_spec_id)
    tags = {TAG + tenant + _RUN + name_text(run.wf_spec_id.name) + end: value}
    if run.id.HasField("parent_wf_run_id"):
        parent = text(run_id_text(run.id.parent_wf_run_id))
        tags[TAG + tenant + _RUN_PARENT + parent + end] = value
    return tags


def _run_moving(tenant: bytes, run: WfRun) -> Tags:
    spec = run.wf_spec_id
    front = TAG + tenant + _RUN_STATUS + name_text(spec.name) + _STATUS[run.status]
    return {front + _end(run.start_time, run.id): version_value(spec)}


def _task_fixed(tenant: bytes, task: TaskRun) -> Tags:
    front = TAG + tenant + _TASK + name_text(task.task_def_id.name)
    return {front + _end(task.scheduled_at, task.id): b""}


def _task_moving(tenant: bytes, task: TaskRun) -> Tags:
    front = TAG + tenant + _TASK_STATUS + name_text(task.task_def_id.name)
    return {front + _TASK_STATE[task.status] + _end(task.scheduled_at, task.id): b""}


def _event_moving(tenant: bytes, event: ExternalEvent) -> Tags:
    front = TAG + tenant + _EVENT + name_text(event.id.external_event_def_id.name)
    claimed = _CLAIMED if event.claimed else _UNCLAIMED
    return {front + claimed + _end(event.created_at, event.id): b""}


def _node_moving(tenant: bytes, node: NodeRun) -> Tags:
    if node.WhichOneof("node_type") != "external_event":
        return {}
    front = TAG + tenant + _NODE + name_text(node.external_event.external_event_def_id.name)
    return {front + _STATUS[node.status] + _end(node.arrival_time, node.id): b""}


def _user_task_moving(tenant: bytes, task: UserTaskRun) -> Tags:
    end = text(UserTaskRunStatus.Name(task.status)) + _end(task.scheduled_time, task.id)
    front = TAG + tenant + _USER_TASK
    tags = {
        front + text("all") + text("") + end: b"",
        front + text("def") + text(task.user_task_def_id.name) + end: b"",
    }
    if task.HasField("user_id"):
        tags[front + text("user") + text(task.user_id) + end] = b""
    if task.HasField("user_group"):
        tags[front + text("group") + text(task.user_group) + end] = b""
    return tags


def _thrown_fixed(tenant: bytes, event: WorkflowEvent) -> Tags:
    front = TAG + tenant + _THROWN + name_text(event.id.workflow_event_def_id.name)
    return {front + _end(event.created_at, event.id): b""}


def _none(tenant: bytes, message: Any) -> Tags:
    return {}


_RUN = text("run")
_RUN_STATUS = text("run-status")
_RUN_PARENT = text("run-parent")
_TASK = text("task")
_TASK_STATUS = text("task-status")
_EVENT = text("event")
_NODE = text("node")
_USER_TASK = text("user-task")
_THROWN = text("thrown")
_VARIABLE = text("variable")
_CLAIMED = text("claimed")
_UNCLAIMED = text("unclaimed")
_STATUS = {number: text(name) for name, number in LHStatus.items()}
_TASK_STATE = {number: text(name) for name, number in TaskStatus.items()}


class _Tagged(Struct, frozen=True):
    fixed: Callable[[bytes, Any], Tags]
    moving: Callable[[bytes, Any], Tags]
    state: Callable[[Any], object]
    """What the moving ones depend on."""


_KINDS: Mapping[type[Message], _Tagged] = {
    WfRun: _Tagged(_run_fixed, _run_moving, lambda run: run.status),
    TaskRun: _Tagged(_task_fixed, _task_moving, lambda task: task.status),
    ExternalEvent: _Tagged(_none, _event_moving, lambda event: event.claimed),
    NodeRun: _Tagged(_none, _node_moving, lambda node: node.status),
    UserTaskRun: _Tagged(
        _none, _user_task_moving, lambda task: (task.status, task.user_id, task.user_group)
    ),
    WorkflowEvent: _Tagged(_thrown_fixed, _none, lambda event: None),
}
