"""`kill-job`: a job ends without its output, because somebody says so or because it failed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import Fact
from remuda.replica.job_facts import job_facts
from remuda.replica.jobs import JobState, driver_gone, killed
from remuda.replica.schedule.demand import JobId
from remuda.replica.scheduling import rescheduled
from remuda.replica.state import PeerId, Replica

REASON_CHARACTERS_MAX = 4000


class KillJob(Command, frozen=True, tag="kill-job"):
    """A lead gives its name and epoch, and says so after its driver has ended. Anybody else gives
    neither, and may kill a job until its output is staged: then it is being published."""

    job: JobId
    reason: str
    peer: PeerId | None = None
    epoch: int | None = None

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        job = replica.jobs.get(self.job)
        if job is None:
            return Rejected(f"there is no job {self.job}")
        by_lead = self.peer is not None or self.epoch is not None
        if by_lead and not job.is_led_by(self.peer, self.epoch):
            return Rejected(f"{self.peer} does not lead {self.job} under epoch {self.epoch}")
        if job.is_ended and not (by_lead and job.phase == "killed"):
            return Rejected(f"{self.job} is {job.phase} already")
        if job.outcome is not None and not by_lead:
            return Rejected(f"the output of {self.job} is complete and is being published")
        new = replace(replica, jobs={**replica.jobs, self.job: self._killed(job, stamp)})
        return rescheduled(new, stamp.position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return job_facts(old, new)

    def _killed(self, job: JobState, stamp: Stamp) -> JobState:
        if self.peer is not None:
            job = driver_gone(job)
        if job.is_ended:
            # Killed before, and its driver failed when it was about to be stopped.
            return job
        return killed(job, self.reason[:REASON_CHARACTERS_MAX], stamp.at_ms)
