"""What a job that has no slots says."""

from __future__ import annotations

import pytest
from hypothesis import given

from remuda.replica.schedule.demand import JobDemand, TaskDemand
from remuda.replica.schedule.jobs import JobScheduler
from remuda.replica.schedule.plan import plan
from remuda.replica.schedule.slots import Slot
from tests.replica.schedule.demands import (
    job_of,
    patient,
    plain,
    schedulers,
    slots_of,
    slots_on,
    some_jobs,
    some_slots,
)

GPU = ("gpu",)


@pytest.mark.parametrize(
    ("job", "slots", "reason"),
    [
        (plain("A", 6), slots_of(4), "needs 6 slots, 4 exist"),
        (plain("A", 1), [], "needs 1 slot, 0 exist"),
        (
            job_of("A", TaskDemand("a", min_slots=2, tags=GPU)),
            slots_of(4, GPU),
            "needs 2 slots with the tag gpu, 1 exists",
        ),
        (
            job_of("A", TaskDemand("a", tags=("ssd", "gpu"))),
            slots_of(4, ["gpu"], ["ssd"]),
            "needs 1 slot with the tags gpu and ssd, 0 exist",
        ),
        (
            job_of("A", TaskDemand("a", tags=GPU), TaskDemand("b", tags=("ssd",))),
            slots_of(4, ["gpu", "ssd"]),
            "needs 2 slots with the tags of its tasks, 1 exists that can do them at once",
        ),
        (
            job_of("A", TaskDemand("a"), TaskDemand("b"), by="colocated"),
            slots_on({"x": 1, "y": 1}),
            "needs a node with 2 slots, the largest has 1",
        ),
        (
            job_of("A", TaskDemand("a", min_slots=2), TaskDemand("b"), by="colocated"),
            slots_on({"x": 3, "y": 1}),
            "needs 2 times 2 slots on one node, 1 times there is room",
        ),
        (job_of("A"), slots_of(1), "it has no tasks"),
        (
            job_of("A", TaskDemand("a", min_slots=3, max_slots=2)),
            slots_of(9),
            "task a asks for at least 3 and at most 2",
        ),
        (
            job_of("A", TaskDemand("a", n_slots=3), TaskDemand("b", n_slots=2), by="colocated"),
            slots_of(9),
            "colocated gives every task the same number of slots, but one asks for at least 3 and "
            "one for at most 2",
        ),
    ],
)
def test_a_job_that_could_not_even_run_alone_says_what_is_missing(
    job: JobDemand, slots: list[Slot], reason: str
) -> None:
    assert plan(slots, [job], "greedy").waiting == {"A": reason}
    assert plan(slots, [job], "balanced").waiting == {"A": reason}
    assert plan(slots, [job], "percentage").waiting == {"A": reason}


@pytest.mark.parametrize(
    ("scheduler", "slots", "jobs", "reasons"),
    [
        (
            "greedy",
            slots_of(8),
            [plain("A", 3), plain("B", 3)],
            {"B": "waits: job A, submitted earlier, has all of them"},
        ),
        (
            "greedy",
            slots_of(4),
            [job_of("A", TaskDemand("a", n_slots=2)), plain("B", 1), plain("C", 3)],
            {"C": "waits: jobs A and B, submitted earlier, have all of them"},
        ),
        (
            "greedy",
            slots_of(4),
            [job_of("A", TaskDemand("a", n_slots=3)), plain("B", 3)],
            {"B": "needs 3 slots, 1 that it can use is left by job A"},
        ),
        (
            "balanced",
            slots_of(5),
            [plain("A", 3), plain("B", 3)],
            {"B": "needs 3 slots, its even share of 5 among 2 jobs is 2"},
        ),
        (
            "balanced",
            slots_of(4, GPU),
            [job_of("A", TaskDemand("a", tags=GPU)), job_of("B", TaskDemand("b", tags=GPU))],
            {"B": "needs 1 slot, 0 that it can use are left by job A"},
        ),
        (
            "percentage",
            slots_of(10),
            [plain("A", 1, percent=70), plain("B", 1, percent=30), plain("C", 1, percent=20)],
            {"C": "the percentages of jobs A and B already sum to 100"},
        ),
        (
            "percentage",
            slots_of(10),
            [plain("A", 1, percent=62.5), plain("B", 1, percent=50), plain("C", 1, percent=30)],
            {
                "B": "the percentages of job A sum to 62.5, its own 50 would push that over 100",
                "C": "waits behind job B, whose percentage has no room yet",
            },
        ),
        (
            "percentage",
            slots_of(10),
            [plain("A", 2, percent=90), plain("B", 2, percent=10)],
            {"B": "needs 2 slots, its 10% of 10 is 1"},
        ),
        (
            "percentage",
            slots_of(10),
            [plain("A", 1), plain("B", 1, percent=50), plain("C", 1, percent=150)],
            {
                "A": "has no percentage, and jobs are scheduled by percentage",
                "C": "its percentage is 150, more than 100",
            },
        ),
    ],
)
def test_a_job_that_others_leave_too_little_says_who_and_how_much(
    scheduler: JobScheduler, slots: list[Slot], jobs: list[JobDemand], reasons: dict[str, str]
) -> None:
    assert plan(slots, jobs, scheduler).waiting == reasons


@patient
@given(some_jobs(), some_slots(), schedulers)
def test_whoever_waits_says_why(
    jobs: list[JobDemand], slots: list[Slot], scheduler: JobScheduler
) -> None:
    schedule = plan(slots, jobs, scheduler)
    waiting = [job for job, counts in schedule.counts.items() if not sum(counts)]
    assert list(schedule.waiting) == waiting
    assert all(schedule.waiting.values())
