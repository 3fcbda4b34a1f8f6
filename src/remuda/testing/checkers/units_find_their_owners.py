from __future__ import annotations

from remuda.replica.pool import Pool
from remuda.testing.checkers.checker import Checker


class UnitsFindTheirOwners(Checker):
    """Liveness: when the faults stop, every unit is owned, runs there and nowhere else, and the
    pool is balanced by count where it is to be."""

    def is_settled(self) -> bool:
        return not self._wrong()

    def at_end(self) -> None:
        wrong = self._wrong()
        if wrong:
            self.fail("; ".join(wrong))

    def _wrong(self) -> list[str]:
        pools = self.world.replica.pools
        wrong = [
            f"{membership.pool} has the members {list(pool.members)}"
            for membership in self.world.memberships
            if (pool := pools.get(membership.pool, Pool()))
            and sorted(pool.members) != self.world.living()
        ]
        for name, pool in pools.items():
            wrong += self._wrong_units(name, pool)
            counts = [len(pool.owned_by(peer)) for peer in pool.members]
            if pool.balance == "count" and counts and max(counts) - min(counts) > 1:
                wrong.append(f"{name} is spread as {counts}")
        return wrong

    def _wrong_units(self, name: str, pool: Pool) -> list[str]:
        wrong: list[str] = []
        for unit, state in pool.units.items():
            runs = [(r.process.me, r.epoch) for r in self.world.units.of(name, unit) if r.started]
            if runs != [(state.owner, state.epoch)]:
                wrong.append(f"{unit} of {name} is {state}, and runs at {runs}")
        return wrong
