"""How many slots each job gets.

Whatever the scheduler, a job has its minimum or nothing, and never more than it can use. No slot
stays free that a covered job could use: percentages and even shares say who goes first and in
what proportion, not that slots should idle.

- *greedy*      in order of submission each job is offered all that is left, and takes what it can
                use if that covers it.
- *balanced*    each job is offered an even share, the earliest one more where it does not come
                out even. What is spare then goes to jobs that their share does not cover: least
                needed first, then in order of submission, as long as it covers them; what is left
                after that to those that have fewest.
- *percentage*  jobs by percentage, the highest first and the earlier first on a tie, up to the
                first that would push the sum over 100; the slots are split by largest remainder.
                Percentages are weights: jobs with 50 and 30 and no others get all slots, 5 to 3.
                A job that its share does not cover drops out, the last in that order first, and
                the shares and the sum are made anew without it; those that dropped out are tried
                again at the end, in order, beside the others. A job without a percentage waits,
                and so does one with more than 100.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias, assert_never

from remuda.replica.schedule.demand import WHOLE_PPM, JobDemand, by_submission
from remuda.replica.schedule.room import Room
from remuda.replica.schedule.shares import by_weight

JobScheduler: TypeAlias = Literal["greedy", "balanced", "percentage"]


def share_out(scheduler: JobScheduler, room: Room) -> Room:
    """The room, empty until now, with what each job gets."""
    match scheduler:
        case "greedy":
            return _greedy(room)
        case "balanced":
            return _balanced(room)
        case "percentage":
            return _by_percentage(room)
        case _:
            assert_never(scheduler)


def even_share(slots: int, jobs: int, number: int) -> int:
    """What job `number`, counted from 0 by submission, is offered of so many slots."""
    return slots // jobs + (number < slots % jobs)


def by_percentage(job: JobDemand) -> tuple[int, int, str]:
    return -job.weight, *by_submission(job)


def within_the_whole(jobs: Sequence[JobDemand]) -> list[JobDemand]:
    """By percentage, up to the first that would push the sum over 100."""
    chosen: list[JobDemand] = []
    total = 0
    for job in sorted(jobs, key=by_percentage):
        total += job.weight
        if total > WHOLE_PPM or not job.weight:
            break
        chosen.append(job)
    return chosen


def _greedy(room: Room) -> Room:
    for job in room.jobs:
        if room.secure(job):
            room.more(job, room.size)
    return room


def _balanced(room: Room) -> Room:
    shares = {
        job.job: even_share(room.size, len(room.jobs), number)
        for number, job in enumerate(room.jobs)
    }
    covered = [job for job in room.jobs if job.minimum <= shares[job.job] and room.secure(job)]
    for job in covered:
        room.more(job, shares[job.job] - room.held(job))
    # All others have nothing: what they still need is their minimum, and to have fewest slots
    # decides nothing between them.
    for job in sorted(room.jobs, key=lambda job: job.minimum):
        if not room.held(job):
            room.secure(job)
    _use_up(room, [job for job in room.jobs if room.held(job)], room.held)
    return room


def _by_percentage(room: Room) -> Room:
    alone = {job.job: _alone(room, job) for job in room.jobs}
    possible = [job for job in room.jobs if alone[job.job] and job.weight <= WHOLE_PPM]
    chosen, dropped = within_the_whole(possible), list[JobDemand]()
    filled, uncovered = _try_shares(room, chosen, alone)
    while uncovered:
        dropped.append(uncovered[-1])
        chosen = within_the_whole([job for job in possible if job not in dropped])
        filled, uncovered = _try_shares(room, chosen, alone)
    for job in sorted(dropped, key=by_percentage):
        wider = sorted([*chosen, job], key=by_percentage)
        if within_the_whole(wider) == wider:
            trial, uncovered = _try_shares(room, wider, alone)
            if not uncovered:
                filled, chosen = trial, wider
    _use_up(filled, chosen, lambda job: Fraction(filled.held(job), job.weight))
    return filled


def _alone(room: Room, job: JobDemand) -> int:
    """What a job could use if it were the only one; 0 if even then it were not covered."""
    trial = room.copy()
    if trial.secure(job):
        trial.more(job, room.size)
    return trial.held(job)


def _try_shares(
    room: Room, ranked: Sequence[JobDemand], alone: dict[str, int]
) -> tuple[Room, list[JobDemand]]:
    """The room with every job's share in it, and those that theirs does not cover."""
    trial = room.copy()
    shares = by_weight(
        room.size,
        [job.weight for job in ranked],
        [0] * len(ranked),
        [alone[job.job] for job in ranked],
    )
    offers = list(zip(ranked, shares, strict=True))
    uncovered = [job for job, share in offers if share < job.minimum or not trial.secure(job)]
    if not uncovered:
        for job, share in offers:
            trial.more(job, share - trial.held(job))
    return trial, uncovered


def _use_up(
    room: Room, ranked: Sequence[JobDemand], fullness: Callable[[JobDemand], int | Fraction]
) -> None:
    """What is left, a step at a time, to the least full that can use it, the first on a tie. One
    that once could not use more never can again, as slots only become fewer."""
    hungry = list(ranked)
    while hungry:
        job = min(hungry, key=fullness)
        if not room.more(job, job.step):
            hungry.remove(job)
