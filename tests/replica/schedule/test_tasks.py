"""How many slots each task of a job gets."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.replica.schedule.demand import JobDemand, TaskDemand, TaskScheduler, ppm_of
from remuda.replica.schedule.plan import plan
from remuda.replica.schedule.shares import by_weight, evenly
from remuda.replica.schedule.slots import Slot
from remuda.replica.schedule.tasks import split
from tests.replica.schedule.demands import (
    job_of,
    patient,
    slots_of,
    slots_on,
    some_jobs,
    some_slots,
)


def counts_by(by: TaskScheduler, slots: list[Slot], *tasks: TaskDemand) -> list[int]:
    return list(plan(slots, [job_of("A", *tasks, by=by)], "greedy").counts["A"])


def weighted(name: str, percent: float, **asked: int) -> TaskDemand:
    return TaskDemand(name, share_ppm=ppm_of(percent), **asked)  # pyright: ignore[reportArgumentType]


# ── balanced ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("slots", "tasks", "expected"),
    [
        (7, [TaskDemand("a"), TaskDemand("b"), TaskDemand("c")], [3, 2, 2]),
        (9, [TaskDemand("a"), TaskDemand("b", min_slots=4), TaskDemand("c")], [3, 4, 2]),
        (9, [TaskDemand("a", max_slots=1), TaskDemand("b"), TaskDemand("c", n_slots=2)], [1, 6, 2]),
        (9, [TaskDemand("a", max_slots=1), TaskDemand("b", n_slots=2)], [1, 2]),
        (5, [TaskDemand("a"), TaskDemand("b", min_slots=5)], [0, 0]),
    ],
)
def test_balanced_gives_minimums_and_then_to_the_least(
    slots: int, tasks: list[TaskDemand], expected: list[int]
) -> None:
    assert counts_by("balanced", slots_of(slots), *tasks) == expected


@patient
@given(some_jobs(tags=False, by=["balanced"], most=1), st.integers(0, 20))
def test_balanced_is_what_giving_slots_one_at_a_time_comes_to(
    jobs: list[JobDemand], slots: int
) -> None:
    for job in jobs:
        if job.contradiction or job.minimum > slots:
            continue
        counts = [task.fewest for task in job.tasks]
        for _ in range(slots - job.minimum):
            open_ = [n for n, t in enumerate(job.tasks) if t.most is None or counts[n] < t.most]
            if open_:
                counts[min(open_, key=lambda n: counts[n])] += 1
        assert split(job, slots) == counts


def test_tasks_that_compete_for_a_tag_share_it_evenly() -> None:
    slots = slots_of(9, *[["gpu"]] * 4)
    asked = [TaskDemand("a", tags=("gpu",)), TaskDemand("b", tags=("gpu",)), TaskDemand("c")]
    assert counts_by("balanced", slots, *asked) == [2, 2, 5]


# ── percentage ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("slots", "tasks", "expected"),
    [
        pytest.param(10, [weighted("a", 70), weighted("b", 20), weighted("c", 10)], [7, 2, 1]),
        pytest.param(
            7,
            [weighted("a", 37.5), weighted("b", 37.5), weighted("c", 25)],
            [3, 2, 2],
            id="remainders .625, .625 and .75",
        ),
        pytest.param(
            8,
            [weighted("a", 25), weighted("b", 25, min_slots=4), weighted("c", 50)],
            [1, 4, 3],
            id="a minimum takes its task out of the sharing",
        ),
        pytest.param(4, [weighted("a", 90), weighted("b", 10)], [3, 1], id="one each at least"),
        pytest.param(
            9,
            [weighted("a", 60, max_slots=2), weighted("b", 30, max_slots=3), weighted("c", 10)],
            [2, 3, 4],
            id="one after another reaches its maximum",
        ),
        pytest.param(6, [TaskDemand("a"), weighted("b", 50)], [1, 5], id="one without"),
        pytest.param(6, [TaskDemand("a"), TaskDemand("b")], [3, 3], id="none with"),
        pytest.param(
            9, [TaskDemand("a"), weighted("b", 50, max_slots=2)], [7, 2], id="what others leave"
        ),
    ],
)
def test_percentage_goes_by_largest_remainder_within_bounds(
    slots: int, tasks: list[TaskDemand], expected: list[int]
) -> None:
    assert counts_by("percentage", slots_of(slots), *tasks) == expected


def test_a_task_that_lacks_slots_with_its_tag_leaves_its_share_to_the_others() -> None:
    slots = slots_of(10, ["gpu"], ["gpu"])
    asked = [
        TaskDemand("a", tags=("gpu",), share_ppm=500_000),
        TaskDemand("b", share_ppm=300_000),
        TaskDemand("c", share_ppm=200_000),
    ]
    assert counts_by("percentage", slots, *asked) == [2, 5, 3]


# ── colocated ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sites", "tasks", "expected"),
    [
        ({"x": 5}, 4, [1] * 4),
        ({"x": 8}, 4, [2] * 4),
        ({"x": 8, "y": 3, "z": 4}, 4, [3] * 4),
        ({"x": 3, "y": 3}, 4, [0] * 4),
    ],
)
def test_colocated_gives_whole_groups_on_sites_that_hold_one(
    sites: dict[str, int], tasks: int, expected: list[int]
) -> None:
    asked = [TaskDemand(f"t{n}") for n in range(tasks)]
    assert counts_by("colocated", slots_on(sites), *asked) == expected


def test_colocated_goes_by_the_task_that_needs_most_and_the_one_that_takes_fewest() -> None:
    asked = [TaskDemand("a", min_slots=2), TaskDemand("b", max_slots=3)]
    assert counts_by("colocated", slots_on({"x": 20}), *asked) == [3, 3]
    assert counts_by("colocated", slots_on({"x": 3}), *asked) == [0, 0]
    assert counts_by("colocated", slots_on({"x": 2, "y": 2}), *asked) == [2, 2]


@patient
@given(some_jobs(by=["colocated", "balanced"]), some_slots())
def test_every_site_of_a_colocated_job_does_all_of_its_tasks_equally(
    jobs: list[JobDemand], slots: list[Slot]
) -> None:
    places = plan(slots, jobs, "balanced").places
    for job in jobs:
        if job.is_colocated:
            for site in ("x", "y", "z"):
                there = Counter(
                    places[slot.id].task
                    for slot in slots
                    if slot.site == site and slot.id in places and places[slot.id].job == job.job
                )
                assert len({there[task.task] for task in job.tasks}) == 1


# ── tags ─────────────────────────────────────────────────────────────────────────────────────


@patient
@given(some_jobs(by=["balanced", "percentage"], most=1), some_slots(most=8))
def test_a_job_alone_is_covered_exactly_when_its_tags_can_be_matched(
    jobs: list[JobDemand], slots: list[Slot]
) -> None:
    """Hall: no set of tasks may need more slots than have the tags of one of them."""
    for job in jobs:
        subsets = itertools.chain.from_iterable(
            itertools.combinations(job.tasks, size + 1) for size in range(len(job.tasks))
        )
        enough = all(
            sum(task.fewest for task in tasks)
            <= sum(any(slot.has(task.tags) for task in tasks) for slot in slots)
            for tasks in subsets
        )
        covered = sum(plan(slots, [job], "greedy").counts[job.job]) > 0
        assert covered == (enough and not job.contradiction)


# ── the numbers alone ────────────────────────────────────────────────────────────────────────


@st.composite
def bounds(draw: st.DrawFn) -> tuple[int, list[int], list[int], list[int]]:
    parts = draw(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=6))
    floors = [floor for floor, _, _ in parts]
    caps = [floor + extra for floor, extra, _ in parts]
    return draw(st.integers(sum(floors), 70)), floors, caps, [weight for _, _, weight in parts]


@patient
@given(bounds())
def test_what_is_split_is_all_used_within_bounds(
    asked: tuple[int, list[int], list[int], list[int]],
) -> None:
    total, floors, caps, weights = asked
    for parts in (evenly(total, floors, caps), by_weight(total, weights, floors, caps)):
        assert sum(parts) == min(total, sum(caps))
        assert all(f <= p <= c for f, p, c in zip(floors, parts, caps, strict=True))


@patient
@given(bounds())
def test_by_weight_only_bounds_and_rounding_stand_between_parts_and_proportion(
    asked: tuple[int, list[int], list[int], list[int]],
) -> None:
    """Whoever could give a slot has no more for its weight than whoever could take one, but for
    the one slot that rounding may cost either."""
    total, floors, caps, weights = asked
    parts = by_weight(total, weights, floors, caps)
    for giver, taker in itertools.permutations(range(len(parts)), 2):
        could = parts[giver] > floors[giver] and parts[taker] < caps[taker]
        if could and weights[giver] and weights[taker]:
            assert (parts[giver] - 1) * weights[taker] < (parts[taker] + 1) * weights[giver]
