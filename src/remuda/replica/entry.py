"""Commands to and from the bytes of the log."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from remuda.errors import CorruptEntry, UnknownEntry
from remuda.log.port import Placed
from remuda.log.record import Record
from remuda.replica.command import Stamp
from remuda.replica.commands import COMMANDS, AnyCommand


class Entry(Struct, frozen=True):
    """A command in its place."""

    id: str
    stamp: Stamp
    command: AnyCommand

    @property
    def position(self) -> int:
        return self.stamp.position

    @property
    def by(self) -> str:
        return self.stamp.by


class _Tag(Struct):
    type: str


_decoder = msgspec.json.Decoder(AnyCommand)
_tag_decoder = msgspec.json.Decoder(_Tag)
_encoder = msgspec.json.Encoder()

KNOWN = frozenset(str(command.__struct_config__.tag) for command in COMMANDS)


def encode_command(command: AnyCommand) -> Raw:
    return Raw(_encoder.encode(command))


def record_of(command: AnyCommand, *, entry_id: str, by: str, at_ms: int) -> Record:
    return Record(entry_id, by, at_ms, encode_command(command))


def entry_of(placed: Placed) -> Entry:
    """What a record asks for. A build that does not know a command must not guess past it."""
    record, position = placed.record, placed.position
    try:
        command = _decoder.decode(record.command)
    except msgspec.DecodeError as error:
        _refuse_unknown(record, position)
        raise CorruptEntry(
            f"entry {position} of the cluster log, by {record.by}, is not a command that any build "
            f"writes ({error}): no peer has played it; find out who wrote it"
        ) from None
    return Entry(record.id, Stamp(position, record.by, record.at_ms), command)


def _refuse_unknown(record: Record, position: int) -> None:
    try:
        tag = _tag_decoder.decode(record.command).type
    except msgspec.DecodeError:
        return
    if tag not in KNOWN:
        raise UnknownEntry(
            f"entry {position} of the cluster log is the command `{tag}`, which this build does "
            "not know: upgrade Remuda on this machine"
        )
