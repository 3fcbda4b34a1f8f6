"""A partition that an earlier build has written gives the state that it gave then.

`recorded/` has one file a format: the commands as they were kept, and the digest of the state. It
is never changed; a new format gets a new file beside it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from remuda.partition.history import digest, replayed
from remuda.partition.memory import Disk, MemoryStore
from tests.partition.scripted import Scripted

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))


class Recorded(Struct, frozen=True):
    commands: list[str]
    """By position from 1 on, as hexadecimal digits."""
    digest: str


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_partition_gives_the_state_that_it_gave(path: Path) -> None:
    recorded = msgspec.json.decode(path.read_bytes(), type=Recorded)
    commands = enumerate(map(bytes.fromhex, recorded.commands), 1)
    state = replayed(0, [Scripted()], MemoryStore(Disk(), 0), commands)
    assert digest(state) == recorded.digest


def test_there_is_something_recorded() -> None:
    assert RECORDED
