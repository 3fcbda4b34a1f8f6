"""How long 2,000 simulated clusters take to have their bad days, on all cores."""

from __future__ import annotations

import contextlib
import io
import time

from bench.stage import Bar, Sheet, Wrong
from remuda.testing.run import run_many

LIMIT_S = 300.0

_SEEDS = 2000
_BAR = Bar("under", 120.0)


def run(sheet: Sheet) -> None:
    told = _Told(sheet)
    started = time.monotonic()
    with contextlib.redirect_stdout(told):
        passed = run_many(range(_SEEDS))
    took_s = time.monotonic() - started
    if not passed:
        raise Wrong(told.last)
    sheet.figure(f"{_SEEDS:,} simulator seeds", took_s, "s", _BAR)


class _Told(io.StringIO):
    """What the simulator prints, passed on as progress."""

    def __init__(self, sheet: Sheet) -> None:
        super().__init__()
        self._sheet = sheet
        self.last = ""

    def write(self, text: str, /) -> int:
        self.last = "; ".join(text.splitlines())
        self._sheet.say(self.last)
        return len(text)
