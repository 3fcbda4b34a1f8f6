"""Which windows Spark's own operators can do, and what a stream cannot have.

Spark's operators fire when a window is complete, or when all is over. That is all that triggers on
`watermark` ask for; those on `timer` too, unless the input goes on: a bounded input takes no time.
Everything else is our state machine's: a trigger that may fire earlier, and one's own aggregation.
"""

from __future__ import annotations

from remuda.errors import RemudaError
from remuda.pipeline.model.graph import Graph
from remuda.pipeline.model.job import Job, Task, Window


class CannotStream(RemudaError):
    """Something in a job that Spark can do in batch only."""

    exit_code = 2


def windows_of(job: Job, task: Task) -> list[Window]:
    """Those of a task that anything comes out of."""
    fired = {trigger.window for trigger in job.triggers}
    return [window for window in job.windows if window.task == task.name and window.id in fired]


def needs_state(job: Job, task: Task) -> bool:
    """Whether any window of a task runs in our state machine, in Python."""
    return any(is_stateful(job, window) for window in windows_of(job, task))


def is_stateful(job: Job, window: Window) -> bool:
    if isinstance(window.aggregation, str) and ":" in window.aggregation:
        return True
    at_the_end = {"watermark"} if job.mode == "continuous" else {"watermark", "timer"}
    return any(t.on not in at_the_end for t in job.triggers if t.window == window.id)


def check_stream(job: Job) -> None:
    """Raises CannotStream if windowed tasks follow each other: Spark lets a row have one watermark,
    and what a trigger emits after it has no place in another window any more."""
    windowed = [task.name for task in job.catalog if windows_of(job, task)]
    emitting = {trigger.window for trigger in job.triggers if trigger.emit is not None}
    following = Graph(job.workflow).following
    for first in dict.fromkeys(w.task for w in job.windows if w.id in emitting):
        beyond: set[str] = set()
        waiting = list(following.get(first, ()))
        while waiting:
            name = waiting.pop()
            if name not in beyond:
                beyond.add(name)
                waiting += following.get(name, ())
        second = next((name for name in windowed if name in beyond), None)
        if second is not None:
            raise CannotStream(
                f"`{second}` has windows over what the windows of `{first}` emit, and a stream "
                "cannot: run the job as batch, or make two jobs of it"
            )
