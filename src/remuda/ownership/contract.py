"""What a keeper asks of whoever runs units, and what it is told in return."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from remuda.replica.pool import Balance, UnitId


class Membership(Struct, frozen=True):
    """How a member serves a pool. Times are this member's own affair; the rest is the pool's."""

    pool: str
    balance: Balance = "count"
    # None: exclusive. Otherwise how long both serve a unit that is handed over.
    handoff_s: float | None = None
    settle_s: float = 3.0
    rebalance_s: float = 60.0
    drain_s: float = 0.0

    @property
    def overlap(self) -> bool:
        return self.handoff_s is not None


class StartUnit(Struct, frozen=True):
    """`UnitStarted` or `UnitFailed` when that is done."""

    pool: str
    unit: UnitId
    epoch: int


class StopUnit(Struct, frozen=True):
    """`UnitStopped` when that is done; it has lost its right to run already."""

    pool: str
    unit: UnitId
    epoch: int
    reason: str


UnitEffect: TypeAlias = StartUnit | StopUnit


class UnitStarted(Struct, frozen=True):
    pool: str
    unit: UnitId
    epoch: int


class UnitStopped(Struct, frozen=True):
    pool: str
    unit: UnitId
    epoch: int


class UnitFailed(Struct, frozen=True):
    """It could not be started, or broke, and it is no use to try again here."""

    pool: str
    unit: UnitId
    epoch: int
    reason: str


UnitChange: TypeAlias = UnitStarted | UnitStopped | UnitFailed
