"""How many slots each job gets, and what those that get none say."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remuda.replica.schedule.demand import WHOLE_PPM, JobDemand, TaskDemand, by_submission, ppm_of
from remuda.replica.schedule.jobs import JobScheduler, by_percentage, even_share, within_the_whole
from remuda.replica.schedule.plan import plan
from remuda.replica.schedule.slots import Slot
from tests.replica.schedule.demands import (
    SCHEDULERS,
    job_of,
    patient,
    plain,
    schedulers,
    slots_of,
    slots_on,
    some_jobs,
    some_slots,
    totals,
)


def total_by(scheduler: JobScheduler, slots: int, *jobs: JobDemand) -> list[int]:
    """What jobs get, in the order in which they are given."""
    got = totals(plan(slots_of(slots), jobs, scheduler))
    return [got[job.job] for job in jobs]


# ── greedy ───────────────────────────────────────────────────────────────────────────────────


def test_greedy_gives_the_first_job_all_that_it_can_use_and_the_rest_to_the_next() -> None:
    capped = job_of("A", TaskDemand("a", max_slots=2), TaskDemand("b", max_slots=1))
    assert total_by("greedy", 8, capped, plain("B", 2), plain("C", 2)) == [3, 5, 0]


def test_greedy_passes_over_a_job_that_what_is_left_does_not_cover() -> None:
    first = job_of("A", TaskDemand("a", n_slots=3))
    assert total_by("greedy", 8, first, plain("B", 6), plain("C", 2)) == [3, 0, 5]
    assert total_by("greedy", 4, plain("A", 5), plain("B", 2)) == [0, 4]


@patient
@given(some_jobs(tags=False, by=["balanced", "percentage"]), st.integers(0, 14))
def test_greedy_goes_by_submission_and_by_nothing_else(jobs: list[JobDemand], slots: int) -> None:
    got, left = totals(plan(slots_of(slots), jobs, "greedy")), slots
    for job in sorted(jobs, key=by_submission):
        covers = job.minimum <= left and not job.contradiction
        expected = min(left, left if job.most is None else job.most) if covers else 0
        assert got[job.job] == expected
        left -= expected


@patient
@given(some_jobs(), some_slots())
def test_greedy_never_gives_the_first_job_less_when_a_slot_is_added(
    jobs: list[JobDemand], slots: list[Slot]
) -> None:
    if jobs:
        first = min(jobs, key=by_submission).job
        before = totals(plan(slots[1:], jobs, "greedy"))
        assert totals(plan(slots, jobs, "greedy"))[first] >= before[first]


# ── balanced ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("slots", "jobs", "expected"),
    [
        pytest.param(8, [plain("A", 1), plain("B", 1), plain("C", 1)], [3, 3, 2], id="even"),
        pytest.param(
            8,
            [job_of("A", TaskDemand("a", max_slots=2)), plain("B", 1), plain("C", 1)],
            [2, 3, 3],
            id="what a capped job leaves goes to those that have fewest",
        ),
        pytest.param(
            9,
            [plain("A", 5), plain("B", 4), job_of("C", TaskDemand("c", n_slots=1))],
            [0, 8, 1],
            id="least still needed is covered first",
        ),
        pytest.param(4, [plain("A", 3), plain("B", 3)], [4, 0], id="shares that cover nobody"),
        pytest.param(5, [plain("A", 3), plain("B", 3)], [5, 0], id="a share that covers one"),
        pytest.param(
            12,
            [job_of("A", TaskDemand("a", n_slots=2)), plain("B", 6), plain("C", 3)],
            [2, 6, 4],
            id="what is spare covers a job that its share does not",
        ),
        pytest.param(2, [plain("A", 3), plain("B", 4)], [0, 0], id="too few for anybody"),
    ],
)
def test_balanced_goes_evenly_and_then_by_need(
    slots: int, jobs: list[JobDemand], expected: list[int]
) -> None:
    assert total_by("balanced", slots, *jobs) == expected


@patient
@given(some_jobs(tags=False, by=["balanced", "percentage"]), st.integers(0, 14))
def test_balanced_is_what_giving_slots_one_at_a_time_comes_to(
    jobs: list[JobDemand], slots: int
) -> None:
    """Shares; what is spare by (still needed, has, submitted), if it covers; then by fewest."""
    ordered = sorted(jobs, key=by_submission)
    most = {j.job: slots if j.most is None else j.most for j in jobs}
    can = {j.job: not j.contradiction for j in jobs}
    got: dict[str, int] = {}
    for number, job in enumerate(ordered):
        share = even_share(slots, len(jobs), number)
        covers = can[job.job] and share >= job.minimum
        got[job.job] = min(share, most[job.job]) if covers else 0
    spare = slots - sum(got.values())
    while spare:
        short = [j for j in ordered if can[j.job] and got[j.job] < j.minimum]
        coverable = [j for j in short if j.minimum - got[j.job] <= spare]
        hungry = [j for j in ordered if j.minimum <= got[j.job] < most[j.job]]
        if coverable:
            chosen = min(coverable, key=lambda j: (j.minimum - got[j.job], got[j.job]))
        elif hungry:
            chosen = min(hungry, key=lambda j: got[j.job])
        else:
            break
        got[chosen.job] += 1
        spare -= 1
    assert totals(plan(slots_of(slots), jobs, "balanced")) == got


# ── percentage ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("slots", "jobs", "expected"),
    [
        pytest.param(
            10,
            [plain("A", 1, percent=30), plain("B", 1, percent=70), plain("C", 1, percent=20)],
            [3, 7, 0],
            id="the highest first, up to the first that goes over 100",
        ),
        pytest.param(
            10,
            [plain("A", 1, percent=60), plain("B", 1, percent=50), plain("C", 1, percent=30)],
            [10, 0, 0],
            id="those after the first that goes over 100 wait too",
        ),
        pytest.param(
            10,
            [plain("A", 1, percent=40), plain("B", 1, percent=60), plain("C", 1, percent=40)],
            [4, 6, 0],
            id="the earlier first on a tie",
        ),
        pytest.param(
            7,
            [plain("A", 1, percent=37.5), plain("B", 1, percent=37.5), plain("C", 1, percent=25)],
            [3, 2, 2],
            id="largest remainder, fractions of a percent",
        ),
        pytest.param(
            10,
            [plain("A", 1, percent=50), plain("B", 1, percent=30)],
            [6, 4],
            id="percentages are weights: nothing idles",
        ),
        pytest.param(
            10,
            [job_of("A", TaskDemand("a", max_slots=2), percent=70), plain("B", 1, percent=20)],
            [2, 8],
            id="what a capped job leaves goes to the others",
        ),
        pytest.param(
            10,
            [plain("A", 2, percent=90), plain("B", 2, percent=10)],
            [10, 0],
            id="a share that does not cover goes to the others",
        ),
        pytest.param(
            10,
            [plain("A", 8, percent=70), plain("B", 2, percent=30)],
            [0, 10],
            id="the highest, too, gets none if its share does not cover it",
        ),
        pytest.param(
            10,
            [plain("A", 8, percent=70), plain("B", 4, percent=30)],
            [10, 0],
            id="where shares cover nobody the highest comes first",
        ),
        pytest.param(
            10,
            [plain("A", 10, percent=60), plain("B", 4, percent=30), plain("C", 1, percent=10)],
            [0, 8, 2],
            id="who dropped out for one that dropped out later comes back",
        ),
        pytest.param(
            10,
            [plain("A", 20, percent=60), plain("B", 1, percent=50)],
            [0, 10],
            id="a job that cannot run keeps nobody else out",
        ),
        pytest.param(
            10, [plain("A", 1), plain("B", 1, percent=10)], [0, 10], id="no percentage, no slots"
        ),
        pytest.param(
            10,
            [plain("A", 1, percent=150), plain("B", 1, percent=-5), plain("C", 1, percent=10)],
            [0, 0, 10],
            id="nonsense keeps nobody else out",
        ),
    ],
)
def test_by_percentage(slots: int, jobs: list[JobDemand], expected: list[int]) -> None:
    assert total_by("percentage", slots, *jobs) == expected


@patient
@given(st.lists(st.integers(1, 100), min_size=1, max_size=4), st.integers(0, 60))
def test_shares_by_percentage_are_within_one_of_what_is_exact(
    percentages: list[int], slots: int
) -> None:
    jobs = [plain("ABCD"[n], 1, percent=percent) for n, percent in enumerate(percentages)]
    chosen = within_the_whole(jobs)
    weight = sum(job.weight for job in chosen)
    got = totals(plan(slots_of(slots), jobs, "percentage"))
    quotas = {j.job: Fraction(slots * j.weight, weight) for j in chosen}
    if all(quota >= 1 for quota in quotas.values()):
        assert all(abs(got[job] - quota) < 1 for job, quota in quotas.items())
        assert sum(got.values()) == slots
        assert all(job.job in quotas or not got[job.job] for job in jobs)


@patient
@given(st.lists(st.integers(1, 60), max_size=6))
def test_jobs_are_chosen_by_percentage_while_they_fit_into_100(percentages: list[int]) -> None:
    jobs = [plain("ABCDEF"[n], 1, percent=percent) for n, percent in enumerate(percentages)]
    chosen, ranked = within_the_whole(jobs), sorted(jobs, key=by_percentage)
    assert chosen == ranked[: len(chosen)]
    assert sum(job.weight for job in chosen) <= WHOLE_PPM
    if len(chosen) < len(jobs):
        assert sum(job.weight for job in ranked[: len(chosen) + 1]) > WHOLE_PPM


# ── whatever the scheduler ───────────────────────────────────────────────────────────────────


@patient
@given(some_jobs(), some_slots(), schedulers)
def test_a_job_has_its_minimum_or_nothing_and_never_more_than_it_can_use(
    jobs: list[JobDemand], slots: list[Slot], scheduler: JobScheduler
) -> None:
    schedule = plan(slots, jobs, scheduler)
    assert sum(totals(schedule).values()) == len(schedule.places) <= len(slots)
    for job in jobs:
        counts = schedule.counts[job.job]
        assert (job.job in schedule.waiting) == (sum(counts) == 0)
        if sum(counts):
            assert job.minimum <= sum(counts)
            assert job.most is None or sum(counts) <= job.most
            for task, count in zip(job.tasks, counts, strict=True):
                assert task.fewest <= count
                assert task.most is None or count <= task.most


@patient
@given(some_jobs(by=["balanced", "percentage"]), some_slots(), schedulers)
def test_no_slot_stays_free_that_a_covered_job_could_use(
    jobs: list[JobDemand], slots: list[Slot], scheduler: JobScheduler
) -> None:
    schedule = plan(slots, jobs, scheduler)
    free = [slot for slot in slots if slot.id not in schedule.places]
    for job in jobs:
        for task, count in zip(job.tasks, schedule.counts[job.job], strict=True):
            if count and (task.most is None or count < task.most):
                assert not any(slot.has(task.tags) for slot in free)


@patient
@given(some_jobs(most=3), some_slots(), schedulers)
def test_no_job_waits_while_nobody_works_and_it_could(
    jobs: list[JobDemand], slots: list[Slot], scheduler: JobScheduler
) -> None:
    if scheduler == "percentage":
        jobs = [replace(job, share_ppm=job.share_ppm or 1) for job in jobs]
    if jobs and not any(totals(plan(slots, jobs, scheduler)).values()):
        assert not any(totals(plan(slots, [job], "greedy"))[job.job] for job in jobs)


@patient
@given(some_jobs(), some_slots(), schedulers)
def test_a_schedule_does_not_depend_on_the_order_of_anything(
    jobs: list[JobDemand], slots: list[Slot], scheduler: JobScheduler
) -> None:
    previous = plan(slots, jobs, "greedy").places
    turned = dict(reversed(list(previous.items())))
    retagged = [replace(slot, tags=slot.tags[::-1]) for slot in slots]
    assert plan(slots, jobs, scheduler, previous) == plan(
        retagged[::-1], jobs[::-1], scheduler, turned
    )


def test_with_tags_a_later_job_gets_what_an_earlier_one_can_do_without() -> None:
    slots = slots_of(4, ["gpu"], ["gpu"])
    gpu = job_of("B", TaskDemand("train", tags=("gpu",)))
    for scheduler in SCHEDULERS[1:]:
        jobs = [replace(plain("A", 1), share_ppm=ppm_of(50)), replace(gpu, share_ppm=ppm_of(50))]
        schedule = plan(slots, jobs, scheduler)
        assert totals(schedule) == {"A": 2, "B": 2}
        assert [slot for slot, place in schedule.places.items() if place.job == "B"] == [
            "s000",
            "s001",
        ]


def test_colocated_jobs_use_whole_groups_and_leave_the_rest_to_others() -> None:
    first = job_of("A", TaskDemand("a"), TaskDemand("b"), TaskDemand("c"), by="colocated")
    schedule = plan(slots_on({"x": 7, "y": 2, "z": 3}), [first, plain("B", 1)], "greedy")
    assert schedule.counts == {"A": (3, 3, 3), "B": (3,)}


def test_percentages_are_kept_exactly() -> None:
    assert ppm_of(37.5) == ppm_of("37.5") == 375_000
    assert ppm_of(0.1) * 3 == ppm_of(0.3)
    assert 3 * ppm_of(100 / 3) <= WHOLE_PPM
