"""`resume-job`: a job that was killed goes on from where its checkpoint is."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import Fact
from remuda.replica.job_facts import job_facts
from remuda.replica.schedule.demand import JobId
from remuda.replica.scheduling import rescheduled
from remuda.replica.state import Replica


class ResumeJob(Command, frozen=True, tag="resume-job"):
    job: JobId

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        job = replica.jobs.get(self.job)
        if job is None:
            return Rejected(f"there is no job {self.job}")
        if job.phase != "killed":
            return Rejected(f"{self.job} is {job.phase}: only a job that was killed can be resumed")
        waiting = replace(job, phase="waiting", reason="", ended_ms=0)
        new = replace(replica, jobs={**replica.jobs, self.job: waiting})
        return rescheduled(new, stamp.position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return job_facts(old, new)
