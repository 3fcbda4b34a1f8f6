"""What a user writes after `--zookeeper`: `host:port,host:port/chroot`."""

from __future__ import annotations

import re
from typing import Self

from msgspec import Struct

from remuda.errors import BadAddress

DEFAULT_PORT = 2181

# Used when the address names no chroot: a name of ours that we may create, so that a shared
# ensemble's root is left alone. A chroot that the user names must be there already, because a
# typing error would otherwise found a second, empty cluster.
DEFAULT_CHROOT = "/remuda"

_HOST = re.compile(r"^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d+))?$")


class Address(Struct, frozen=True):
    """Where an ensemble listens, and below which znode the cluster lives."""

    hosts: tuple[str, ...]
    chroot: str = DEFAULT_CHROOT
    chroot_is_ours: bool = True

    @classmethod
    def parse(cls, text: str) -> Self:
        servers, slash, path = text.strip().partition("/")
        hosts = tuple(_host(part.strip(), text) for part in servers.split(","))
        chroot = slash + path.rstrip("/")
        if chroot in ("", "/"):
            return cls(hosts)
        if "//" in chroot or any(part in (".", "..") for part in chroot.split("/")):
            raise _bad(text, f"`{chroot}` is not a path of znodes")
        return cls(hosts, chroot, chroot_is_ours=False)

    @property
    def servers(self) -> str:
        return ",".join(self.hosts)

    def __str__(self) -> str:
        return self.servers + ("" if self.chroot_is_ours else self.chroot)


def _host(part: str, whole: str) -> str:
    match = _HOST.match(part)
    if match is None:
        raise _bad(whole, f"`{part}` is not a host" if part else "a host is missing")
    port = int(match[2]) if match[2] else DEFAULT_PORT
    if not 0 < port < 65536:
        raise _bad(whole, f"port {port} does not exist")
    return f"{match[1]}:{port}"


def _bad(text: str, reason: str) -> BadAddress:
    return BadAddress(
        f"cannot read the ZooKeeper address `{text}`: {reason}; "
        "write it as host:port,host:port/chroot"
    )
