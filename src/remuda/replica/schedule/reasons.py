"""Why a job has no slots, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import assert_never

from remuda.replica.schedule.demand import WHOLE_PPM, JobDemand, by_submission, percent_text
from remuda.replica.schedule.jobs import JobScheduler, by_percentage, even_share
from remuda.replica.schedule.room import Room


def why_waiting(scheduler: JobScheduler, job: JobDemand, filled: Room) -> str:
    """Why a job has nothing in a room that a job scheduler filled."""
    return _why_never(job, filled) or _why_not_now(scheduler, job, filled)


# ── it would not be covered if it were alone ─────────────────────────────────────────────────


def _why_never(job: JobDemand, filled: Room) -> str | None:
    if job.contradiction:
        return job.contradiction
    if job.minimum > filled.size:
        return f"needs {_slots(job.minimum)}, {_exist(filled.size)}"
    if short := _short_of_tags(job, filled):
        return short
    alone = Room(filled.slots, [job])
    fitting = alone.fitting(job)
    if fitting == job.minimum:
        return None
    if not job.is_colocated:
        return (
            f"needs {_slots(job.minimum)} with the tags of its tasks, {_exist(fitting)} "
            "that can do them at once"
        )
    largest = max(Counter(slot.site for slot in filled.slots).values(), default=0)
    if largest < job.step:
        return f"needs a node with {_slots(job.step)}, the largest has {largest}"
    groups, fit = job.minimum // job.step, fitting // job.step
    return f"needs {groups} times {_slots(job.step)} on one node, {fit} times there is room"


def _short_of_tags(job: JobDemand, filled: Room) -> str | None:
    groups = job.minimum // job.step if job.is_colocated else None
    asked = {tuple(sorted(set(task.tags))) for task in job.tasks if task.tags}
    for tags in sorted(asked, key=lambda tags: (len(tags), tags)):
        needed = sum(
            groups or task.fewest for task in job.tasks if all(tag in task.tags for tag in tags)
        )
        there = sum(slot.has(tags) for slot in filled.slots)
        if needed > there:
            label = "tag" if len(tags) == 1 else "tags"
            return f"needs {_slots(needed)} with the {label} {_listed(tags)}, {_exist(there)}"
    return None


# ── it would, but the others leave too little ────────────────────────────────────────────────


def _why_not_now(scheduler: JobScheduler, job: JobDemand, filled: Room) -> str:
    match scheduler:
        case "greedy":
            return _why_not_greedily(job, filled)
        case "balanced":
            return _why_not_evenly(job, filled)
        case "percentage":
            return _why_not_by_percentage(job, filled)
        case _:
            assert_never(scheduler)


def _why_not_greedily(job: JobDemand, filled: Room) -> str:
    before = [other for other in _running(filled) if by_submission(other) < by_submission(job)]
    if sum(filled.held(other) for other in before) == filled.size:
        have = "has" if len(before) == 1 else "have"
        return f"waits: {_jobs(before)}, submitted earlier, {have} all of them"
    return _left(job, filled, before)


def _why_not_evenly(job: JobDemand, filled: Room) -> str:
    share = even_share(filled.size, len(filled.jobs), filled.jobs.index(job))
    if share >= job.minimum:
        return _left(job, filled, _running(filled))
    among = f"{len(filled.jobs)} jobs"
    return f"needs {_slots(job.minimum)}, its even share of {filled.size} among {among} is {share}"


def _why_not_by_percentage(job: JobDemand, filled: Room) -> str:
    own = job.weight
    if not own:
        return "has no percentage, and jobs are scheduled by percentage"
    if own > WHOLE_PPM:
        return f"its percentage is {percent_text(own)}, more than 100"
    total = 0
    before: list[JobDemand] = []
    for other in sorted(filled.jobs, key=by_percentage):
        if other == job:
            break
        if filled.held(other):
            before.append(other)
            total += other.weight
        elif total + other.weight > WHOLE_PPM >= other.weight:
            return f"waits behind {_jobs([other])}, whose percentage has no room yet"
    if total == WHOLE_PPM:
        return f"the percentages of {_jobs(before)} already sum to 100"
    if total + own > WHOLE_PPM:
        return (
            f"the percentages of {_jobs(before)} sum to {percent_text(total)}, "
            f"its own {percent_text(own)} would push that over 100"
        )
    share = filled.size * own // WHOLE_PPM
    if share < job.minimum:
        return f"needs {_slots(job.minimum)}, its {percent_text(own)}% of {filled.size} is {share}"
    return _left(job, filled, _running(filled))


# ── words ────────────────────────────────────────────────────────────────────────────────────


def _running(filled: Room) -> list[JobDemand]:
    return [job for job in filled.jobs if filled.held(job)]


def _left(job: JobDemand, filled: Room, others: Sequence[JobDemand]) -> str:
    fitting = filled.fitting(job)
    are = "is" if fitting == 1 else "are"
    by = f" by {_jobs(others)}" if others else ""
    return f"needs {_slots(job.minimum)}, {fitting} that it can use {are} left{by}"


def _slots(count: int) -> str:
    return f"{count} slot" if count == 1 else f"{count} slots"


def _exist(count: int) -> str:
    return f"{count} exists" if count == 1 else f"{count} exist"


def _jobs(jobs: Sequence[JobDemand]) -> str:
    return f"job{'' if len(jobs) == 1 else 's'} {_listed([job.job for job in jobs])}"


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
