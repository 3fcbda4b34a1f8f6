from __future__ import annotations

from remuda.testing.checkers.checker import Checker


class CommitsAreFenced(Checker):
    """No driver makes anything visible after a later driver of its job has begun, whatever its
    peer knows or does not know of that."""

    _checked = 0

    def on_event(self) -> None:
        commits = self.world.store.commits
        for job, epoch, fence in commits[self._checked :]:
            if epoch < fence:
                self.fail(f"{job} is written to under epoch {epoch}, and {fence} has begun")
        self._checked = len(commits)
