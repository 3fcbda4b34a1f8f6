"""Who drives the jobs that a peer leads: the port between a peer and the kinds of work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from remuda.peer.job_contract import JobChange, SealJob, StartJob, StopJob
from remuda.replica.state import PeerId

TellJob: TypeAlias = Callable[[JobChange], None]
"""How a worker tells the peer's life that asked it; ignored when that life is over."""


class JobWorker(Protocol):
    """Called in the peer's event loop; must return at once, and tell when it is done.

    It outlives the lives of its peer. A job that is started while an older driver of it is still
    about to stop here starts after that. A job whose driver ended by accident is started again at
    once: a worker that sees that happen again and again (`StartJob.restarts`) takes its time, or
    gives up with `JobFailed`.
    """

    def start_job(self, me: PeerId, start: StartJob, tell: TellJob) -> None:
        """Start a driver; tell `JobStarted`, and what becomes of it."""
        ...

    def seal_job(self, me: PeerId, seal: SealJob, tell: TellJob) -> None:
        """Publish what is staged, by the driver that has staged it or without one."""
        ...

    def stop_job(self, stop: StopJob, tell: TellJob) -> None:
        """The driver may do nothing any more as of now; end it, then tell `JobStopped`.

        It must be gone within a fifth of the session time-out: by then another may drive the job.
        """
        ...
