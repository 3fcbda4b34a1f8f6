"""A record as it stands in the log, and how a build refuses one that it does not know."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from remuda.errors import CorruptEntry, EntryTooLarge, UnknownEntry

FORMAT = 1

# ZooKeeper refuses packets over 1 MiB (jute.maxbuffer), headers and path included.
RECORD_BYTES_MAX = 1_000_000


class Record(Struct, frozen=True):
    """What a writer appends. `command` is JSON that the replica understands."""

    id: str
    by: str
    at_ms: int
    command: Raw


class _Envelope(Struct, frozen=True):
    v: int
    id: str
    by: str
    at_ms: int
    command: Raw


class _Version(Struct, frozen=True):
    v: int


_decoder = msgspec.json.Decoder(_Envelope)
_version_decoder = msgspec.json.Decoder(_Version)
_encoder = msgspec.json.Encoder()


def encode(record: Record) -> bytes:
    data = _encoder.encode(_Envelope(FORMAT, record.id, record.by, record.at_ms, record.command))
    if len(data) > RECORD_BYTES_MAX:
        raise EntryTooLarge(
            f"a command of {len(data):,} bytes does not fit into one log entry "
            f"(at most {RECORD_BYTES_MAX:,}): send it in smaller parts"
        )
    return data


def decode(data: bytes, position: int) -> Record:
    try:
        envelope = _decoder.decode(data)
    except msgspec.DecodeError as error:
        _refuse_newer(data, position)
        raise CorruptEntry(
            f"entry {position} of the cluster log is corrupt ({error}): no peer has played it; "
            f"restore the znode from a backup, or void it with `remuda log --void {position}`"
        ) from None
    if envelope.v != FORMAT:
        _refuse_newer(data, position)
    return Record(envelope.id, envelope.by, envelope.at_ms, envelope.command)


def _refuse_newer(data: bytes, position: int) -> None:
    try:
        version = _version_decoder.decode(data).v
    except msgspec.DecodeError:
        return
    if version != FORMAT:
        raise UnknownEntry(
            f"entry {position} of the cluster log has format {version}, and this build reads "
            f"format {FORMAT} only: upgrade Remuda on this machine"
        )
