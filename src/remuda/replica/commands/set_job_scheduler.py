"""`set-job-scheduler`: how slots are shared out between jobs, from now on.

A command of its own, and not a part of every submission: it concerns all jobs, so that whoever
submits one must not change it for the others in passing. Until it is said it is *greedy*, under
which what is submitted later never disturbs what runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import Fact, JobSchedulerSet
from remuda.replica.job_facts import job_facts
from remuda.replica.schedule.jobs import JobScheduler
from remuda.replica.scheduling import rescheduled
from remuda.replica.state import Replica


class SetJobScheduler(Command, frozen=True, tag="set-job-scheduler"):
    scheduler: JobScheduler

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        if replica.job_scheduler == self.scheduler:
            return Rejected(f"jobs are scheduled by {self.scheduler} already")
        return rescheduled(replace(replica, job_scheduler=self.scheduler), stamp.position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return [JobSchedulerSet(self.scheduler), *job_facts(old, new)]
