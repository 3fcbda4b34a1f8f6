"""Every member is restarted once while units are handed over with an overlap: how long a unit was
silent at most, wherever it ran."""

from __future__ import annotations

import itertools
import time

from bench.service_member import NS, Troop, serving, unit_names
from bench.stage import Bar, Sheet

LIMIT_S = 120.0

_UNITS = 12
_MEMBERS = 3
_TICK_S = 0.01
_HANDOFF_S = 0.5
_SETTLE_S = 1.0
_QUIET_S = 4.0
_WITHIN_S = 30.0
_BAR = Bar("under", 100.0)


def run(sheet: Sheet) -> None:
    with serving(units=_UNITS, beat_s=_TICK_S, settle_s=_SETTLE_S, handoff_s=_HANDOFF_S) as served:
        _measure(sheet, served[1])


def _measure(sheet: Sheet, troop: Troop) -> None:
    troop.join(troop.start(_MEMBERS))
    _await_balance(troop)
    quiet_ns = time.monotonic_ns()
    troop.watch(_QUIET_S)
    restarts_ns = time.monotonic_ns()
    for number in range(1, _MEMBERS + 1):
        began = time.monotonic()
        troop.end(troop.living[0])
        left_s = time.monotonic() - began
        troop.join(troop.start())
        _await_balance(troop)
        sheet.say(
            f"{number} of {_MEMBERS}: a member was gone after {left_s:.2f} s, and units were even "
            f"over its successor and the others after {time.monotonic() - began:.2f} s"
        )
    troop.watch(_HANDOFF_S)
    end_ns = time.monotonic_ns()
    troop.tell_beats(troop.living)
    name = f"longest silence of a unit that ticks every {_TICK_S * 1000:g} ms"
    restarting_ms = _silence_ms(troop, restarts_ns, end_ns)
    sheet.figure(f"{name}, members restart", restarting_ms, "ms", _BAR)
    quiet_ms = _silence_ms(troop, quiet_ns, restarts_ns)
    sheet.figure(f"{name}, nothing happens", quiet_ms, "ms")
    moves = sum(e.kind == "start" and e.at_ns > restarts_ns for p in troop.all for e in p.events)
    sheet.figure(f"handoffs of {_UNITS} units, {_MEMBERS} restarts", moves, "")


def _await_balance(troop: Troop) -> None:
    """While a unit is handed over, two serve it, and nothing is balanced."""
    troop.wait(lambda: troop.is_balanced, "serve all units evenly", _WITHIN_S)


def _silence_ms(troop: Troop, begin_ns: int, end_ns: int) -> float:
    """The longest time without a beat of a unit from any process."""
    longest_ns = 0
    for unit in unit_names(_UNITS):
        beats_ns = sorted(beat for process in troop.all for beat in process.beats_ns[unit])
        times = [begin_ns, *(b for b in beats_ns if begin_ns < b < end_ns), end_ns]
        longest_ns = max(longest_ns, *(b - a for a, b in itertools.pairwise(times)))
    return longest_ns / NS * 1000
