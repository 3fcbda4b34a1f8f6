"""What a server reads at its start: `zoo.cfg` and the configuration of its log.

Paths in both are relative to the data directory, which is where the server runs. So no path has
to survive the escapes of two file formats, and a data directory can be moved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from remuda.zookeeper.ports import LOOPBACK

SNAPSHOTS_AND_TRANSACTIONS = "data"
LOG = "zookeeper.log"

_SESSION_TIMEOUT_MAX_MS = 120_000
# How long a follower may take to catch up with its leader, and how long either may be silent.
_CATCH_UP_MS = 10_000
_SILENCE_MS = 4_000

LOG4J2_PROPERTIES = f"""\
status = error
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {LOG}
appender.file.filePattern = {LOG}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %-5p [%t] %c{{1}}: %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
"""


@dataclass(frozen=True, slots=True)
class PeerPorts:
    """Where the other servers of an ensemble reach one of them."""

    quorum: int
    election: int


@dataclass(frozen=True, slots=True)
class Membership:
    """One server's place in an ensemble; ids count from 1, in the order of `peers`."""

    id: int
    peers: tuple[PeerPorts, ...]


def zoo_cfg(port: int, tick_ms: int, membership: Membership | None = None) -> str:
    settings: dict[str, object] = {
        "dataDir": f"./{SNAPSHOTS_AND_TRANSACTIONS}",
        "clientPort": port,
        "clientPortAddress": LOOPBACK,
        "tickTime": tick_ms,
        "minSessionTimeout": 2 * tick_ms,
        "maxSessionTimeout": max(_SESSION_TIMEOUT_MAX_MS, 2 * tick_ms),
        "maxClientCnxns": 0,
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "ruok,srvr,mntr",
        "autopurge.snapRetainCount": 3,
        "autopurge.purgeInterval": 1,
    }
    if membership is not None:
        settings["initLimit"] = _ticks(_CATCH_UP_MS, tick_ms)
        settings["syncLimit"] = _ticks(_SILENCE_MS, tick_ms)
        for id_, peer in enumerate(membership.peers, start=1):
            settings[f"server.{id_}"] = f"{LOOPBACK}:{peer.quorum}:{peer.election}"
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def client_port(cfg: str) -> int | None:
    """The port that an earlier start wrote down."""
    match = re.search(r"^clientPort=(\d+)$", cfg, re.MULTILINE)
    return int(match[1]) if match else None


def _ticks(duration_ms: int, tick_ms: int) -> int:
    return max(2, duration_ms // tick_ms)
