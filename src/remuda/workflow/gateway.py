"""Workflows as a node offers them: which partition a call is for, and how it is put to it.

Definitions are made in one partition and come to the others a moment later. A call that meets a
partition which does not know a definition yet waits for it: whoever has put a spec can run it.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from google.protobuf.message import Message
from littlehorse.model.object_id_pb2 import WfRunId, WfSpecId
from littlehorse.model.scheduled_wf_run_pb2 import ScheduledWfRun
from littlehorse.model.service_pb2 import (
    AwaitWorkflowEventRequest,
    RunWfRequest,
    ScheduleWfRequest,
)
from littlehorse.model.wf_run_pb2 import WfRun
from littlehorse.model.wf_spec_pb2 import WfSpec

from remuda.clock import SystemClock
from remuda.errors import CommandRejected, StoreFailed, Uncertain
from remuda.partition.machine import Rejected, Rejection
from remuda.partition.route import Route
from remuda.partition.runtime import Partition
from remuda.peer.backoff import Backoff
from remuda.workflow.announcements import Announcements
from remuda.workflow.commands import Call, encode
from remuda.workflow.data.casts import ms_of_timestamp
from remuda.workflow.data.values import run_id_text
from remuda.workflow.dispatch import MACHINE
from remuda.workflow.effects import DefinitionChanged
from remuda.workflow.homes import ONCE, home_of, new_run_id
from remuda.workflow.keys import definition_key, place, run_key, schedule_key
from remuda.workflow.placement import DEFINITIONS, partition_of_run
from remuda.workflow.questions import (
    Definitions,
    Found,
    Latest,
    Parts,
    Question,
    Stored,
    Thrown,
    Wait,
    encode_question,
)
from remuda.workflow.searches import Hit

T = TypeVar("T")
Version = tuple[int, int]

_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.005, 0.2
_ARRIVES_S = 20.0
"""How long a call waits for a definition to come to a partition."""
_CHANCE = random.Random()
_CLOCK = SystemClock()
_EVENT_CALLS = frozenset({"PutExternalEvent", "PutCorrelatedEvent"})


class Gateway:
    def __init__(self, route: Route, announcements: Announcements) -> None:
        self.route = route
        self._versions = _Versions(route)
        announcements.on_defined(self._versions.note)

    # ── calls that change something ──────────────────────────────────────────────────────────

    async def call(self, tenant: str, name: str, request: Message) -> bytes:
        """The serialised answer. Raises `CommandRejected` for what is refused."""
        if isinstance(request, RunWfRequest | ScheduleWfRequest):
            return await self._start(tenant, name, request)
        chosen = uuid.uuid4().hex
        home = home_of(tenant, name, request, chosen, self.route.partitions)
        data = request.SerializeToString(deterministic=True)
        command = encode(Call(tenant, name, data, chosen))
        waited = _Arrival()
        while True:
            outcome = await self.route.submit(home, MACHINE, command, repeatable=name not in ONCE)
            if not isinstance(outcome, Rejected):
                return outcome
            if not (
                name in _EVENT_CALLS
                and outcome.kind is Rejection.NOT_FOUND
                and await self._is_on_its_way(tenant, home, request)
                and await waited.a_moment()
            ):
                raise _error(outcome)

    async def _start(
        self, tenant: str, name: str, request: RunWfRequest | ScheduleWfRequest
    ) -> bytes:
        """A run or a schedule, of the version that is meant as of now.

        If an answer is lost it is asked for again. What is there then was made by the first try if
        the id is ours alone, or else if it was made since.
        """
        chosen = "" if request.id else uuid.uuid4().hex
        home = home_of(tenant, name, request, chosen, self.route.partitions)
        data = request.SerializeToString(deterministic=True)
        waited = _Arrival()
        asked_ms, is_lost = _CLOCK.wall_ms(), False
        while True:
            major, revision = await self.version(
                tenant,
                request.wf_spec_name,
                request.major_version if request.HasField("major_version") else None,
                request.revision if request.HasField("revision") else None,
            )
            command = encode(Call(tenant, name, data, chosen, major, revision))
            try:
                outcome = await self.route.submit(home, MACHINE, command, repeatable=False)
            except (Uncertain, StoreFailed):
                is_lost = True
                if not await waited.a_moment():
                    raise
                continue
            if not isinstance(outcome, Rejected):
                return outcome
            if outcome.kind is Rejection.EXISTS and is_lost:
                made = await self._made(tenant, request, chosen, home)
                if made is not None and (chosen or made[0] >= asked_ms):
                    return made[1]
            if outcome.kind is not Rejection.STALE or not await waited.a_moment():
                raise _error(outcome)

    async def _made(
        self, tenant: str, request: RunWfRequest | ScheduleWfRequest, chosen: str, home: int
    ) -> tuple[int, bytes] | None:
        """When it was made, and what it is."""
        if isinstance(request, RunWfRequest):
            data = await self.stored(home, run_key(place(tenant, new_run_id(request, chosen))))
            when = WfRun.FromString(data or b"").start_time
        else:
            data = await self.stored(home, schedule_key(tenant, request.id or chosen))
            when = ScheduledWfRun.FromString(data or b"").created_at
        return None if data is None else (ms_of_timestamp(when), data)

    async def _is_on_its_way(self, tenant: str, home: int, request: Any) -> bool:
        key = definition_key(tenant, "event", request.external_event_def_id.name)
        return (
            await self.stored(home, key) is None and await self.stored(DEFINITIONS, key) is not None
        )

    # ── definitions ──────────────────────────────────────────────────────────────────────────

    async def version(
        self, tenant: str, name: str, major: int | None, revision: int | None
    ) -> Version:
        """The version of a spec that is meant: the newest of what is not said."""
        known = self._versions.known(tenant, name, major, revision)
        if known is not None:
            return known
        seen = self._versions.changes
        if revision is None:
            data = await self.latest(tenant, "spec", name, -1 if major is None else major)
        elif major is None or min(major, revision) < 0:
            data = None
        else:
            data = await self.definition(tenant, "spec", name, major, revision)
        if data is None:
            wanted = "" if major is None else f" {major}" + _dotted(revision)
            raise missing(f"there is no WfSpec {name}{wanted}: put it first")
        found: WfSpecId = WfSpec.FromString(data).id
        version = found.major_version, found.revision
        self._versions.keep(tenant, name, major, revision, version, seen)
        return version

    async def definition(
        self, tenant: str, kind: str, name: str, major: int = 0, revision: int = 0
    ) -> bytes | None:
        if min(major, revision) < 0:
            return None
        return await self.stored(DEFINITIONS, definition_key(tenant, kind, name, major, revision))

    async def latest(self, tenant: str, kind: str, name: str, major: int = -1) -> bytes | None:
        question = Latest(tenant, kind, name, major)
        return await self._ask(DEFINITIONS, question, bytes | None)

    async def definitions(
        self, tenant: str, kind: str, prefix: str, start: tuple[str, int, int] | None, limit: int
    ) -> list[tuple[str, int, int]]:
        question = Definitions(tenant, kind, prefix, start, limit)
        return await self._ask(DEFINITIONS, question, list[tuple[str, int, int]])

    # ── what there is ────────────────────────────────────────────────────────────────────────

    def home_of_run(self, tenant: str, run_id: WfRunId) -> int:
        return partition_of_run(tenant, run_id, self.route.partitions)

    async def stored(self, partition: int, key: bytes) -> bytes | None:
        return await self._ask(partition, Stored(key), bytes | None)

    async def parts(
        self,
        partition: int,
        sort: str,
        at: bytes,
        start: tuple[int, bytes] | None,
        limit: int,
    ) -> list[tuple[int, bytes, bytes]]:
        question = Parts(sort, at, start, limit)
        return await self._ask(partition, question, list[tuple[int, bytes, bytes]])

    async def search(
        self, tenant: str, call: str, request: Message, start: Hit | None, limit: int
    ) -> list[Hit]:
        """Over all partitions, in order of creation."""
        data = request.SerializeToString(deterministic=True)
        question = Found(tenant, call, data, start, limit)
        found: Sequence[list[Hit]] = await asyncio.gather(
            *(self._ask(number, question, list[Hit]) for number in range(self.route.partitions))
        )
        return sorted(hit for hits in found for hit in hits)[:limit]

    async def thrown(self, tenant: str, request: AwaitWorkflowEventRequest) -> bytes | None:
        """The first event that fits, if a run has thrown one. Raises if there cannot be one."""
        run = request.wf_run_id
        names = tuple(one.name for one in request.event_def_ids)
        ignored = tuple(one.SerializeToString() for one in request.workflow_events_to_ignore)
        question = Thrown(tenant, place(tenant, run), names, ignored)
        wait: Wait = await self._ask(self.home_of_run(tenant, run), question, Wait)
        if not wait.has_run:
            raise missing(f"there is no run {run_id_text(run)}")
        for name in wait.unknown:
            if await self.definition(tenant, "workflow-event", name) is None:
                raise missing(f"there is no WorkflowEventDef {name}")
        return wait.event

    async def _ask(self, partition: int, question: Question, kind: Any) -> Any:
        answer = await self.route.ask(partition, MACHINE, encode_question(question))
        return msgspec.msgpack.decode(answer, type=kind)


class _Versions:
    """Versions of specs as they were last seen; only while the partition of definitions is here.

    Elsewhere a change would be heard of late, and whoever has just put a spec would run the old
    one.
    """

    def __init__(self, route: Route) -> None:
        self.changes = 0
        self._route = route
        self._home: Partition | None = None
        self._known: dict[tuple[str, str], dict[tuple[int | None, int | None], Version]] = {}

    def note(self, changed: DefinitionChanged) -> None:
        if changed.kind == "spec":
            self.changes += 1
            self._known.pop((changed.tenant, changed.name), None)

    def known(
        self, tenant: str, name: str, major: int | None, revision: int | None
    ) -> Version | None:
        home = self._route.here(DEFINITIONS)
        if home is not self._home:
            self._home = home
            self._known.clear()
        if home is None:
            return None
        return self._known.get((tenant, name), {}).get((major, revision))

    def keep(
        self,
        tenant: str,
        name: str,
        major: int | None,
        revision: int | None,
        version: Version,
        seen: int,
    ) -> None:
        if seen == self.changes and self._home is not None:
            self._known.setdefault((tenant, name), {})[major, revision] = version


class _Arrival:
    """Waiting for a definition to arrive, bounded."""

    def __init__(self) -> None:
        self._deadline = time.monotonic() + _ARRIVES_S
        self._backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, _CHANCE)

    async def a_moment(self) -> bool:
        """Whether to try again."""
        if time.monotonic() > self._deadline:
            return False
        await asyncio.sleep(self._backoff.next_s())
        return True


def missing(reason: str) -> CommandRejected:
    return CommandRejected(reason, Rejection.NOT_FOUND.value)


def invalid(reason: str) -> CommandRejected:
    return CommandRejected(reason, Rejection.INVALID.value)


def _error(rejected: Rejected) -> CommandRejected:
    return CommandRejected(rejected.reason, rejected.kind.value)


def _dotted(revision: int | None) -> str:
    return "" if revision is None else f".{revision}"
