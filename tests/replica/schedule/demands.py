"""Slots and jobs for tests, written briefly or made up by Hypothesis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hypothesis import settings
from hypothesis import strategies as st
from msgspec.structs import replace

from remuda.replica.schedule.demand import (
    JobDemand,
    JobId,
    TaskDemand,
    TaskScheduler,
    ppm_of,
)
from remuda.replica.schedule.jobs import JobScheduler
from remuda.replica.schedule.plan import Schedule
from remuda.replica.schedule.slots import Place, Places, Slot

SCHEDULERS: tuple[JobScheduler, ...] = ("greedy", "balanced", "percentage")
# An example takes a millisecond, but on a busy machine now and then a hundred times that.
patient = settings(deadline=None, max_examples=60)
schedulers = st.sampled_from(SCHEDULERS)


def slots_of(count: int, *tagged: Sequence[str]) -> list[Slot]:
    """So many slots; the first ones have the tags that are given."""
    return [
        Slot(f"s{n:03}", "node", tuple(tagged[n]) if n < len(tagged) else ()) for n in range(count)
    ]


def slots_on(sites: Mapping[str, int]) -> list[Slot]:
    return [Slot(f"{site}-{n:02}", site) for site, count in sites.items() for n in range(count)]


def job_of(
    name: str,
    *tasks: TaskDemand,
    submitted: int | None = None,
    percent: float | None = None,
    by: TaskScheduler = "balanced",
) -> JobDemand:
    """Jobs that are called A, B, C were submitted in that order."""
    order = ord(name[0]) if submitted is None else submitted
    return JobDemand(name, order, tasks, by, None if percent is None else ppm_of(percent))


def plain(name: str, tasks: int, *, percent: float | None = None) -> JobDemand:
    return job_of(name, *(TaskDemand(f"t{n}") for n in range(tasks)), percent=percent)


def totals(schedule: Schedule) -> dict[JobId, int]:
    return {job: sum(counts) for job, counts in schedule.counts.items()}


def counted(places: Places) -> Counter[Place]:
    return Counter(places.values())


# Drawn from catalogues, as drawing every field on its own takes ten times as long.
_BOUNDS = (
    (None, None, None),
    (2, None, None),
    (None, 3, None),
    (3, 5, None),
    (0, 1, None),
    (None, None, 1),
    (None, None, 4),
)
_TAG_LISTS: tuple[tuple[str, ...], ...] = ((), (), ("gpu",), ("ssd",), ("gpu", "ssd"))


def _catalogue(tag_lists: Sequence[tuple[str, ...]]) -> list[TaskDemand]:
    return [
        TaskDemand("t", low, high, exact, share, tags)
        for tags in tag_lists
        for low, high, exact in _BOUNDS
        for share in (None, 100_000, 375_000, 500_000)
    ]


_TASKS = {True: _catalogue(_TAG_LISTS), False: _catalogue([()])}


def some_jobs(
    *,
    tags: bool = True,
    by: Sequence[TaskScheduler] = ("balanced", "percentage", "colocated"),
    most: int = 4,
) -> st.SearchStrategy[list[JobDemand]]:
    job = st.tuples(
        st.lists(st.sampled_from(_TASKS[tags]), min_size=1, max_size=3),
        st.integers(0, 2),
        st.sampled_from(by),
        st.sampled_from([None, 50_000, 300_000, 375_000, 500_000, 700_000]),
    )

    def named(asked: list[tuple[list[TaskDemand], int, TaskScheduler, int | None]]):
        return [
            JobDemand(
                "BADC"[number],
                submitted,
                tuple(replace(task, task=f"t{n}") for n, task in enumerate(tasks)),
                scheduler,
                share,
            )
            for number, (tasks, submitted, scheduler, share) in enumerate(asked)
        ]

    return st.lists(job, max_size=most).map(named)


def some_slots(*, tags: bool = True, most: int = 14) -> st.SearchStrategy[list[Slot]]:
    kinds = [(site, of) for of in (_TAG_LISTS if tags else ((),)) for site in ("x", "y", "z")]
    return st.lists(st.sampled_from(kinds), max_size=most).map(
        lambda drawn: [Slot(f"s{n:02}", site, of) for n, (site, of) in enumerate(drawn)]
    )
