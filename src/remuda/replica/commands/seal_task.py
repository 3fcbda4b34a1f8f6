"""`seal-task`: the output of a job is staged whole, and one slot is picked to make it visible."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from remuda.replica.command import Command, Rejected, Stamp
from remuda.replica.facts import Fact
from remuda.replica.job_facts import job_facts
from remuda.replica.schedule.demand import JobId
from remuda.replica.schedule.states import SlotState
from remuda.replica.schedule.transition import moved
from remuda.replica.scheduling import rescheduled, sealer_of
from remuda.replica.state import PeerId, Replica

OUTCOME_BYTES_MAX = 64 * 1024


class SealTask(Command, frozen=True, tag="seal-task"):
    """By the lead, under its epoch. `outcome` is small JSON: rows by output, say."""

    job: JobId
    peer: PeerId
    epoch: int
    outcome: str

    def apply(self, replica: Replica, stamp: Stamp) -> Replica | Rejected:
        job = replica.jobs.get(self.job)
        if job is None or not job.is_led_by(self.peer, self.epoch):
            return Rejected(f"{self.peer} does not lead {self.job} under epoch {self.epoch}")
        if not job.is_driven:
            return Rejected(f"the driver of {self.job} is to stop: {job.halting}")
        if job.sealer is not None:
            return Rejected(f"{job.sealer} is picked to seal {self.job} already")
        if len(msgspec.json.encode(self.outcome)) > OUTCOME_BYTES_MAX:
            return Rejected(f"the outcome of {self.job} is over {OUTCOME_BYTES_MAX:,} bytes")
        sealer = sealer_of(replica.slots, self.job, self.peer)
        slot = replica.slots[sealer]
        state = moved(slot.state, SlotState.SEALING)
        if isinstance(state, Rejected):
            return state
        sealing = replace(job, phase="sealing", sealer=sealer, outcome=self.outcome)
        new = replace(
            replica,
            slots={**replica.slots, sealer: replace(slot, state=state)},
            jobs={**replica.jobs, self.job: sealing},
        )
        return rescheduled(new, stamp.position)

    def diff(self, old: Replica, new: Replica) -> Sequence[Fact]:
        return job_facts(old, new)
