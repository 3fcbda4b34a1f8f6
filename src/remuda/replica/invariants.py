"""What is true of every replica that the commands can produce, by name.

Checked after every entry in tests and simulation, and in production when `check_invariants` is
set or `remuda status --check` is asked. Each answers what is wrong, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from remuda.errors import InvariantBroken
from remuda.replica.pool import Unit, UnitId
from remuda.replica.state import PeerId, Replica


def the_ring_is_one_cycle_over_all_members(replica: Replica) -> str | None:
    if len(replica.members) < 2:
        return (
            f"{len(replica.members)} member, but pairs {replica.pairs}" if replica.pairs else None
        )
    here: PeerId | None = replica.members[0]
    walked: list[PeerId] = []
    while here is not None and here not in walked:
        walked.append(here)
        here = replica.pairs.get(here)
    if here != replica.members[0] or sorted(walked) != sorted(replica.members):
        return f"members {sorted(replica.members)}, but the ring from {walked[0]} walks {walked}"
    if len(replica.pairs) != len(replica.members):
        return f"pairs outside the ring: {sorted(set(replica.pairs) - set(walked))}"
    return None


def nobody_is_member_twice(replica: Replica) -> str | None:
    if len(set(replica.members)) != len(replica.members):
        return f"members {replica.members}"
    return None


def nobody_is_both_member_and_joiner(replica: Replica) -> str | None:
    both = sorted(set(_joiners(replica)) & set(replica.members))
    return f"{both} are members and joiners" if both else None


def every_observer_is_a_member(replica: Replica) -> str | None:
    strangers = sorted({*replica.prepared, *replica.accepted} - set(replica.members))
    return f"{strangers} observe a joiner and are no members" if strangers else None


def an_observer_stitches_in_one_joiner(replica: Replica) -> str | None:
    twice = sorted(set(replica.prepared) & set(replica.accepted))
    return f"{twice} have two joiners" if twice else None


def a_joiner_has_one_observer(replica: Replica) -> str | None:
    joiners = _joiners(replica)
    twice = sorted({joiner for joiner in joiners if joiners.count(joiner) > 1})
    return f"{twice} have two observers" if twice else None


def exactly_members_and_joiners_are_known(replica: Replica) -> str | None:
    expected = sorted({*replica.members, *_joiners(replica)})
    return (
        f"{sorted(replica.peers)} are known, {expected} are here"
        if (sorted(replica.peers) != expected)
        else None
    )


# ── ownership ────────────────────────────────────────────────────────────────────────────────


def members_of_a_pool_are_members_of_the_cluster(replica: Replica) -> str | None:
    for name, pool in replica.pools.items():
        if strangers := sorted(set(pool.members) - set(replica.members)):
            return f"{strangers} are in {name} and not in the cluster"
        if len(set(pool.members)) != len(pool.members):
            return f"members {pool.members} of {name}"
    return None


def a_pool_keeps_nothing_of_who_is_not_in_it(replica: Replica) -> str | None:
    for name, pool in replica.pools.items():
        kept = {*pool.drains, *pool.names}
        kept.update(peer for unit in pool.units.values() for peer in unit.failures)
        if strangers := sorted(kept - set(pool.members)):
            return f"{name} keeps a drain, name or failure of {strangers}"
    return None


def every_owner_is_a_member_of_the_pool(replica: Replica) -> str | None:
    for pool, name, unit in _units(replica):
        if unit.owner is not None and unit.owner not in replica.pools[pool].members:
            return f"{name} of {pool} is owned by {unit.owner}, who is not in the pool"
    return None


def a_unit_is_handed_by_its_owner_to_another_member(replica: Replica) -> str | None:
    for pool, name, unit in _units(replica):
        if unit.handoff is None:
            continue
        if unit.owner is None or unit.handoff.to == unit.owner:
            return f"{name} of {pool} goes from {unit.owner} to {unit.handoff.to}"
        if unit.handoff.to not in replica.pools[pool].members:
            return f"{name} of {pool} is handed to {unit.handoff.to}, who is not in the pool"
    return None


def an_epoch_is_a_position_and_grows_with_every_owner(replica: Replica) -> str | None:
    for pool, name, unit in _units(replica):
        epochs = [unit.epoch, *([unit.handoff.epoch] if unit.handoff is not None else [])]
        if unit.owner is not None and epochs[0] < 0:
            return f"{name} of {pool} is owned by {unit.owner} under no epoch"
        if epochs != sorted(set(epochs)) or epochs[-1] > replica.position:
            return f"{name} of {pool} has the epochs {epochs}"
    return None


Invariant = Callable[[Replica], str | None]

INVARIANTS: tuple[Invariant, ...] = (
    the_ring_is_one_cycle_over_all_members,
    nobody_is_member_twice,
    nobody_is_both_member_and_joiner,
    every_observer_is_a_member,
    an_observer_stitches_in_one_joiner,
    a_joiner_has_one_observer,
    exactly_members_and_joiners_are_known,
    # ownership
    members_of_a_pool_are_members_of_the_cluster,
    a_pool_keeps_nothing_of_who_is_not_in_it,
    every_owner_is_a_member_of_the_pool,
    a_unit_is_handed_by_its_owner_to_another_member,
    an_epoch_is_a_position_and_grows_with_every_owner,
)


def broken(replica: Replica) -> list[str]:
    """What is wrong with a replica, a line each: the invariant's name and the evidence."""
    return [
        f"{invariant.__name__}: {wrong}"
        for invariant in INVARIANTS
        if (wrong := invariant(replica)) is not None
    ]


def check(replica: Replica) -> None:
    wrong = broken(replica)
    if wrong:
        raise InvariantBroken(
            f"the replica at entry {replica.position} is impossible: {'; '.join(wrong)}; "
            "this is a bug: please report it with the output of `remuda log --json`"
        )


def _joiners(replica: Replica) -> list[PeerId]:
    return [*replica.prepared.values(), *replica.accepted.values()]


def _units(replica: Replica) -> Iterator[tuple[str, UnitId, Unit]]:
    for pool, state in replica.pools.items():
        for name, unit in state.units.items():
            yield pool, name, unit
