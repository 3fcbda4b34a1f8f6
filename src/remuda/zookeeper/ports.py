"""Ports on loopback, held from the moment they are chosen until a server listens on them.

Whoever asks for a free port and lets go of it again races with everybody else who does. So a
port is held by a socket that is bound and does not listen: a server, which sets SO_REUSEADDR,
can bind the same port beside it, but nobody who looks for a free one gets it.
"""

from __future__ import annotations

import random
import socket

from remuda.errors import PortInUse

LOOPBACK = "127.0.0.1"

# Below the range from which the kernel takes ports for outgoing connections (32768 and up):
# one of those could sit on a server's port while the server is down for a moment.
_FREE_PORTS = range(20_000, 32_000)
_ATTEMPTS = 200


def hold(port: int) -> socket.socket:
    """Hold this port; raises OSError if somebody listens on it."""
    held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # Connections of an earlier server that linger in TIME_WAIT are not in the way.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((LOOPBACK, port))
    except BaseException:
        held.close()
        raise
    return held


def hold_free() -> socket.socket:
    """Hold a port that nobody uses or holds."""
    for port in random.sample(_FREE_PORTS, _ATTEMPTS):
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            held.bind((LOOPBACK, port))
        except OSError:
            held.close()
            continue
        # Only now: bound without it, so that it is ours alone; held with it, for the server.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return held
    raise PortInUse(
        f"tried {_ATTEMPTS} ports from {_FREE_PORTS.start} to {_FREE_PORTS.stop} and all are in "
        "use: choose one with --zookeeper-port"
    )


def port_of(held: socket.socket) -> int:
    port: int = held.getsockname()[1]
    return port
