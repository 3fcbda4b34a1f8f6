"""One execution of a job by one driver: where it works, under which epoch, whom it tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from remuda.errors import RemudaError
from remuda.pipeline.model.job import Job, TaskName


class Fenced(RemudaError):
    """Another driver has taken the job over: this one may not commit."""


def edge(source: TaskName, to: TaskName) -> str:
    """How an edge is called in a progress."""
    return f"{source} → {to}"


class Progress(Struct, frozen=True, kw_only=True):
    """How far a run has come; each replaces the one before."""

    # Rows so far, by `edge`, and what a task's functions raised and was routed, by task.
    edges: Mapping[str, int] = {}
    routed_errors: Mapping[TaskName, int] = {}
    batches: int = 0
    rows_per_s: float = 0.0
    # Rows that are known to wait in the inputs, and those that came too late for their windows.
    lag_rows: int | None = None
    late_rows: int = 0
    # Between 0 and 1 where the end is known.
    done: float | None = None
    seconds_left: float | None = None


class Run(Struct):
    job: Job
    job_id: str
    work: Path
    fence_epoch: int = 0
    # Asked right before anything becomes visible, beside the fence in `work`.
    may_commit: Callable[[], bool] = field(default=lambda: True)
    tell: Callable[[Progress], None] = field(default=lambda _progress: None)
    # Functions by name, instead of as `module:function`; rows for `memory` inputs.
    functions: Mapping[str, Callable[..., Any]] = {}
    inputs: Mapping[TaskName, list[dict[str, Any]]] = {}

    # ── the fence ────────────────────────────────────────────────────────────────────────────

    def take_fence(self) -> None:
        """From now on drivers with a smaller epoch may not commit. Raises if one has a greater."""
        self.work.mkdir(parents=True, exist_ok=True)
        self.check_fence()
        scratch = self.work / f"fence.{self.fence_epoch}"
        scratch.write_text(str(self.fence_epoch))
        scratch.replace(self.work / "fence")

    def check_fence(self) -> None:
        """Raises Fenced unless this driver may make its output visible now."""
        try:
            current = int((self.work / "fence").read_text())
        except FileNotFoundError:
            current = self.fence_epoch
        if current > self.fence_epoch:
            raise Fenced(
                f"job {self.job_id} was taken over under epoch {current}: this driver, of epoch "
                f"{self.fence_epoch}, commits nothing more"
            )
        if not self.may_commit():
            raise Fenced(f"job {self.job_id} is no longer this driver's: it commits nothing more")


def next_epoch(work: Path) -> int:
    """Greater than that of any driver before, for a run without a cluster that hands out epochs."""
    try:
        return int((work / "fence").read_text()) + 1
    except FileNotFoundError:
        return 0
