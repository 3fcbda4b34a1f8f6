"""Where the groups of colocated jobs go: where they were, as far as they fit there.

How many groups a job gets is decided before, whatever was. That many always fit, so where a job
would not find room beside others that stay, all go where they were packed when it was decided.
"""

from __future__ import annotations

from collections import Counter

from remuda.replica.schedule.demand import JobDemand
from remuda.replica.schedule.room import Room
from remuda.replica.schedule.slots import Places, Site


def stay_put(filled: Room, empty: Room, previous: Places) -> Room:
    """A room in which every job has as much as in `filled`, with groups where they were."""
    trial = empty.copy()
    held = {job.job: filled.held(job) for job in filled.jobs}
    colocated = [job for job in filled.jobs if job.is_colocated and held[job.job]]
    if not colocated:
        return filled
    # The others first: they can do with slots anywhere, but need enough of them with their tags.
    for job in filled.jobs:
        if not job.is_colocated and held[job.job]:
            trial.secure(job)
            trial.more(job, held[job.job] - job.minimum)
    for job in colocated:
        before = _groups_before(filled, job, previous)
        wanted = held[job.job] // job.step
        for site in sorted(before.elements()):
            if wanted and trial.add_group(job, site):
                wanted -= 1
        if wanted and trial.more(job, wanted * job.step) < wanted * job.step:
            return filled
    return trial


def _groups_before(room: Room, job: JobDemand, previous: Places) -> Counter[Site]:
    """How many whole groups a job has slots for on each site. Some of them may be gone since."""
    slots = Counter(
        slot.site
        for slot in room.slots
        if (place := previous.get(slot.id)) is not None and place.job == job.job
    )
    return Counter({site: count // job.step for site, count in slots.items()})
