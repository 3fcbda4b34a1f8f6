from __future__ import annotations

from remuda.replica.schedule.states import SlotState
from remuda.testing.checkers.checker import Checker


class JobsComeToAnEnd(Checker):
    """Liveness: when the faults stop, every job is completed or killed, or waits because the
    schedulers would not have it even alone, and says so. Every slot is offered and idle, and
    every driver has ended."""

    def is_settled(self) -> bool:
        return not self._wrong()

    def at_end(self) -> None:
        wrong = self._wrong()
        if wrong:
            self.fail("; ".join(wrong))

    def _wrong(self) -> list[str]:
        replica = self.world.replica
        wrong = [
            f"{name} is {job.phase}: {job.reason}"
            for name, job in replica.jobs.items()
            if job.phase not in ("completed", "killed", "waiting")
            or (job.phase == "waiting" and not job.reason)
        ]
        wrong += [
            f"{name} is {slot.state}"
            for name, slot in replica.slots.items()
            if slot.state is not SlotState.IDLE
        ]
        offer = self.world.job_offer
        offered = len(self.world.living()) * (offer.slots if offer is not None else 0)
        if len(replica.slots) != offered:
            wrong.append(f"{len(replica.slots)} slots are offered, and not {offered}")
        wrong += [f"{d.process.me} still drives {d.job}" for d in self.world.drivers.running]
        return wrong
