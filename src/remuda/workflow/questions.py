"""What can be asked of a partition about workflows: as data, because its owner may be elsewhere."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec
from google.protobuf.message import DecodeError, Message
from littlehorse.model.external_event_pb2 import CorrelatedEvent, ExternalEvent
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.object_id_pb2 import WorkflowEventId
from littlehorse.model.scheduled_wf_run_pb2 import ScheduledWfRun
from littlehorse.model.service_pb2 import (
    SearchCorrelatedEventRequest,
    SearchExternalEventRequest,
    SearchNodeRunRequest,
    SearchScheduledWfRunRequest,
    SearchTaskRunRequest,
    SearchUserTaskRunRequest,
    SearchVariableRequest,
    SearchWfRunRequest,
    SearchWorkflowEventRequest,
)
from littlehorse.model.task_run_pb2 import TaskRun
from littlehorse.model.user_tasks_pb2 import UserTaskRun
from littlehorse.model.variable_pb2 import Variable
from littlehorse.model.workflow_event_pb2 import WorkflowEvent
from msgspec import Struct

from remuda.errors import CommandRejected
from remuda.partition.keys import after, text, u64
from remuda.partition.machine import Rejection, View
from remuda.workflow.data.casts import ms_of_timestamp
from remuda.workflow.errors import BadValue
from remuda.workflow.keys import (
    CORRELATED,
    DEFINITION,
    EVENT,
    NODE,
    SCHEDULE,
    TASK,
    THROWN,
    USER_TASK,
    VARIABLE,
    definition_key,
    run_key,
)
from remuda.workflow.searches import (
    Hit,
    search_definitions,
    search_external_events,
    search_node_runs,
    search_runs,
    search_task_runs,
    search_user_tasks,
    search_variables,
    search_workflow_events,
    wanted_from,
)


class Question(Struct, frozen=True, array_like=True, tag_field="type"):
    def answer(self, view: View) -> object:
        raise NotImplementedError


class Stored(Question, frozen=True, tag="stored"):
    """What is under a key."""

    key: bytes

    def answer(self, view: View) -> bytes | None:
        return view.get(self.key)


class Latest(Question, frozen=True, tag="latest"):
    """The newest version of a definition, of a major version or of all."""

    tenant: str
    kind: str
    name: str
    major: int = -1

    def answer(self, view: View) -> bytes | None:
        prefix = DEFINITION + text(self.tenant) + text(self.kind) + text(self.name)
        if self.major >= 0:
            prefix += u64(self.major)
        for _, data in view.scan(prefix, after(prefix), limit=1, reverse=True):
            return data
        return None


class Definitions(Question, frozen=True, tag="definitions"):
    """Names and versions of those whose name begins so, in order."""

    tenant: str
    kind: str
    prefix: str
    start: tuple[str, int, int] | None
    limit: int

    def answer(self, view: View) -> list[tuple[str, int, int]]:
        return search_definitions(view, self.tenant, self.kind, self.prefix, self.start, self.limit)


class Found(Question, frozen=True, tag="found"):
    """The hits of a search, which is named by the call that asks for it."""

    tenant: str
    call: str
    request: bytes
    start: Hit | None
    limit: int

    def answer(self, view: View) -> list[Hit]:
        kind, search = SEARCHES[self.call]
        return search(view, self.tenant, kind.FromString(self.request), self.start, self.limit)


class Parts(Question, frozen=True, tag="parts"):
    """Objects of a run, in order of creation: when each was made, its key, and what it is."""

    sort: str
    place: bytes
    """The run, and maybe what follows it in the key."""
    start: tuple[int, bytes] | None
    limit: int

    def answer(self, view: View) -> list[tuple[int, bytes, bytes]]:
        prefix, made = PARTS[self.sort]
        begin = prefix + self.place
        found = [(made(data), key, data) for key, data in view.scan(begin, after(begin))]
        start = self.start
        return sorted(one for one in found if start is None or one[:2] > start)[: self.limit]


class Wait(Struct, frozen=True):
    """How a wait for a run's events stands."""

    has_run: bool
    unknown: tuple[str, ...] = ()
    """The names of events that have no definition here."""
    event: bytes | None = None
    """The first that fits, if there is one."""


class Thrown(Question, frozen=True, tag="thrown"):
    """Whether a run has thrown one of these events, other than those that are to be ignored."""

    tenant: str
    place: bytes
    names: tuple[str, ...]
    ignored: tuple[bytes, ...]

    def answer(self, view: View) -> Wait:
        if view.get(run_key(self.place)) is None:
            return Wait(False)
        unknown = tuple(
            name
            for name in self.names
            if view.get(definition_key(self.tenant, "workflow-event", name)) is None
        )
        ignored = {WorkflowEventId.FromString(one).SerializeToString() for one in self.ignored}
        found: list[tuple[int, bytes]] = []
        for name in self.names:
            begin = THROWN + self.place + text(name)
            for _, data in view.scan(begin, after(begin)):
                event = WorkflowEvent.FromString(data)
                if event.id.SerializeToString() not in ignored:
                    found.append((ms_of_timestamp(event.created_at), data))
                    break
        return Wait(True, unknown, min(found)[1] if found else None)


AnyQuestion: TypeAlias = Stored | Latest | Definitions | Found | Parts | Thrown


def answered(view: View, question: bytes, now_ms: int) -> bytes:
    try:
        return _encode(_read(question).answer(view))
    except (msgspec.DecodeError, DecodeError, KeyError) as error:
        raise _invalid(f"this is no question about workflows: {error}") from None
    except (BadValue, ValueError, struct.error) as error:
        raise _invalid(str(error)) from None


def _invalid(reason: str) -> CommandRejected:
    return CommandRejected(reason, Rejection.INVALID.value)


encode_question = msgspec.msgpack.Encoder().encode
_encode = msgspec.msgpack.Encoder().encode
_read = msgspec.msgpack.Decoder(AnyQuestion).decode


# ── what has no tags is looked through ───────────────────────────────────────────────────────


def _search_correlated(
    view: View, tenant: str, request: SearchCorrelatedEventRequest, start: Hit | None, limit: int
) -> list[Hit]:
    prefix = CORRELATED + text(tenant) + text(request.external_event_def_id.name)
    wanted = wanted_from(
        request.earliest_start if request.HasField("earliest_start") else None,
        request.latest_start if request.HasField("latest_start") else None,
        start,
        limit,
    )
    found: list[Hit] = []
    for _, data in view.scan(prefix, after(prefix)):
        event = CorrelatedEvent.FromString(data)
        at_ms = ms_of_timestamp(event.created_at)
        if not wanted.earliest_ms <= at_ms <= wanted.latest_ms:
            continue
        if request.HasField("has_external_events") and (
            request.has_external_events != bool(event.external_events)
        ):
            continue
        found.append(Hit(at_ms, event.id.SerializeToString(deterministic=True)))
    return _page(found, start, limit)


def _search_schedules(
    view: View, tenant: str, request: SearchScheduledWfRunRequest, start: Hit | None, limit: int
) -> list[Hit]:
    prefix = SCHEDULE + text(tenant)
    found: list[Hit] = []
    for _, data in view.scan(prefix, after(prefix)):
        schedule = ScheduledWfRun.FromString(data)
        spec = schedule.wf_spec_id
        if request.wf_spec_name and spec.name != request.wf_spec_name:
            continue
        if request.HasField("major_version") and spec.major_version != request.major_version:
            continue
        if request.HasField("revision") and spec.revision != request.revision:
            continue
        schedule_id = schedule.id.SerializeToString(deterministic=True)
        found.append(Hit(ms_of_timestamp(schedule.created_at), schedule_id))
    return _page(found, start, limit)


def _page(found: list[Hit], start: Hit | None, limit: int) -> list[Hit]:
    return sorted(hit for hit in found if start is None or hit > start)[:limit]


Search: TypeAlias = Callable[[View, str, Any, Hit | None, int], list[Hit]]

SEARCHES: Mapping[str, tuple[type[Message], Search]] = {
    "SearchWfRun": (SearchWfRunRequest, search_runs),
    "SearchTaskRun": (SearchTaskRunRequest, search_task_runs),
    "SearchNodeRun": (SearchNodeRunRequest, search_node_runs),
    "SearchExternalEvent": (SearchExternalEventRequest, search_external_events),
    "SearchWorkflowEvent": (SearchWorkflowEventRequest, search_workflow_events),
    "SearchUserTaskRun": (SearchUserTaskRunRequest, search_user_tasks),
    "SearchVariable": (SearchVariableRequest, search_variables),
    "SearchCorrelatedEvent": (SearchCorrelatedEventRequest, _search_correlated),
    "SearchScheduledWfRun": (SearchScheduledWfRunRequest, _search_schedules),
}

PARTS: Mapping[str, tuple[bytes, Callable[[bytes], int]]] = {
    "node": (NODE, lambda data: ms_of_timestamp(NodeRun.FromString(data).arrival_time)),
    "task": (TASK, lambda data: ms_of_timestamp(TaskRun.FromString(data).scheduled_at)),
    "variable": (VARIABLE, lambda data: ms_of_timestamp(Variable.FromString(data).created_at)),
    "event": (EVENT, lambda data: ms_of_timestamp(ExternalEvent.FromString(data).created_at)),
    "thrown": (THROWN, lambda data: ms_of_timestamp(WorkflowEvent.FromString(data).created_at)),
    "user-task": (
        USER_TASK,
        lambda data: ms_of_timestamp(UserTaskRun.FromString(data).scheduled_time),
    ),
}
