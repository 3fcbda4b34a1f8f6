"""How fast a draining member gives its units up: evenly, the first at once."""

from __future__ import annotations

from msgspec import Struct


class Pace(Struct, frozen=True):
    """15 units over 60 s: one every 4 s. When the time is over, everything may go."""

    began_at: float
    units: int
    over_s: float

    @property
    def step_s(self) -> float:
        return self.over_s / self.units if self.units else 0.0

    def allows(self, given: int, now: float) -> bool:
        """Whether one more may go, when so many have gone."""
        return now >= self._at(given)

    def next_at(self, given: int, now: float) -> float:
        """When one more may go, if that is not now."""
        at = self._at(given)
        return at if at > now else float("inf")

    def _at(self, number: int) -> float:
        return self.began_at + min(self.over_s, number * self.step_s)
