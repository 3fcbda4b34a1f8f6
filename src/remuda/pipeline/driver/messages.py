"""What a peer and its driver say to each other: one JSON object a line.

    peer                      driver
     │ ── Begin ───────────────► │
     │ ◄─────────── Ready ────── │   it is warm
     │ ── RunJob ──────────────► │
     │ ◄─────────── Started ──── │   it has a session, and the job's fence
     │ ◄─────────── Told ─────── │   … any number of times
     │ ◄─────────── Staged ───── │   a bounded job: all is written, nothing is visible
     │ ── Seal ────────────────► │
     │ ◄─────────── Sealed ───── │

Both sides beat. A driver's last word is Sealed, Stopped or Failed, and then it ends. Times are of
the machine's monotonic clock, which all its processes share: a message that waited in a buffer
while its reader slept cannot pass for a fresh one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from remuda.pipeline.run import Progress

DEFAULT_ENGINE = "remuda.pipeline.engine:SparkEngine"

# ── to the driver ────────────────────────────────────────────────────────────────────────────


class Begin(Struct, frozen=True, kw_only=True, tag="begin"):
    """How the driver starts its JVM, and what all its sessions have."""

    scratch: str
    heap_mb: int
    java_options: list[str] = []
    options: Mapping[str, str] = {}


class RunJob(Struct, frozen=True, kw_only=True, tag="run-job"):
    job_id: str
    # The job itself, as `read_job` takes it.
    spec: dict[str, Any]
    work: str
    fence_epoch: int
    # `local` runs in the driver's JVM, on so many cores; any other master gives it as many at most.
    master: str = "local"
    cores: int = 1
    options: Mapping[str, str] = {}
    # Where the job's modules are, for this process and for Python workers.
    python_path: list[str] = []
    engine: str = DEFAULT_ENGINE
    # All its output is staged, by a driver that has died: make it visible, and that is all.
    only_seal: bool = False


class Beat(Struct, frozen=True, tag="beat"):
    """To a driver: it may commit until then. From one: it lives."""

    until: float = 0.0


class Seal(Struct, frozen=True, tag="seal"):
    """The log has picked this driver: make the output visible."""


class Stop(Struct, frozen=True, tag="stop"):
    """End soon: a stream after the epoch that it is in, anything else at once."""

    reason: str
    grace_s: float = 30.0


ToDriver: TypeAlias = Begin | RunJob | Beat | Seal | Stop

# ── from the driver ──────────────────────────────────────────────────────────────────────────


class Ready(Struct, frozen=True, tag="ready"):
    pid: int
    jvm_pid: int
    seconds: float


class Started(Struct, frozen=True, tag="started"):
    seconds: float


class Told(Struct, frozen=True, tag="told"):
    progress: Progress


class Staged(Struct, frozen=True, tag="staged"):
    outcome: dict[str, Any]


class Sealed(Struct, frozen=True, tag="sealed"):
    outcome: dict[str, Any]


class Stopped(Struct, frozen=True, tag="stopped"):
    reason: str
    outcome: dict[str, Any] = {}


class Failed(Struct, frozen=True, tag="failed"):
    """`where` is the user's own `file:line in function`, if theirs is the fault. `retry` says that
    it is not the job's own doing (a process died, another driver took over): on another driver the
    same job may well succeed."""

    reason: str
    where: str | None = None
    retry: bool = False


FromDriver: TypeAlias = Ready | Started | Told | Staged | Sealed | Stopped | Failed | Beat
LastWord: TypeAlias = Sealed | Stopped | Failed

# ── lines ────────────────────────────────────────────────────────────────────────────────────

_encoder = msgspec.json.Encoder()
_to_driver: msgspec.json.Decoder[ToDriver] = msgspec.json.Decoder(ToDriver)
_from_driver: msgspec.json.Decoder[FromDriver] = msgspec.json.Decoder(FromDriver)


def line_of(message: ToDriver | FromDriver) -> bytes:
    return _encoder.encode(message) + b"\n"


def to_driver(line: bytes) -> ToDriver:
    return _to_driver.decode(line)


def from_driver(line: bytes) -> FromDriver:
    return _from_driver.decode(line)
