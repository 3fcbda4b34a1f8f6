"""`submit-job`: a job is to be done, as soon as there are slots for it.

The same job under the same id again changes nothing, so that who has heard no answer can ask
again. Another one under that id is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import Fact
from remuda.replica.job_facts import job_facts
from remuda.replica.jobs import JobState
from remuda.replica.schedule.demand import JobDemand, JobId, TaskDemand, TaskScheduler
from remuda.replica.scheduling import rescheduled
from remuda.replica.state import Replica

# What fits into one entry of the log, with room for everything beside it.
SPEC_BYTES_MAX = 512 * 1024
TASKS_BYTES_MAX = 384 * 1024
# So many jobs that have ended are remembered, with specs of so many characters in all; then the
# earliest of them are forgotten.
ENDED_MAX = 500
ENDED_SPECS_MAX = 8 * 1024 * 1024


class SubmitJob(Command, frozen=True, tag="submit-job"):
    """`spec` is for whoever drives the job; the rest is what it asks of the schedulers, with the
    tasks in topological order."""

    job: JobId
    spec: str
    tasks: tuple[TaskDemand, ...]
    task_scheduler: TaskScheduler = "balanced"
    share_ppm: int | None = None

    @property
    def refusal(self) -> str | None:
        """Why no cluster would take it; None if one could."""
        if not self.job or not self.job.isprintable() or "/" in self.job:
            return f"a job's id is printable text without a slash, not {self.job!r}"
        if not self.tasks:
            return f"job {self.job} has no tasks"
        for what, value, most in (
            ("spec", self.spec, SPEC_BYTES_MAX),
            ("tasks", self.tasks, TASKS_BYTES_MAX),
        ):
            size = len(msgspec.json.encode(value))
            if size > most:
                return (
                    f"the {what} of job {self.job} would be {size:,} bytes in the log, and "
                    f"{most:,} is the most: keep large tables in files, and name those"
                )
        return None

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        if refusal := self.refusal:
            return Rejected(refusal)
        demand = JobDemand(
            self.job, stamp.position, self.tasks, self.task_scheduler, self.share_ppm
        )
        before = replica.jobs.get(self.job)
        if before is not None:
            same = replace(demand, submitted=before.demand.submitted)
            if (before.spec, before.demand) == (self.spec, same):
                return replica
            return Rejected(f"there is another job with the id {self.job}: choose another id")
        job = JobState(self.spec, demand, submitted_ms=stamp.at_ms)
        jobs = {**_remembered(replica), self.job: job}
        return rescheduled(replace(replica, jobs=jobs), stamp.position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return job_facts(old, new)


def _remembered(replica: Replica) -> dict[JobId, JobState]:
    """All jobs but those that ended too long ago. One whose slots are still busy stays."""
    busy = {slot.place.job for slot in replica.slots.values() if slot.place is not None}
    latest_first = sorted(
        (
            name
            for name, job in replica.jobs.items()
            if job.is_ended and job.lead is None and name not in busy
        ),
        key=lambda name: -replica.jobs[name].demand.submitted,
    )
    forgotten: set[JobId] = set()
    size = 0
    for number, name in enumerate(latest_first):
        size += len(replica.jobs[name].spec)
        if number >= ENDED_MAX or size > ENDED_SPECS_MAX:
            forgotten.add(name)
    return {name: job for name, job in replica.jobs.items() if name not in forgotten}
