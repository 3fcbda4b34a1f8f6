"""Every command of the workflow machine, and how it is written down.

Most are calls of the protocol: the request as the client sent it, and what its proposer has
decided: the id of what is made and the version of the spec that is meant. The others are ours.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import Struct


class Call(Struct, frozen=True, tag="call", array_like=True):
    """A call of the protocol. `name` is that of the rpc, `request` its serialised message."""

    tenant: str
    name: str
    request: bytes
    chosen: str = ""
    """The id or guid of what the call makes, where the request gives none."""
    major: int = 0
    revision: int = 0
    """The version of the spec that is meant, of a call that runs one."""


class ClaimTask(Struct, frozen=True, tag="claim", array_like=True):
    """A worker gets a task: the answer is the ScheduledTask, and comes before it leaves."""

    tenant: str
    run: str
    guid: str
    worker: str
    worker_version: str = ""


class UnclaimTask(Struct, frozen=True, tag="unclaim", array_like=True):
    """The worker that claimed an attempt was gone before it could be told."""

    tenant: str
    run: str
    guid: str
    attempt: int
    worker: str


class Learn(Struct, frozen=True, tag="learn", array_like=True):
    """A definition, from the partition of the definitions to every other."""

    tenant: str
    kind: str
    name: str
    major: int
    revision: int
    definition: bytes


class Unlearn(Struct, frozen=True, tag="unlearn", array_like=True):
    tenant: str
    kind: str
    name: str
    major: int
    revision: int


class Correlate(Struct, frozen=True, tag="correlate", array_like=True):
    """A node of a run in `partition` waits for a correlated event, which lives here."""

    tenant: str
    event: str
    correlation: str
    partition: int
    run: str
    thread: int
    position: int


class Uncorrelate(Struct, frozen=True, tag="uncorrelate", array_like=True):
    """That node does not wait any more."""

    tenant: str
    event: str
    correlation: str
    run: str
    thread: int
    position: int


class Correlated(Struct, frozen=True, tag="correlated", array_like=True):
    """The event that a node waits for has come, for that node only."""

    tenant: str
    event: str
    run: str
    thread: int
    position: int
    guid: str
    content: bytes


Command: TypeAlias = (
    Call | ClaimTask | UnclaimTask | Learn | Unlearn | Correlate | Uncorrelate | Correlated
)

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Command).decode


# ── timers ───────────────────────────────────────────────────────────────────────────────────


class NodeDue(Struct, frozen=True, tag="node", array_like=True):
    """A sleep has ended, or a node has waited long enough."""

    tenant: str
    run: str
    thread: int
    position: int


class AttemptDue(Struct, frozen=True, tag="attempt", array_like=True):
    """A worker has had its time for an attempt, or the wait before a retry is over."""

    tenant: str
    run: str
    guid: str
    attempt: int


class ActionDue(Struct, frozen=True, tag="action", array_like=True):
    """What a user task says should happen after a while. Void if its epoch has passed."""

    tenant: str
    run: str
    guid: str
    action: int
    epoch: int


class RunDue(Struct, frozen=True, tag="run", array_like=True):
    """A run that has ended was kept as long as its spec says."""

    tenant: str
    run: str


class EventDue(Struct, frozen=True, tag="event", array_like=True):
    """An event that nobody claimed was kept as long as its definition says."""

    tenant: str
    run: str
    event: str
    guid: str


class CorrelatedDue(Struct, frozen=True, tag="correlated", array_like=True):
    """A correlated event was kept as long as its definition says."""

    tenant: str
    event: str
    correlation: str


class ScheduleDue(Struct, frozen=True, tag="schedule", array_like=True):
    """A schedule begins its next run."""

    tenant: str
    schedule: str


Due: TypeAlias = NodeDue | AttemptDue | ActionDue | RunDue | EventDue | CorrelatedDue | ScheduleDue

encode_due = msgspec.msgpack.Encoder().encode
decode_due = msgspec.msgpack.Decoder(Due).decode
