"""Which slots move when counts change: as few as the counts allow, always the same ones."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from remuda.replica.schedule.allocate import allocate
from remuda.replica.schedule.demand import JobDemand, TaskDemand
from remuda.replica.schedule.jobs import JobScheduler
from remuda.replica.schedule.plan import Schedule, plan
from remuda.replica.schedule.room import Lane
from remuda.replica.schedule.slots import Place, Places, Slot, SlotMove, moves
from tests.replica.schedule.demands import (
    counted,
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


def kept(before: Places, after: Places) -> int:
    return sum(after.get(slot) == place for slot, place in before.items())


def there(slots: Sequence[Slot], places: Places) -> dict[str, Place]:
    return {slot.id: places[slot.id] for slot in slots if slot.id in places}


@patient
@given(some_jobs(), some_slots(), schedulers)
def test_slots_do_what_they_have_the_tags_for_as_often_as_counted(
    jobs: list[JobDemand], slots: list[Slot], scheduler: JobScheduler
) -> None:
    schedule = plan(slots, jobs, scheduler)
    tasks = {Place(job.job, task.task): task for job in jobs for task in job.tasks}
    for slot in slots:
        if slot.id in schedule.places:
            assert slot.has(tasks[schedule.places[slot.id]].tags)
    for job in jobs:
        found = [counted(schedule.places)[Place(job.job, task.task)] for task in job.tasks]
        assert tuple(found) == schedule.counts[job.job]


@patient
@given(some_jobs(), some_jobs(), some_slots(), schedulers)
def test_what_was_carried_out_is_at_rest(
    before: list[JobDemand], jobs: list[JobDemand], slots: list[Slot], scheduler: JobScheduler
) -> None:
    previous = plan(slots, before, scheduler).places
    schedule = plan(slots, jobs, scheduler, previous)
    assert plan(slots, jobs, scheduler, schedule.places) == schedule


@patient
@given(some_jobs(), some_jobs(), some_slots(), schedulers)
def test_what_jobs_get_does_not_depend_on_how_things_were(
    before: list[JobDemand], jobs: list[JobDemand], slots: list[Slot], scheduler: JobScheduler
) -> None:
    previous = plan(slots, before, scheduler).places
    after = plan(slots, jobs, scheduler, previous)
    assert totals(after) == totals(plan(slots, jobs, scheduler))
    assert after.waiting == plan(slots, jobs, scheduler).waiting


@patient
@given(
    some_jobs(tags=False, by=["balanced", "percentage"]),
    some_jobs(tags=False, by=["balanced", "percentage"]),
    some_slots(tags=False),
    st.integers(0, 14),
    schedulers,
)
def test_without_tags_exactly_so_many_keep_their_task_as_both_counts_have(
    before: list[JobDemand],
    jobs: list[JobDemand],
    slots: list[Slot],
    stay: int,
    scheduler: JobScheduler,
) -> None:
    """Jobs come and go, and so do slots."""
    previous = plan(slots[:-3], before, scheduler).places
    slots = slots[-stay:]
    previous = there(slots, previous)
    after = plan(slots, jobs, scheduler, previous).places
    both = counted(previous) & counted(after)
    assert kept(previous, after) == both.total()
    # And those that cannot keep their task stay in their job while it has tasks to do.
    staying = [
        (previous[slot].job, after[slot].job)
        for slot in previous
        if slot in after and after[slot] != previous[slot]
    ]
    in_job = sum(old == new for old, new in staying)
    was, now = (
        Counter(place.job for place in places.elements())
        for places in (counted(previous) - both, counted(after) - both)
    )
    assert in_job == (was & now).total()


@patient
@given(some_jobs(most=3), some_slots(most=9), schedulers, st.data())
def test_only_counts_that_change_move_slots_when_one_leaves(
    jobs: list[JobDemand], slots: list[Slot], scheduler: JobScheduler, data: st.DataObject
) -> None:
    if not slots:
        return
    before = plan(slots, jobs, scheduler)
    gone = data.draw(st.sampled_from(slots))
    left = [slot for slot in slots if slot != gone]
    after = plan(left, jobs, scheduler, before.places)
    if gone.id not in before.places and before.counts == after.counts:
        assert after.places == before.places
    is_simple = not any(job.is_colocated or any(t.tags for t in job.tasks) for job in jobs)
    if is_simple:
        remaining = there(left, before.places)
        changed = counted(remaining) - counted(after.places)
        leaving = [move for move in moves(remaining, after.places) if move.source]
        assert len(leaving) == changed.total()


# ── exactly as few as can be, with tags ──────────────────────────────────────────────────────


def best(
    slots: Sequence[Slot],
    counts: Mapping[Place, int],
    tags: Mapping[Place, tuple[str, ...]],
    previous: Places,
) -> tuple[int, int]:
    """Tries every assignment: the most that keep their task, and then that keep their job."""
    wanted = [place for place, count in counts.items() for _ in range(count)]
    idle: list[Place | None] = [None] * (len(slots) - len(wanted))
    found = (-1, -1)
    for order in set(itertools.permutations([*wanted, *idle])):
        pairs = list(zip(slots, order, strict=True))
        if all(place is None or slot.has(tags[place]) for slot, place in pairs):
            was = [(previous.get(slot.id), place) for slot, place in pairs]
            keep = sum(old is not None and old == new for old, new in was)
            near = sum(
                old is not None and new is not None and old != new and old.job == new.job
                for old, new in was
            )
            found = max(found, (keep, near))
    return found


PLACES = [Place("A", "t0"), Place("A", "t1"), Place("B", "t0")]


@st.composite
def changes(
    draw: st.DrawFn,
) -> tuple[list[Slot], dict[Place, int], dict[Place, tuple[str, ...]], dict[str, Place]]:
    tag_lists = st.lists(st.sampled_from(["gpu", "ssd"]), unique=True, max_size=2).map(tuple)
    slots = [Slot(f"s{n}", "node", draw(tag_lists)) for n in range(draw(st.integers(0, 6)))]
    tags = {place: draw(tag_lists) for place in PLACES}
    counts: Counter[Place] = Counter()
    previous: dict[str, Place] = {}
    for slot in slots:
        fitting = [place for place in PLACES if slot.has(tags[place])]
        if fitting:
            was, becomes = draw(st.tuples(*[st.sampled_from([None, *fitting])] * 2))
            if becomes is not None:
                counts[becomes] += 1
            if was is not None:
                previous[slot.id] = was
    return slots, dict(counts), tags, previous


@patient
@given(changes())
def test_no_other_choice_of_slots_would_keep_more_of_them_in_place(
    asked: tuple[list[Slot], dict[Place, int], dict[Place, tuple[str, ...]], dict[str, Place]],
) -> None:
    slots, counts, tags, previous = asked
    jobs = [
        job_of("A", *(TaskDemand(p.task, tags=tags[p]) for p in PLACES[:2])),
        job_of("B", TaskDemand("t0", tags=tags[PLACES[2]])),
    ]
    lanes = {Lane(p.job, int(p.task[1]), None, tags[p]): n for p, n in counts.items()}
    after = allocate(slots, jobs, lanes, previous)
    assert counted(after) == Counter(counts)
    assert all(slot.has(tags[after[slot.id]]) for slot in slots if slot.id in after)
    near = sum(
        after.get(slot) not in (None, place) and after[slot].job == place.job
        for slot, place in previous.items()
    )
    assert (kept(previous, after), near) == best(slots, counts, tags, previous)


# ── in words ─────────────────────────────────────────────────────────────────────────────────


def by(
    scheduler: JobScheduler, slots: Sequence[Slot], *jobs: JobDemand, was: Schedule | None = None
) -> Schedule:
    return plan(slots, jobs, scheduler, was.places if was else None)


def test_a_new_slot_takes_the_new_task_and_nobody_else_moves() -> None:
    before = by("balanced", slots_of(6), plain("A", 3), plain("B", 3))
    after = by("balanced", slots_of(7), plain("A", 3), plain("B", 3), was=before)
    assert moves(before.places, after.places) == (SlotMove("s006", None, Place("A", "t0")),)


def test_a_new_job_takes_what_the_counts_say_and_the_last_by_name_go() -> None:
    before = by("balanced", slots_of(4), plain("A", 1))
    after = by("balanced", slots_of(4), plain("A", 1), plain("B", 1), was=before)
    place = Place("A", "t0"), Place("B", "t0")
    assert moves(before.places, after.places) == (
        SlotMove("s002", *place),
        SlotMove("s003", *place),
    )


def test_a_slot_that_does_nothing_is_taken_before_one_of_another_job() -> None:
    first = job_of("A", TaskDemand("a", n_slots=2))
    before = by("greedy", slots_of(3), first)
    later = [job_of("A", TaskDemand("a", n_slots=1)), job_of("B", TaskDemand("b", n_slots=1))]
    after = by("greedy", slots_of(3), *later, was=before)
    assert moves(before.places, after.places) == (
        SlotMove("s001", Place("A", "a"), None),
        SlotMove("s002", None, Place("B", "b")),
    )


def test_two_jobs_by_percentage_on_three_nodes_when_one_leaves() -> None:
    slots = slots_on({"x": 4, "y": 4, "z": 4})
    jobs = [plain("A", 2, percent=70), plain("B", 2, percent=30)]
    before = by("percentage", slots, *jobs)
    assert totals(before) == {"A": 8, "B": 4}
    left = [slot for slot in slots if slot.site != "y"]
    after = by("percentage", left, *jobs, was=before)
    assert totals(after) == {"A": 6, "B": 2}
    moved = [m for m in moves(there(left, before.places), after.places) if m.source]
    lost = counted(there(left, before.places)) - counted(after.places)
    assert len(moved) == lost.total()


def test_a_colocated_job_stays_on_the_sites_that_it_has() -> None:
    one_group = TaskDemand("a", max_slots=1), TaskDemand("b", max_slots=1)
    job = job_of("B", *one_group, by="colocated")
    slots = slots_on({"x": 2, "y": 2})
    before = by("greedy", slots, job_of("A", *one_group, by="colocated"), job)
    assert {slot[0] for slot, place in before.places.items() if place.job == "B"} == {"y"}
    after = by("greedy", slots, job, was=before)
    assert {slot[0] for slot, place in after.places.items() if place.job == "B"} == {"y"}
