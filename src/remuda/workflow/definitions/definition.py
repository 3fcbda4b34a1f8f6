"""The shape that all puts share: the same again is the old one, a change needs to be allowed."""

from __future__ import annotations

from google.protobuf.message import Message
from msgspec import Struct

from remuda.partition.keys import number as read_u64
from remuda.partition.keys import u64
from remuda.partition.machine import Rejection
from remuda.workflow.commands import Learn, Unlearn
from remuda.workflow.effects import DefinitionChanged
from remuda.workflow.keys import definition_key, latest_key, retired_key
from remuda.workflow.work import Work


class Refusal(Struct, frozen=True):
    """Why a call changes nothing."""

    kind: Rejection
    reason: str


def invalid(reason: str) -> Refusal:
    return Refusal(Rejection.INVALID, reason)


class Version(Struct, frozen=True):
    major: int = 0
    revision: int = 0


def last_version(work: Work, kind: str, name: str) -> Version | None:
    """The last that was ever given, whether it is there or not."""
    data = work.state.get(latest_key(work.tenant, kind, name))
    return None if data is None else Version(read_u64(data), read_u64(data, 8))


def store(work: Work, kind: str, name: str, version: Version, message: Message) -> None:
    """Keep a new definition here, and tell every other partition."""
    data = message.SerializeToString(deterministic=True)
    work.state.put(latest_key(work.tenant, kind, name), u64(version.major) + u64(version.revision))
    learn(work, Learn(work.tenant, kind, name, version.major, version.revision, data))
    for partition in _others(work):
        work.send(partition, Learn(work.tenant, kind, name, version.major, version.revision, data))


def remove(work: Work, kind: str, name: str, version: Version) -> bool:
    """Whether there was one."""
    key = definition_key(work.tenant, kind, name, version.major, version.revision)
    if work.state.get(key) is None:
        return False
    gone = Unlearn(work.tenant, kind, name, version.major, version.revision)
    unlearn(work, gone)
    for partition in _others(work):
        work.send(partition, gone)
    return True


def learn(work: Work, new: Learn) -> None:
    key = definition_key(new.tenant, new.kind, new.name, new.major, new.revision)
    work.state.put(key, new.definition)
    work.effects.append(DefinitionChanged(new.tenant, new.kind, new.name))


def unlearn(work: Work, gone: Unlearn) -> None:
    """Forget a definition; a spec is kept aside, because it may have runs here."""
    version = gone.kind, gone.name, gone.major, gone.revision
    key = definition_key(gone.tenant, *version)
    data = work.state.get(key)
    if data is not None and gone.kind == "spec":
        work.state.put(retired_key(gone.tenant, *version), data)
    work.state.delete(key)
    work.effects.append(DefinitionChanged(gone.tenant, gone.kind, gone.name))


def _others(work: Work) -> list[int]:
    return [number for number in range(work.partitions) if number != work.stamp.partition]
