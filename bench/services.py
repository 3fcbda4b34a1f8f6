"""1,000 units on 8 processes: a ninth joins, one is killed; and kazoo's `SetPartitioner` the same.

Both have the same units, session time-out and time to settle, each an own ZooKeeper, one after the
other in one run. Every unit beats; what a change does to the units that it does not concern shows
in their beats. A unit is *paused* by a change if its owner lives and keeps it, and yet it was
stopped, or its heart stood still for over twice as long as any did while nothing happened.
"""

from __future__ import annotations

import functools
import itertools
import pstats
import statistics
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bench.service_member import NS, SESSION_TIMEOUT_S, Brief, Process, Troop, serving
from bench.stage import Bar, Sheet, Wrong, local_cluster
from remuda.zookeeper.locate import locate

LIMIT_S = 240.0

_UNITS = 1000
_PROCESSES = 8
_ROUNDS = 3
_SETTLE_S = 1.0
_BEAT_S = 0.2
_QUIET_S = 2.0
_WITHIN_S = 60.0
_BAR_KILL = Bar("under", SESSION_TIMEOUT_S + 1.0)
_BAR_AHEAD = Bar("under", 1.0)
_PROFILE_LINES = 25


class _Window(Struct, frozen=True):
    begin_ns: int
    end_ns: int


class _Change(Struct, frozen=True):
    """Members have changed: how long until everything was served evenly again, and who served
    what before and after."""

    took_s: float
    window: _Window
    quiet: _Window
    before: dict[str, int]
    after: dict[str, int]

    @property
    def moved(self) -> set[str]:
        return {unit for unit, owner in self.before.items() if self.after[unit] != owner}


class _Effect(Struct, frozen=True):
    """What a change did to the units that it should have left alone."""

    stopped: int
    paused: int
    gap_s: float
    quiet_gap_s: float


class _Outcome(Struct, frozen=True):
    first_s: float
    joins: list[_Change]
    kills: list[_Change]
    join_effects: list[_Effect]
    kill_effects: list[_Effect]


def run(sheet: Sheet, *, profile: bool = False) -> None:
    remuda = _with_remuda(sheet, profile=profile)
    partitioner = _with_partitioner(sheet)
    _tell("Remuda", sheet, remuda)
    _tell("SetPartitioner", sheet, partitioner)
    _compare(sheet, remuda, partitioner)
    _verify(remuda)


def _with_remuda(sheet: Sheet, *, profile: bool) -> _Outcome:
    with serving(units=_UNITS, beat_s=_BEAT_S, settle_s=_SETTLE_S) as (cluster, troop):
        profiled = cluster.data / "profile" if profile else None
        outcome = _play(sheet, "Remuda", troop, profiled)
        if profiled is not None:
            troop.end(troop.living[0])
            _tell_profile(sheet, profiled)
        return outcome


def _with_partitioner(sheet: Sheet) -> _Outcome:
    with local_cluster(SESSION_TIMEOUT_S) as cluster:
        servers = locate(cluster.config).servers
        config = replace(cluster.config, zookeeper=servers, settle_time_s=_SETTLE_S)
        brief = Brief(config=config, units=_UNITS, beat_s=_BEAT_S)
        with Troop("bench.partitioner_member", brief, cluster.data) as troop:
            return _play(sheet, "SetPartitioner", troop)


# ── what happens ─────────────────────────────────────────────────────────────────────────────


def _play(sheet: Sheet, name: str, troop: Troop, profiled: Path | None = None) -> _Outcome:
    began_ns = troop.join(troop.start(_PROCESSES, profiled))
    first_s = _settled(troop, began_ns)
    sheet.say(f"{name}: {_PROCESSES} processes serve all units evenly after {first_s:.2f} s")
    joins: list[_Change] = []
    kills: list[_Change] = []
    for number in range(1, _ROUNDS + 1):
        new = troop.start()
        joins.append(_changed(troop, functools.partial(troop.join, new)))
        # Never the first, which may be under a profiler, nor the last, which is the new one.
        victim = troop.living[number]
        kills.append(_changed(troop, functools.partial(_kill, troop, victim)))
        sheet.say(
            f"{name}, {number} of {_ROUNDS}: "
            f"a ninth process has its share after {joins[-1].took_s:.2f} s, "
            f"{len(joins[-1].moved)} units moved; one is killed and all are served after "
            f"{kills[-1].took_s:.2f} s, {len(kills[-1].moved)} units moved"
        )
    troop.tell_beats(troop.living)
    return _Outcome(
        first_s,
        joins,
        kills,
        [_effect(troop, change) for change in joins],
        [_effect(troop, change) for change in kills],
    )


def _changed(troop: Troop, change: Callable[[], int]) -> _Change:
    """Watch while nothing happens, change the members, and watch on for as long."""
    quiet_ns = time.monotonic_ns()
    before = troop.owners()
    troop.watch(_QUIET_S)
    if troop.owners() != before:
        raise Wrong("units moved although the members had been the same for a while")
    began_ns = change()
    took_s = _settled(troop, began_ns)
    troop.watch(_QUIET_S)
    window = _Window(began_ns, time.monotonic_ns())
    return _Change(took_s, window, _Window(quiet_ns, began_ns), before, troop.owners())


def _kill(troop: Troop, victim: Process) -> int:
    # It takes its beats with it, and earlier windows need them.
    troop.tell_beats([victim])
    return troop.kill(victim)


def _settled(troop: Troop, began_ns: int) -> float:
    """How long until every unit is served and all processes have their share."""
    troop.wait(lambda: troop.is_balanced, "serve all units evenly", _WITHIN_S)
    starts_ns = [e.at_ns for p in troop.living for e in p.events if e.kind == "start"]
    return (max(starts_ns) - began_ns) / NS


# ── what it did to the others ────────────────────────────────────────────────────────────────


def _effect(troop: Troop, change: _Change) -> _Effect:
    processes = {process.number: process for process in troop.all}
    stayed = {u: o for u, o in change.before.items() if change.after[u] == o}
    stopped = {
        event.unit
        for process in processes.values()
        for event in process.events
        if event.kind == "stop" and change.window.begin_ns <= event.at_ns <= change.window.end_ns
    } & stayed.keys()
    gaps_s = {u: _gap_s(processes[o], u, change.window) for u, o in stayed.items()}
    quiet_gap_s = max(_gap_s(processes[o], u, change.quiet) for u, o in stayed.items())
    still = {unit for unit, gap_s in gaps_s.items() if gap_s > 2 * quiet_gap_s}
    return _Effect(len(stopped), len(stopped | still), max(gaps_s.values()), quiet_gap_s)


def _gap_s(process: Process, unit: str, window: _Window) -> float:
    """The longest time between two beats, of which at least a part lies in the window."""
    beats_ns = process.beats_ns[unit]
    first = max(0, bisect_left(beats_ns, window.begin_ns) - 1)
    last = bisect_right(beats_ns, window.end_ns)
    times = [*beats_ns[first:last], window.end_ns]
    return max(b - a for a, b in itertools.pairwise(times)) / NS


# ── what is told ─────────────────────────────────────────────────────────────────────────────


def _tell(name: str, sheet: Sheet, outcome: _Outcome) -> None:
    bar = _BAR_KILL if name == "Remuda" else None
    sheet.figure(f"{name}: {_PROCESSES} processes join and have their shares", outcome.first_s, "s")
    joins_s = [change.took_s for change in outcome.joins]
    sheet.spread(f"{name}: a ninth joins and has its share", joins_s, "s")
    kills_s = [change.took_s for change in outcome.kills]
    sheet.spread(f"{name}: one is killed and all are served", kills_s, "s", bar)
    for what, changes, effects in (
        ("a join", outcome.joins, outcome.join_effects),
        ("a kill", outcome.kills, outcome.kill_effects),
    ):
        sheet.figure(f"{name}: units moved by {what}, most", _most_moved(changes), "")
        sheet.figure(f"{name}: units paused by {what}, most", _most_paused(effects), "")
        gap_s, quiet_gap_s = max((e.gap_s, e.quiet_gap_s) for e in effects)
        sheet.figure(f"{name}: longest gap between beats of others, {what}", gap_s, "s")
        sheet.figure(f"{name}: … and while nothing happened before it", quiet_gap_s, "s")


def _compare(sheet: Sheet, remuda: _Outcome, partitioner: _Outcome) -> None:
    def compare(what: str, ours: float, theirs: float) -> None:
        sheet.figure(f"Remuda to SetPartitioner: {what}", ours / theirs, "", _BAR_AHEAD)

    compare("time after a join", _middle_s(remuda.joins), _middle_s(partitioner.joins))
    compare("time after a kill", _middle_s(remuda.kills), _middle_s(partitioner.kills))
    changes, others = remuda.joins + remuda.kills, partitioner.joins + partitioner.kills
    compare("units moved", _most_moved(changes), _most_moved(others))
    effects = remuda.join_effects + remuda.kill_effects
    others = partitioner.join_effects + partitioner.kill_effects
    compare("units paused", _most_paused(effects), _most_paused(others))


def _verify(remuda: _Outcome) -> None:
    fewest = _UNITS // (_PROCESSES + 1)
    for change in remuda.joins:
        if len(change.moved) != fewest:
            raise Wrong(f"a ninth process made {len(change.moved)} units move, not {fewest}")
    for change in remuda.kills:
        dead = set(change.before.values()) - set(change.after.values())
        if {change.before[unit] for unit in change.moved} != dead:
            raise Wrong("a kill made units of living processes move")
    stopped = sum(e.stopped for e in remuda.join_effects + remuda.kill_effects)
    if stopped:
        raise Wrong(f"{stopped} units were stopped although they stayed where they were")


def _middle_s(changes: Iterable[_Change]) -> float:
    return statistics.median(change.took_s for change in changes)


def _most_moved(changes: Iterable[_Change]) -> int:
    return max(len(change.moved) for change in changes)


def _most_paused(effects: Iterable[_Effect]) -> int:
    return max(effect.paused for effect in effects)


def _tell_profile(sheet: Sheet, path: Path) -> None:
    """Where the time of one process' loop went, from its start on."""
    text = StringIO()
    stats = pstats.Stats(str(path), stream=text)
    stats.strip_dirs().sort_stats("cumtime").print_stats(_PROFILE_LINES)
    stats.sort_stats("tottime").print_stats(_PROFILE_LINES)
    for line in text.getvalue().splitlines():
        if line.strip():
            sheet.say(line)
