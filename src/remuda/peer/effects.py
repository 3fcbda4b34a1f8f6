"""What a peer's core asks of whoever runs it, in the order in which it is to be done."""

from __future__ import annotations

import enum
from typing import TypeAlias

from msgspec import Struct

from remuda.ownership.contract import StartUnit, StopUnit
from remuda.peer.job_contract import SealJob, StartJob, StopJob
from remuda.replica.commands import AnyCommand
from remuda.replica.state import PeerId, Replica


class Propose(Struct, frozen=True):
    """Append this command; `PeerCore.not_written` if that is known to have failed."""

    command: AnyCommand


class Watch(Struct, frozen=True):
    """Watch this pulse; `PeerCore.pulse_gone` when it stops, or if it is not there now."""

    peer: PeerId


class Unwatch(Struct, frozen=True):
    peer: PeerId


class StartWork(Struct, frozen=True):
    """This peer is a member with a live session: owned work may run."""


class StopWork(Struct, frozen=True):
    """Exclusively owned work must have stopped when this effect has been carried out."""

    reason: str


class WriteOrigin(Struct, frozen=True):
    """This peer's gc was played: keep the replica as the origin, then trim the log."""

    replica: Replica


class Ending(enum.Enum):
    LEFT = "left"
    LOST = "lost"


class Finish(Struct, frozen=True):
    """This life is over."""

    ending: Ending


Effect: TypeAlias = (
    Propose
    | Watch
    | Unwatch
    | StartWork
    | StopWork
    | StartUnit
    | StopUnit
    | StartJob
    | SealJob
    | StopJob
    | WriteOrigin
    | Finish
)
