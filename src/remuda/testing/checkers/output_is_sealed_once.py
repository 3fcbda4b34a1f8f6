from __future__ import annotations

from remuda.testing.checkers.checker import Checker


class OutputIsSealedOnce(Checker):
    """The output of a job is published once, never by a driver after a later one has begun, and
    only after the log has picked a sealer. When all is quiet, it is visible of exactly the jobs
    that are completed."""

    _checked = 0

    def on_event(self) -> None:
        published = self.world.store.published
        for job, epoch, fence in published[self._checked :]:
            if epoch < fence:
                self.fail(f"{job} is published under epoch {epoch}, and {fence} has begun")
            if sum(other == job for other, _, _ in published) > 1:
                self.fail(f"{job} is published twice")
            state = self.world.replica.jobs.get(job)
            if state is not None and state.outcome is None:
                self.fail(f"{job} is published, and nobody was picked to seal it")
        self._checked = len(published)

    def at_end(self) -> None:
        for name, job in self.world.replica.jobs.items():
            visible = self.world.store.is_published(name)
            if visible != (job.phase == "completed") and job.outcome is None:
                self.fail(f"{name} is {job.phase}, and its output is visible: {visible}")
            if job.phase == "completed" and not visible:
                self.fail(f"{name} is completed, and its output is not visible")
