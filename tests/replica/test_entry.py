"""Entries that this build wrote come back; others are refused with a line that says what to do."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from remuda.errors import CorruptEntry, EntryTooLarge, RemudaError, UnknownEntry
from remuda.log.port import Placed
from remuda.log.record import RECORD_BYTES_MAX, Record, decode, encode
from remuda.replica.commands import COMMANDS, Gc, PrepareJoin
from remuda.replica.entry import KNOWN, entry_of, record_of
from remuda.replica.state import PeerInfo


def test_a_command_comes_back_from_the_log_as_it_was() -> None:
    command = PrepareJoin("bay-1", PeerInfo("host", 7))
    record = record_of(command, entry_id="e1", by="bay-1", at_ms=5)
    entry = entry_of(Placed(3, decode(encode(record), 3)))
    assert (entry.command, entry.position, entry.by, entry.id) == (command, 3, "bay-1", "e1")


@pytest.mark.parametrize(
    ("data", "error", "hint"),
    [
        (b"", CorruptEntry, "remuda log --void 9"),
        (b"junk", CorruptEntry, "remuda log --void 9"),
        (b'{"v":1}', CorruptEntry, "remuda log --void 9"),
        (b'{"v":2,"new":"shape"}', UnknownEntry, "upgrade Remuda"),
        (b'{"v":2,"id":"","by":"","at_ms":0,"command":{}}', UnknownEntry, "upgrade Remuda"),
    ],
)
def test_a_record_of_another_format_is_refused(
    data: bytes, error: type[RemudaError], hint: str
) -> None:
    with pytest.raises(error, match="entry 9") as raised:
        decode(data, 9)
    assert hint in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (b'{"type":"grow-wings"}', UnknownEntry),
        (b'{"type":"prepare-join","peer":3}', CorruptEntry),
        (b"[]", CorruptEntry),
    ],
)
def test_a_command_that_is_not_known_is_not_guessed_at(
    command: bytes, error: type[RemudaError]
) -> None:
    with pytest.raises(error, match="entry 4"):
        entry_of(Placed(4, Record("id", "by", 0, Raw(command))))


def test_a_command_that_does_not_fit_into_one_entry_is_refused() -> None:
    huge = Raw(msgspec.json.encode("x" * RECORD_BYTES_MAX))
    with pytest.raises(EntryTooLarge, match="smaller parts"):
        encode(Record("id", "by", 0, huge))


def test_every_command_is_listed_once_under_its_name() -> None:
    assert len(KNOWN) == len(COMMANDS)
    assert "gc" in KNOWN
    assert msgspec.json.encode(Gc()) == b'{"type":"gc"}'
