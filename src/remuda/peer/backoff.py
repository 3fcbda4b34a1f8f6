"""How long to wait before trying again: exponential, with jitter."""

from __future__ import annotations

from typing import Protocol


class Chance(Protocol):
    """Where jitter comes from: `random.Random`, seeded or not."""

    def uniform(self, a: float, b: float, /) -> float: ...


class Backoff:
    def __init__(self, first_s: float, most_s: float, chance: Chance) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._chance = chance
        self._tries = 0

    def next_s(self) -> float:
        """Between half and all of first, twice first, four times first …, up to the most."""
        whole = min(self._most_s, self._first_s * 2 ** min(self._tries, 32))
        self._tries += 1
        return whole * self._chance.uniform(0.5, 1.0)

    def reset(self) -> None:
        self._tries = 0
