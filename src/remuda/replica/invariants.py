"""What is true of every replica that the commands can produce, by name.

Checked after every entry in tests and simulation, and in production when `check_invariants` is
set or `remuda status --check` is asked. Each answers what is wrong, or None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from remuda.errors import InvariantBroken
from remuda.replica.jobs import JobState, OfferedSlot
from remuda.replica.pool import Unit, UnitId
from remuda.replica.schedule.demand import WHOLE_PPM, JobId, percent_text
from remuda.replica.schedule.slots import SlotId
from remuda.replica.schedule.states import SlotState
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


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────


def slots_are_offered_by_members(replica: Replica) -> str | None:
    if strangers := sorted(set(replica.offers) - set(replica.members)):
        return f"{strangers} offer slots and are no members"
    counts = Counter[str]()
    for name, slot in replica.slots.items():
        offer = replica.offers.get(slot.peer)
        if offer is None or not name.startswith(f"{slot.peer}/"):
            return f"{name} is a slot of {slot.peer}, who offers {offer}"
        counts[slot.peer] += slot.is_offered
    for peer, offer in replica.offers.items():
        if counts[peer] > offer.slots:
            return f"{peer} has {counts[peer]} slots and offers {offer.slots}"
    return None


def a_slot_is_at_a_task_exactly_while_it_is_not_idle_or_revoked(replica: Replica) -> str | None:
    for name, slot in replica.slots.items():
        if slot.state is SlotState.DEAD:
            return f"{name} is dead, and still here"
        if (slot.place is None) != (slot.state in (SlotState.IDLE, SlotState.REVOKED)):
            return f"{name} is {slot.state} at {slot.place}"
        for place in (slot.place, slot.wanted):
            job = None if place is None else replica.jobs.get(place.job)
            if place is not None and (
                job is None or place.task not in [task.task for task in job.demand.tasks]
            ):
                return f"{name} is at {place}, which does not exist"
        if slot.told > replica.position:
            return f"{name} was told at {slot.told}, which has not come yet"
    return None


def the_slots_of_an_ended_job_are_on_their_way_out(replica: Replica) -> str | None:
    for name, slot, job in _placed(replica):
        if job.is_ended and slot.state not in (SlotState.ACKING, SlotState.WAITING):
            return f"{name} is {slot.state} for {job.demand.job}, which is {job.phase}"
        if job.phase == "completed" and slot.state is SlotState.WAITING:
            return f"{name} waits for {job.demand.job}, which is completed"
    for name, slot in replica.slots.items():
        if slot.wanted is not None and replica.jobs[slot.wanted.job].is_ended:
            return f"{name} is wanted for {slot.wanted.job}, which has ended"
    return None


def a_slot_waits_only_for_a_driver(replica: Replica) -> str | None:
    for name, slot, job in _placed(replica):
        if slot.state is SlotState.WAITING and (
            job.lead is None or (job.is_driven and job.sealer is None)
        ):
            return f"{name} waits, and {job.demand.job} has no driver that has to stop or to seal"
    return None


def a_lead_is_a_member_that_has_slots_of_the_job(replica: Replica) -> str | None:
    holders = {(slot.peer, job.demand.job) for _, slot, job in _placed(replica)}
    for name, job in replica.jobs.items():
        if job.lead is None:
            if job.halting or job.phase in ("running", "sealing"):
                return f"{name} is {job.phase} {job.halting}, and nobody leads it"
        elif job.lead not in replica.members or (job.lead, name) not in holders:
            return f"{name} is led by {job.lead}, who is no member or has no slot for it"
    return None


def the_epoch_of_a_job_is_a_position_after_its_submission(replica: Replica) -> str | None:
    for name, job in replica.jobs.items():
        if job.lead is not None and job.epoch <= job.demand.submitted:
            return f"{name}, submitted at {job.demand.submitted}, is led under {job.epoch}"
        if job.epoch > replica.position:
            return f"{name} has the epoch {job.epoch}, which has not come yet"
    return None


def a_job_that_is_sealing_has_exactly_one_sealer(replica: Replica) -> str | None:
    sealing: dict[JobId, list[SlotId]] = {}
    for name, slot, job in _placed(replica):
        if slot.state is SlotState.SEALING:
            sealing.setdefault(job.demand.job, []).append(name)
    for name, job in replica.jobs.items():
        sealers = sealing.get(name, [])
        if sealers != ([job.sealer] if job.phase == "sealing" else []):
            return f"{name} is {job.phase}, its sealer is {job.sealer}, and {sealers} seal it"
        if (job.phase in ("sealing", "completed")) != (job.sealer is not None):
            return f"{name} is {job.phase}, and its sealer is {job.sealer}"
        if job.sealer is not None and job.outcome is None:
            return f"{name} is sealed by {job.sealer}, and nothing is staged"
    return None


def a_job_that_does_not_run_says_why(replica: Replica) -> str | None:
    for name, job in replica.jobs.items():
        if job.phase in ("waiting", "starting", "killed") and not job.reason:
            return f"{name} is {job.phase} for no reason"
    return None


def a_job_has_what_covers_it_or_nothing(replica: Replica) -> str | None:
    counts = Counter(
        (slot.wanted.job, slot.wanted.task)
        for slot in replica.slots.values()
        if slot.wanted is not None
    )
    for name, job in replica.jobs.items():
        given = {task.task: counts[name, task.task] for task in job.needs.tasks}
        short = [task.task for task in job.needs.tasks if given[task.task] < task.fewest]
        if short and any(given.values()):
            return f"{name} has the slots {given}, too few for {short}"
    return None


def percentages_sum_to_a_hundred_at_most(replica: Replica) -> str | None:
    if replica.job_scheduler != "percentage":
        return None
    given = {slot.wanted.job for slot in replica.slots.values() if slot.wanted is not None}
    total = sum(replica.jobs[name].demand.weight for name in given)
    if total > WHOLE_PPM:
        return f"{sorted(given)} have slots, and {percent_text(total)} percent"
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
    # jobs
    slots_are_offered_by_members,
    a_slot_is_at_a_task_exactly_while_it_is_not_idle_or_revoked,
    the_slots_of_an_ended_job_are_on_their_way_out,
    a_slot_waits_only_for_a_driver,
    a_lead_is_a_member_that_has_slots_of_the_job,
    the_epoch_of_a_job_is_a_position_after_its_submission,
    a_job_that_is_sealing_has_exactly_one_sealer,
    a_job_that_does_not_run_says_why,
    a_job_has_what_covers_it_or_nothing,
    percentages_sum_to_a_hundred_at_most,
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


def _placed(replica: Replica) -> Iterator[tuple[SlotId, OfferedSlot, JobState]]:
    """Slots that are told to do something, with the job that it is for."""
    for name, slot in replica.slots.items():
        if slot.place is not None and slot.place.job in replica.jobs:
            yield name, slot, replica.jobs[slot.place.job]
