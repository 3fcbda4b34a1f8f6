"""Slots, jobs and how things are → how they should be, and why jobs wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from remuda.replica.schedule.allocate import allocate
from remuda.replica.schedule.demand import JobDemand, JobId
from remuda.replica.schedule.jobs import JobScheduler, share_out
from remuda.replica.schedule.reasons import why_waiting
from remuda.replica.schedule.room import Room
from remuda.replica.schedule.sites import stay_put
from remuda.replica.schedule.slots import Place, Places, Slot, SlotId
from remuda.replica.schedule.tasks import settle


class Schedule(Struct, frozen=True):
    """`counts` has every job, and for each its tasks in their order; a job that waits has none
    on any task, and is in `waiting` with the reason. Slots that do nothing are not in `places`."""

    counts: Mapping[JobId, tuple[int, ...]]
    places: Mapping[SlotId, Place]
    waiting: Mapping[JobId, str]


def plan(
    slots: Iterable[Slot],
    jobs: Iterable[JobDemand],
    scheduler: JobScheduler,
    previous: Places | None = None,
) -> Schedule:
    """Which slot should do what. Slots and jobs come in any order: jobs have theirs by
    submission. `previous` may name slots and jobs that are gone."""
    before: Places = previous or {}
    empty = Room(slots, jobs)
    shared = share_out(scheduler, empty.copy())
    room = stay_put(shared, empty, before)
    for job in room.jobs:
        if room.held(job):
            room = settle(room, job)
    return Schedule(
        {job.job: tuple(room.counts(job)) for job in room.jobs},
        allocate(room.slots, room.jobs, room.filled_lanes(), before),
        {job.job: why_waiting(scheduler, job, shared) for job in room.jobs if not room.held(job)},
    )
