"""`complete-job`: the sealer has made a job's output visible, and its driver has ended."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import Fact
from remuda.replica.job_facts import job_facts
from remuda.replica.jobs import driver_gone
from remuda.replica.schedule.demand import JobId
from remuda.replica.scheduling import rescheduled
from remuda.replica.state import PeerId, Replica


class CompleteJob(Command, frozen=True, tag="complete-job"):
    job: JobId
    peer: PeerId
    epoch: int

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        job = replica.jobs.get(self.job)
        if job is None or not job.is_led_by(self.peer, self.epoch):
            return Rejected(f"{self.peer} does not lead {self.job} under epoch {self.epoch}")
        if job.phase != "sealing":
            return Rejected(f"{self.job} is {job.phase}, and nobody was picked to seal it")
        done = driver_gone(replace(job, phase="completed", ended_ms=stamp.at_ms))
        new = replace(replica, jobs={**replica.jobs, self.job: done})
        return rescheduled(new, stamp.position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return job_facts(old, new)
