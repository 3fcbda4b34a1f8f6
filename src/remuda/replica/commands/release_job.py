"""`release-job`: a lead's driver has stopped, asked to or not; the job is free for the next one.

The job itself is not ended by this. What its slots were waiting for has happened.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import DriverStopped, Fact
from remuda.replica.job_facts import job_facts
from remuda.replica.jobs import driver_gone
from remuda.replica.schedule.demand import JobId
from remuda.replica.scheduling import rescheduled
from remuda.replica.state import PeerId, Replica


class ReleaseJob(Command, frozen=True, tag="release-job"):
    job: JobId
    peer: PeerId
    epoch: int
    reason: str = ""

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        job = replica.jobs.get(self.job)
        if job is None or not job.is_led_by(self.peer, self.epoch):
            return Rejected(f"{self.peer} does not lead {self.job} under epoch {self.epoch}")
        new = replace(replica, jobs={**replica.jobs, self.job: driver_gone(job)})
        return rescheduled(new, stamp.position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [DriverStopped(self.job, self.peer, self.reason), *job_facts(old, new)]
