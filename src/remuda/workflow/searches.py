"""Searches: tags of one partition, in order of creation.

An answer is a list of *hits*: when it was made, and the id of what was found. Several partitions
answer the same question; merging by (time, id) gives the order of all, and the last hit that was
taken is where the next page begins, in each of them. So a bookmark is a hit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from littlehorse.model.common_enums_pb2 import LHStatus, TaskStatus
from littlehorse.model.object_id_pb2 import (
    UserTaskRunId,
    VariableId,
    WfRunId,
)
from littlehorse.model.service_pb2 import (
    SearchExternalEventRequest,
    SearchNodeRunRequest,
    SearchTaskRunRequest,
    SearchUserTaskRunRequest,
    SearchVariableRequest,
    SearchWfRunRequest,
    SearchWorkflowEventRequest,
)
from littlehorse.model.user_tasks_pb2 import UserTaskRun, UserTaskRunStatus
from littlehorse.model.wf_run_pb2 import WfRun
from msgspec import Struct

from remuda.partition.keys import after, number, parts, u64
from remuda.partition.machine import View
from remuda.workflow.data.casts import ms_of_timestamp
from remuda.workflow.data.values import run_id_text, text_of
from remuda.workflow.errors import BadValue
from remuda.workflow.keys import DEFINITION, name_text, place, run_key, user_task_key
from remuda.workflow.tags import tag_prefix

Id = TypeVar("Id", bound=Message)


class Hit(Struct, frozen=True, order=True):
    at_ms: int
    object_id: bytes
    """The serialised id."""


class Wanted(Struct, frozen=True):
    """Which hits of those that a tag leads to."""

    start: Hit | None = None
    """Only what comes after this one."""
    earliest_ms: int = 0
    latest_ms: int = 2**63
    limit: int = 100


def wanted_from(
    earliest: Timestamp | None, latest: Timestamp | None, start: Hit | None, limit: int
) -> Wanted:
    return Wanted(
        start,
        0 if earliest is None else ms_of_timestamp(earliest),
        2**63 if latest is None else ms_of_timestamp(latest),
        limit,
    )


# ── by kind ──────────────────────────────────────────────────────────────────────────────────


def search_runs(
    view: View, tenant: str, request: SearchWfRunRequest, start: Hit | None, limit: int
) -> list[Hit]:
    """By spec or by parent; then by status, version, time and the values of variables."""
    wanted = _timed(request, start, limit)
    if request.variable_filters:
        return _runs_by_variables(view, tenant, request, wanted)
    if request.HasField("parent_wf_run_id"):
        prefixes = [tag_prefix(tenant, "run-parent", run_id_text(request.parent_wf_run_id))]
    elif not request.wf_spec_name:
        raise BadValue("wf_spec_name: a search for runs needs it, or parent_wf_run_id")
    elif request.HasField("status"):
        status = LHStatus.Name(request.status)
        prefixes = [tag_prefix(tenant, "run-status", request.wf_spec_name, status)]
    else:
        prefixes = [tag_prefix(tenant, "run", request.wf_spec_name)]

    def is_meant(found: bytes, value: bytes) -> bool:
        return _version_fits(request, value) and _run_fits(view, tenant, request, found)

    return _hits(view, prefixes, wanted, is_meant)


def search_task_runs(
    view: View, tenant: str, request: SearchTaskRunRequest, start: Hit | None, limit: int
) -> list[Hit]:
    if request.HasField("status"):
        status = TaskStatus.Name(request.status)
        prefix = tag_prefix(tenant, "task-status", request.task_def_name, status)
    else:
        prefix = tag_prefix(tenant, "task", request.task_def_name)
    return _hits(view, [prefix], _timed(request, start, limit))


def search_node_runs(
    view: View, tenant: str, request: SearchNodeRunRequest, start: Hit | None, limit: int
) -> list[Hit]:
    """Nodes that wait, or have waited, for an event."""
    if not request.HasField("external_event_def"):
        raise BadValue("external_event_def: a search for node runs needs it")
    status = LHStatus.Name(request.status)
    prefix = tag_prefix(tenant, "node", request.external_event_def.name, status)
    return _hits(view, [prefix], _timed(request, start, limit))


def search_external_events(
    view: View, tenant: str, request: SearchExternalEventRequest, start: Hit | None, limit: int
) -> list[Hit]:
    name = request.external_event_def_id.name
    states = ["claimed", "unclaimed"]
    if request.HasField("is_claimed"):
        states = ["claimed" if request.is_claimed else "unclaimed"]
    prefixes = [tag_prefix(tenant, "event", name, state) for state in states]
    return _hits(view, prefixes, _timed(request, start, limit))


def search_workflow_events(
    view: View, tenant: str, request: SearchWorkflowEventRequest, start: Hit | None, limit: int
) -> list[Hit]:
    prefix = tag_prefix(tenant, "thrown", request.workflow_event_def_id.name)
    return _hits(view, [prefix], _timed(request, start, limit))


def search_user_tasks(
    view: View, tenant: str, request: SearchUserTaskRunRequest, start: Hit | None, limit: int
) -> list[Hit]:
    """By the narrowest of user, group and definition that is given, then by the others."""
    statuses = [*UserTaskRunStatus.keys()]
    if request.HasField("status"):
        statuses = [UserTaskRunStatus.Name(request.status)]
    sort = ("all", "")
    if request.HasField("user_task_def_name"):
        sort = ("def", request.user_task_def_name)
    if request.HasField("user_group"):
        sort = ("group", request.user_group)
    if request.HasField("user_id"):
        sort = ("user", request.user_id)
    prefixes = [tag_prefix(tenant, "user-task", *sort, status) for status in statuses]

    def is_meant(found: bytes, value: bytes) -> bool:
        task_id = UserTaskRunId.FromString(found)
        data = view.get(user_task_key(place(tenant, task_id.wf_run_id), task_id.user_task_guid))
        return data is not None and _user_task_fits(request, UserTaskRun.FromString(data))

    return _hits(view, prefixes, _timed(request, start, limit), is_meant)


def search_variables(
    view: View, tenant: str, request: SearchVariableRequest, start: Hit | None, limit: int
) -> list[Hit]:
    """Searchable variables of a spec that have this value."""
    value = text_of(request.value)
    prefix = tag_prefix(tenant, "variable", request.wf_spec_name, request.var_name, value)

    def is_meant(found: bytes, value: bytes) -> bool:
        return _version_fits(request, value)

    return _hits(view, [prefix], Wanted(start, limit=limit), is_meant)


def search_definitions(
    view: View, tenant: str, kind: str, prefix: str, start: tuple[str, int, int] | None, limit: int
) -> list[tuple[str, int, int]]:
    """Names, majors and revisions, in order, of definitions whose name begins so."""
    base = DEFINITION + name_text(tenant) + name_text(kind)
    begin = base + prefix.encode()
    found: list[tuple[str, int, int]] = []
    for key, _ in view.scan(begin, after(begin)):
        name, major, revision = parts(key, base, str, int, int)
        one = str(name), int(major), int(revision)
        if start is not None and one <= start:
            continue
        found.append(one)
        if len(found) == limit:
            break
    return found


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _timed(
    request: SearchWfRunRequest
    | SearchTaskRunRequest
    | SearchNodeRunRequest
    | SearchExternalEventRequest
    | SearchWorkflowEventRequest
    | SearchUserTaskRunRequest,
    start: Hit | None,
    limit: int,
) -> Wanted:
    return wanted_from(
        request.earliest_start if request.HasField("earliest_start") else None,
        request.latest_start if request.HasField("latest_start") else None,
        start,
        limit,
    )


def _hits(
    view: View,
    prefixes: list[bytes],
    wanted: Wanted,
    is_meant: Callable[[bytes, bytes], bool] = lambda found, value: True,
) -> list[Hit]:
    found: list[Hit] = []
    for prefix in prefixes:
        taken = 0
        for hit, value in _scan(view, prefix, wanted):
            if is_meant(hit.object_id, value):
                found.append(hit)
                taken += 1
                if taken == wanted.limit:
                    break
    return sorted(found)[: wanted.limit]


def _scan(view: View, prefix: bytes, wanted: Wanted) -> Iterator[tuple[Hit, bytes]]:
    first = u64(wanted.earliest_ms)
    if wanted.start is not None:
        first = max(first, u64(wanted.start.at_ms) + wanted.start.object_id + b"\x00")
    end = prefix + u64(min(wanted.latest_ms, 2**63) + 1)
    for key, value in view.scan(prefix + first, end):
        at = len(prefix)
        yield Hit(number(key, at), key[at + 8 :]), value


def _version_fits(request: SearchWfRunRequest | SearchVariableRequest, value: bytes) -> bool:
    if request.HasField("wf_spec_major_version") and (
        number(value) != request.wf_spec_major_version
    ):
        return False
    return not request.HasField("wf_spec_revision") or (
        number(value, 8) == request.wf_spec_revision
    )


def _run_fits(view: View, tenant: str, request: SearchWfRunRequest, found: bytes) -> bool:
    """What the tag does not say; only a search by parent or by variables has to look."""
    by_parent = request.HasField("parent_wf_run_id")
    if not by_parent and not request.variable_filters:
        return True
    data = view.get(run_key(place(tenant, WfRunId.FromString(found))))
    if data is None:
        return False
    run = WfRun.FromString(data)
    if request.wf_spec_name and run.wf_spec_id.name != request.wf_spec_name:
        return False
    if by_parent and run.id.parent_wf_run_id != request.parent_wf_run_id:
        return False
    return not request.HasField("status") or run.status == request.status


def _runs_by_variables(
    view: View, tenant: str, request: SearchWfRunRequest, wanted: Wanted
) -> list[Hit]:
    """Runs that have all of these values."""
    if not request.wf_spec_name:
        raise BadValue("wf_spec_name: a search by variables needs it")
    matching: set[Hit] | None = None
    for one in request.variable_filters:
        prefix = tag_prefix(
            tenant, "variable", request.wf_spec_name, one.var_name, text_of(one.value)
        )
        everything = Wanted(None, wanted.earliest_ms, wanted.latest_ms)
        runs = {
            Hit(hit.at_ms, _run_of_variable(hit.object_id))
            for hit, value in _scan(view, prefix, everything)
            if _version_fits(request, value)
        }
        matching = runs if matching is None else matching & runs
    found = [
        hit
        for hit in sorted(matching or ())
        if (wanted.start is None or hit > wanted.start)
        and _run_fits(view, tenant, request, hit.object_id)
    ]
    return found[: wanted.limit]


def _run_of_variable(variable_id: bytes) -> bytes:
    return VariableId.FromString(variable_id).wf_run_id.SerializeToString(deterministic=True)


def _user_task_fits(request: SearchUserTaskRunRequest, task: UserTaskRun) -> bool:
    if request.HasField("user_id") and task.user_id != request.user_id:
        return False
    if request.HasField("user_group") and task.user_group != request.user_group:
        return False
    return not request.HasField("user_task_def_name") or (
        task.user_task_def_id.name == request.user_task_def_name
    )


def ids(hits: list[Hit], kind: type[Id]) -> list[Id]:
    """What was found, as ids of a kind: WfRunId, TaskRunId, …"""
    return [kind.FromString(hit.object_id) for hit in hits]
