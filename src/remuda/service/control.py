"""What operators ask of services: units, pegs, drains, plans.

Each is checked against the cluster as it is before it is asked, so that what cannot be is refused
with a reason and nothing is written; and is answered when the log has it.
"""

from __future__ import annotations

import difflib
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from remuda.config import Config
from remuda.errors import Refused, Unknown
from remuda.log.port import ClusterLog
from remuda.ownership.plan import Plan, plan
from remuda.peer.observer import ask, cluster_log, current
from remuda.replica.commands import (
    AddUnits,
    AnyCommand,
    Drain,
    Peg,
    Rebalance,
    RemoveUnits,
    Unpeg,
)
from remuda.replica.pool import Pool, Unit
from remuda.replica.state import PeerId, Replica

# One entry of the log holds so many units with names of usual length; and planning a pool takes
# time that grows with its units.
UNITS_A_CALL_MAX = 10_000
UNITS_A_SERVICE_MAX = 20_000
NAME_LENGTH_MAX = 200


class Control:
    """`async with control(config) as services:`"""

    def __init__(self, log: ClusterLog) -> None:
        self._log = log

    async def replica(self) -> Replica:
        return await current(self._log)

    async def pool(self, service: str) -> Pool:
        return _pool(await self.replica(), service)

    async def plan(self, service: str) -> Plan:
        """What would move, and why; nothing does."""
        return plan(await self.pool(service))

    async def add_units(self, service: str, units: Iterable[str]) -> int:
        """Answers how many are new. A service that does not exist comes to be by this."""
        names = tuple(dict.fromkeys(units))
        check_name("service", service)
        for name in names:
            check_name("unit", name)
        if not names:
            raise Refused("no unit to add was named")
        if len(names) > UNITS_A_CALL_MAX:
            raise Refused(
                f"{len(names):,} units in one call are too many: add at most "
                f"{UNITS_A_CALL_MAX:,} at a time"
            )
        before = (await self.replica()).pools.get(service, Pool())
        new = [name for name in names if name not in before.units]
        if len(before.units) + len(new) > UNITS_A_SERVICE_MAX:
            raise Refused(
                f"{service} would have {len(before.units) + len(new):,} units: a service has at "
                f"most {UNITS_A_SERVICE_MAX:,}, so make its units coarser or split it"
            )
        if not new:
            return 0
        await ask(self._log, AddUnits(service, names))
        return len(new)

    async def remove_units(self, service: str, units: Sequence[str]) -> int:
        pool = await self.pool(service)
        for name in units:
            _unit(pool, service, name)
        await self._ask(RemoveUnits(service, tuple(dict.fromkeys(units))))
        return len(set(units))

    async def peg(self, service: str, unit: str, to: str) -> str | None:
        """Answers why the unit waits, if it does."""
        check_name("peer", to)
        _unit(await self.pool(service), service, unit)
        await self._ask(Peg(service, unit, to))
        return (await self.plan(service)).waiting.get(unit)

    async def unpeg(self, service: str, unit: str) -> None:
        _unit(await self.pool(service), service, unit)
        await self._ask(Unpeg(service, unit))

    async def rebalance(self, service: str) -> Plan:
        """Answers what moves now."""
        planned = await self.plan(service)
        await self._ask(Rebalance(service))
        return planned

    async def drain(
        self, peer: str, *, to: int = 0, over_s: float | None = None, off: bool = False
    ) -> PeerId:
        """Answers the id of the peer that `peer`, an id or a name, means."""
        found = _peer(await self.replica(), peer)
        over_ms = None if over_s is None else round(over_s * 1000)
        await self._ask(Drain(found, to=to, over_ms=over_ms, off=off))
        return found

    async def _ask(self, command: AnyCommand) -> None:
        played = await ask(self._log, command)
        if played.rejected is not None:
            raise Refused(played.rejected)


@asynccontextmanager
async def control(config: Config) -> AsyncGenerator[Control]:
    async with cluster_log(config) as log:
        yield Control(log)


def described_units(service: str, pool: Pool) -> list[dict[str, Any]]:
    """What `units list --json` prints."""
    waiting = plan(pool).waiting
    return [
        {
            "id": name,
            "owner": unit.owner,
            "epoch": unit.epoch,
            "load": unit.load,
            "peg": unit.peg,
            "state": _state(unit, name in waiting),
            "reason": waiting.get(name),
        }
        for name, unit in sorted(pool.units.items())
    ]


def _state(unit: Unit, waits: bool) -> str:
    """`owned`; `offered` or `overlapping` while it is handed over; `removing`; and without an
    owner `failed`, `waiting` or `free`."""
    if unit.removed:
        return "removing"
    if unit.handoff is not None:
        return "overlapping" if unit.handoff.accepted else "offered"
    if unit.owner is not None:
        return "owned"
    if waits:
        return "failed" if unit.failures else "waiting"
    return "free"


def check_name(what: str, name: str) -> None:
    """Any text that can be shown in one line, slashes and spaces included."""
    if not name or name != name.strip():
        raise Refused(f"a {what} cannot be called `{name}`: a name begins and ends with a letter")
    if len(name) > NAME_LENGTH_MAX:
        raise Refused(f"a {what}'s name has at most {NAME_LENGTH_MAX} letters: `{name[:40]}…`")
    if not name.isprintable():
        raise Refused(f"a {what} cannot be called {name!r}: it has letters that cannot be shown")


def _pool(replica: Replica, service: str) -> Pool:
    pool = replica.pools.get(service)
    if pool is None:
        raise Unknown(
            f"there is no service `{service}`{_nearest(service, replica.pools)}: add units with "
            "`remuda units add`, or join it from a process"
        )
    return pool


def _unit(pool: Pool, service: str, name: str) -> Unit:
    unit = pool.units.get(name)
    if unit is None:
        raise Unknown(
            f"there is no unit `{name}` in {service}{_nearest(name, pool.units)}: "
            f"`remuda units list {service}` shows them"
        )
    return unit


def _peer(replica: Replica, name: str) -> PeerId:
    if name in replica.peers:
        return name
    named = [peer for peer, info in replica.peers.items() if info.name == name]
    if len(named) == 1:
        return named[0]
    if named:
        raise Unknown(f"{len(named)} peers are called `{name}`: use an id of {', '.join(named)}")
    raise Unknown(
        f"there is no peer `{name}`{_nearest(name, replica.peers)}: `remuda status` shows them"
    )


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean `{close[0]}`?)" if close else ""
