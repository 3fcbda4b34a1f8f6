"""A member drains its units over a while: how evenly. A minute, scaled down by ten."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time

from bench.service_member import NS, Troop, serving
from bench.stage import Sheet, Wrong
from remuda.peer.local import LocalCluster
from remuda.service.control import control

LIMIT_S = 60.0

_MEMBERS = 2
_DRAINED = 15
_OVER_S = 6.0
_SETTLE_S = 0.5
_BEAT_S = 0.2
_WITHIN_S = 30.0


def run(sheet: Sheet) -> None:
    units = _MEMBERS * _DRAINED
    with serving(units=units, beat_s=_BEAT_S, settle_s=_SETTLE_S) as (cluster, troop):
        _measure(sheet, cluster, troop)


def _measure(sheet: Sheet, cluster: LocalCluster, troop: Troop) -> None:
    drained, _ = troop.start(_MEMBERS)
    troop.join(troop.living)
    troop.wait(lambda: troop.is_balanced, "serve all units evenly", _WITHIN_S)
    asked_ns = time.monotonic_ns()
    asyncio.run(_drain(cluster, f"member-{drained.number}"))
    troop.wait(lambda: not drained.serves, "have drained", _OVER_S + _WITHIN_S)
    released_ns = [e.at_ns for e in drained.events if e.kind == "stop" and e.at_ns > asked_ns]
    if len(released_ns) != _DRAINED:
        raise Wrong(f"{len(released_ns)} units were given up, not {_DRAINED}")
    steps_s = [(b - a) / NS for a, b in itertools.pairwise(released_ns)]
    sheet.say(
        f"the first after {(released_ns[0] - asked_ns) / NS:.2f} s, then every "
        + ", ".join(f"{step_s:.3f}" for step_s in steps_s)
        + " s"
    )
    name = f"{_DRAINED} units over {_OVER_S:g} s"
    sheet.figure(f"{name}: the first is given up", (released_ns[0] - asked_ns) / NS, "s")
    sheet.figure(f"{name}: between two, median", statistics.median(steps_s), "s")
    sheet.figure(f"{name}: between two, least", min(steps_s), "s")
    sheet.figure(f"{name}: between two, most", max(steps_s), "s")


async def _drain(cluster: LocalCluster, member: str) -> None:
    async with control(cluster.config) as services:
        await services.drain(member, over_s=_OVER_S)
