"""ZooKeeper's multi-read (opcode 22, since 3.6), which kazoo does not speak.

One request reads hundreds of znodes. Replaying a log through it is some fifty times faster
than one `get` a znode, however well those are pipelined: see docs/decisions/0004.
"""

# kazoo carries no types; what leaves this package is typed.
# pyright: basic
from __future__ import annotations

from collections.abc import Sequence

from kazoo.protocol.serialization import (
    GetData,
    int_struct,
    multiheader_struct,
    read_buffer,
    stat_struct,
    write_string,
)

_GET = multiheader_struct.pack(GetData.type, False, -1)
_END = multiheader_struct.pack(-1, True, -1)
_ERROR = -1
_NO_WATCH = b"\0"
_NO_NODE = -101


class MultiRead:
    """A request in the shape that kazoo's connection sends: a type, and how to (de)serialize."""

    type = 22

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths

    def serialize(self) -> bytes:
        parts: list[bytes] = []
        for path in self.paths:
            parts += (_GET, bytes(write_string(path)), _NO_WATCH)
        parts.append(_END)
        return b"".join(parts)

    @classmethod
    def deserialize(cls, buffer: bytes, offset: int) -> list[bytes | int | None]:
        """For each path its data, None where there is no such znode, or another error's code."""
        results: list[bytes | int | None] = []
        while True:
            kind, done, _ = multiheader_struct.unpack_from(buffer, offset)
            offset += multiheader_struct.size
            if done:
                return results
            if kind == _ERROR:
                (code,) = int_struct.unpack_from(buffer, offset)
                offset += int_struct.size
                results.append(None if code == _NO_NODE else code)
            else:
                data, offset = read_buffer(buffer, offset)
                offset += stat_struct.size
                results.append(data or b"")
