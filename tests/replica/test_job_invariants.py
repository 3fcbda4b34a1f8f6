"""Each invariant about jobs notices what it is there for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from remuda.replica import invariants
from remuda.replica.commands import SetJobScheduler
from remuda.replica.invariants import Invariant
from remuda.replica.jobs import JobState, OfferedSlot
from remuda.replica.schedule.demand import TaskDemand
from remuda.replica.schedule.slots import Place
from remuda.replica.schedule.states import SlotState
from remuda.replica.state import Replica
from tests.replica.joblog import JobLog


def sound() -> Replica:
    """`J` runs on `a` and `b`, `K` waits, `L` is killed."""
    log = JobLog("a", "b")
    log.take(SetJobScheduler("percentage"))
    log.submit("J", TaskDemand("t", min_slots=2), percent=60)
    log.submit("K", percent=50)
    log.submit("L")
    log.ack_all()
    replica = log.replica
    killed = replace(replica.jobs["L"], phase="killed", reason="so")
    return replace(replica, jobs={**replica.jobs, "L": killed})


def slot(name: str, change: Callable[[OfferedSlot], OfferedSlot]) -> Callable[[Replica], Replica]:
    return lambda r: replace(r, slots={**r.slots, name: change(r.slots[name])})


def job(name: str, change: Callable[[JobState], JobState]) -> Callable[[Replica], Replica]:
    return lambda r: replace(r, jobs={**r.jobs, name: change(r.jobs[name])})


def scrapped(replica: Replica) -> Replica:
    """All slots but one are wanted no more."""
    return replace(
        replica,
        slots={
            name: s if name == "a/0" else replace(s, wanted=None)
            for name, s in replica.slots.items()
        },
    )


BROKEN: list[tuple[Invariant, Callable[[Replica], Replica]]] = [
    (invariants.slots_are_offered_by_members, lambda r: replace(r, offers={})),
    (invariants.slots_are_offered_by_members, slot("a/0", lambda s: replace(s, peer="b"))),
    (
        invariants.a_slot_is_at_a_task_exactly_while_it_is_not_idle_or_revoked,
        slot("a/0", lambda s: replace(s, state=SlotState.IDLE)),
    ),
    (
        invariants.a_slot_is_at_a_task_exactly_while_it_is_not_idle_or_revoked,
        slot("a/0", lambda s: replace(s, place=Place("J", "nothing"))),
    ),
    (
        invariants.a_slot_is_at_a_task_exactly_while_it_is_not_idle_or_revoked,
        slot("a/0", lambda s: replace(s, state=SlotState.DEAD)),
    ),
    (
        invariants.the_slots_of_an_ended_job_are_on_their_way_out,
        slot("a/0", lambda s: replace(s, place=Place("L", "t"))),
    ),
    (
        invariants.the_slots_of_an_ended_job_are_on_their_way_out,
        slot("a/0", lambda s: replace(s, wanted=Place("L", "t"))),
    ),
    (
        invariants.a_slot_waits_only_for_a_driver,
        slot("a/0", lambda s: replace(s, state=SlotState.WAITING)),
    ),
    (
        invariants.a_lead_is_a_member_that_has_slots_of_the_job,
        job("J", lambda j: replace(j, lead="gone")),
    ),
    (
        invariants.a_lead_is_a_member_that_has_slots_of_the_job,
        job("K", lambda j: replace(j, lead="a")),
    ),
    (
        invariants.a_lead_is_a_member_that_has_slots_of_the_job,
        job("J", lambda j: replace(j, lead=None)),
    ),
    (
        invariants.the_epoch_of_a_job_is_a_position_after_its_submission,
        job("J", lambda j: replace(j, epoch=1)),
    ),
    (
        invariants.the_epoch_of_a_job_is_a_position_after_its_submission,
        job("J", lambda j: replace(j, epoch=1000)),
    ),
    (
        invariants.a_job_that_is_sealing_has_exactly_one_sealer,
        slot("a/0", lambda s: replace(s, state=SlotState.SEALING)),
    ),
    (
        invariants.a_job_that_is_sealing_has_exactly_one_sealer,
        job("J", lambda j: replace(j, phase="completed")),
    ),
    (
        invariants.a_job_that_does_not_run_says_why,
        job("K", lambda j: replace(j, reason="")),
    ),
    (invariants.a_job_has_what_covers_it_or_nothing, scrapped),
    (
        invariants.percentages_sum_to_a_hundred_at_most,
        slot("b/1", lambda s: replace(s, wanted=Place("K", "t"))),
    ),
]


def test_a_sound_replica_breaks_nothing() -> None:
    assert invariants.broken(sound()) == []


@pytest.mark.parametrize(
    ("invariant", "harm"), BROKEN, ids=[f"{n}-{i.__name__}" for n, (i, _) in enumerate(BROKEN)]
)
def test_an_invariant_notices(invariant: Invariant, harm: Callable[[Replica], Replica]) -> None:
    assert invariant(sound()) is None
    assert invariant(harm(sound()))


def test_every_invariant_about_jobs_is_among_these() -> None:
    first = invariants.INVARIANTS.index(invariants.slots_are_offered_by_members)
    assert {*invariants.INVARIANTS[first:]} == {invariant for invariant, _ in BROKEN}
