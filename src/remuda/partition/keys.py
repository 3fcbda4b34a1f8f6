"""Keys whose bytes sort as what they are made of: numbers by size, text by code point.

A key is a prefix and parts. Which types the parts have is fixed by the prefix, so they are not
in the key: the same types are needed to take it apart. Text ends with two zero bytes, and a zero
inside it is escaped, so that `("a", "z")` sorts before `("ab", "a")`.
"""

from __future__ import annotations

from struct import Struct as Layout
from typing import TypeAlias

Part: TypeAlias = int | str | bytes

_U64 = Layout(">Q")
_END = b"\x00\x00"
_ZERO = b"\x00\xff"


def u64(number: int) -> bytes:
    """Eight bytes, biggest first."""
    return _U64.pack(number)


def number(data: bytes, offset: int = 0) -> int:
    """What `u64` made."""
    return _U64.unpack_from(data, offset)[0]


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return (data.replace(b"\x00", _ZERO) if 0 in data else data) + _END


def key(prefix: bytes, *parts: Part) -> bytes:
    """A number is 0 or more and below 2⁶⁴; anything else raises `struct.error`."""
    return prefix + b"".join(
        _U64.pack(part) if isinstance(part, int) else text(part) for part in parts
    )


def parts(data: bytes, prefix: bytes, *types: type[Part]) -> tuple[Part, ...]:
    """What a key was made of: `parts(key(b"q", "x", 7), b"q", str, int)` is `("x", 7)`."""
    found: list[Part] = []
    at = len(prefix)
    for one in types:
        if one is int:
            found.append(_U64.unpack_from(data, at)[0])
            at += 8
        else:
            end = _end_of_text(data, at)
            raw = data[at:end].replace(_ZERO, b"\x00")
            found.append(raw.decode() if one is str else raw)
            at = end + len(_END)
    return tuple(found)


def after(prefix: bytes) -> bytes:
    """The end of the range of all keys that begin with `prefix`, for a scan."""
    stem = prefix.rstrip(b"\xff")
    if not stem:
        raise ValueError("no key comes after all that begin with 0xff bytes only")
    return stem[:-1] + bytes([stem[-1] + 1])


def _end_of_text(data: bytes, at: int) -> int:
    while True:
        at = data.index(b"\x00", at)
        if data[at + 1] == 0:
            return at
        at += 2
