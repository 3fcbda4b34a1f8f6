"""The workflow machine: what a partition folds workflow commands with."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from google.protobuf.message import DecodeError, Message

from remuda.partition.keys import after, parts
from remuda.partition.machine import (
    Applied,
    Effect,
    Outcome,
    Rejected,
    Rejection,
    Stamp,
    State,
    View,
)
from remuda.workflow.advance import settle
from remuda.workflow.calls import CALLS, DEFINING
from remuda.workflow.commands import (
    Call,
    ClaimTask,
    Command,
    Correlate,
    Correlated,
    Learn,
    UnclaimTask,
    Uncorrelate,
    Unlearn,
    decode,
    decode_due,
)
from remuda.workflow.data.sound import problem
from remuda.workflow.definitions.definition import Refusal, learn, unlearn
from remuda.workflow.due import fire
from remuda.workflow.effects import TaskScheduled
from remuda.workflow.errors import BadValue
from remuda.workflow.events import correlate, uncorrelate
from remuda.workflow.internal import claim_task, deliver_correlated, unclaim_task
from remuda.workflow.keys import PREFIX, QUEUE
from remuda.workflow.work import Work


class WorkflowMachine:
    """Knows nothing but the number of partitions: everything else is in the state."""

    name = "workflow"
    prefix = PREFIX

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions

    def apply(self, state: State, command: bytes, stamp: Stamp) -> Outcome:
        try:
            decoded = decode(command)
        except msgspec.DecodeError as error:
            return Rejected(f"this is not a workflow command: {error}", Rejection.INVALID)
        work = Work(state, decoded.tenant, stamp, self.partitions)
        try:
            answer = _answer(work, decoded)
        except BadValue as error:
            answer = Refusal(Rejection.INVALID, str(error))
        if isinstance(answer, Refusal):
            return Rejected(answer.reason, answer.kind)
        settle(work)
        work.objects.flush()
        data = b"" if answer is None else answer.SerializeToString(deterministic=True)
        return Applied(data, tuple(work.effects))

    def fire(self, state: State, key: bytes, payload: bytes, stamp: Stamp) -> Applied:
        due = decode_due(payload)
        work = Work(state, due.tenant, stamp, self.partitions)
        fire(work, due)
        settle(work)
        work.objects.flush()
        return Applied(effects=tuple(work.effects))

    def opened(self, view: View) -> Iterable[Effect]:
        """Every task that waits for a worker."""
        for key, run in view.scan(QUEUE, after(QUEUE)):
            tenant, task_def, _, guid = parts(key, QUEUE, str, str, int, str)
            yield TaskScheduled(str(tenant), str(task_def), run.decode(), str(guid))


def _answer(work: Work, command: Command) -> Message | Refusal | None:
    match command:
        case Call():
            return _call(work, command)
        case ClaimTask():
            return claim_task(work, command)
        case UnclaimTask():
            return unclaim_task(work, command)
        case Learn():
            learn(work, command)
        case Unlearn():
            unlearn(work, command)
        case Correlate():
            correlate(work, command)
        case Uncorrelate():
            uncorrelate(work, command)
        case Correlated():
            deliver_correlated(work, command)
    return None


def _call(work: Work, command: Call) -> Message | Refusal | None:
    found = CALLS.get(command.name)
    if found is None:
        return Refusal(Rejection.INVALID, f"there is no call {command.name}")
    kind, handle = found
    try:
        request = kind.FromString(command.request)
    except DecodeError:
        reason = f"what came with {command.name} is not a {kind.__name__}"
        return Refusal(Rejection.INVALID, reason)
    if command.name in DEFINING:
        found_problem = problem(request)
        if found_problem is not None:
            return Refusal(Rejection.INVALID, found_problem)
    return handle(work, request, command)
