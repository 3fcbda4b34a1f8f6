"""What has changed about jobs, whichever command it was that changed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from remuda.replica.facts import (
    DriverHalted,
    DriverPicked,
    Fact,
    JobCompleted,
    JobForgotten,
    JobGivenSlots,
    JobKilled,
    JobResumed,
    JobSubmitted,
    JobWaits,
    SealerPicked,
)
from remuda.replica.jobs import JobState
from remuda.replica.schedule.demand import JobId
from remuda.replica.state import Replica


def job_facts(old: Replica, new: Replica) -> list[Fact]:
    """In order of jobs by name."""
    if old.jobs is new.jobs:
        return []
    facts: list[Fact] = [JobForgotten(job) for job in sorted(old.jobs) if job not in new.jobs]
    given = _given(new)
    for name, job in sorted(new.jobs.items()):
        before = old.jobs.get(name)
        if before is None:
            facts.append(JobSubmitted(name))
            before = JobState(job.spec, job.demand)
        if job is not before:
            facts += _changes(name, before, job, given.get(name, 0))
    return facts


def _given(replica: Replica) -> Mapping[JobId, int]:
    given: dict[JobId, int] = {}
    for slot in replica.slots.values():
        if slot.wanted is not None:
            given[slot.wanted.job] = given.get(slot.wanted.job, 0) + 1
    return given


def _changes(name: JobId, old: JobState, new: JobState, given: int) -> Iterator[Fact]:
    if old.phase == "killed" and not new.is_ended:
        yield JobResumed(name)
    if new.halting and not old.halting and not new.is_ended:
        yield DriverHalted(name, new.halting)
    if new.phase == "waiting" and (old.phase, old.reason) != ("waiting", new.reason):
        yield JobWaits(name, new.reason)
    if new.phase == "starting" and old.phase != "starting":
        yield JobGivenSlots(name, given)
    if new.lead is not None and new.epoch != old.epoch:
        yield DriverPicked(name, new.lead, new.epoch)
    if new.sealer is not None and new.sealer != old.sealer:
        yield SealerPicked(name, new.sealer)
    if new.phase == "completed" and old.phase != "completed":
        yield JobCompleted(name, new.outcome or "")
    if new.phase == "killed" and old.phase != "killed":
        yield JobKilled(name, new.reason)
