"""Functions called around a task's work.

The lifecycles of a task are those written for it and those for `all`, in the order in which the job
has them. Each function is given its `params`, and of `task` (the name), `rows` (those of the batch)
and `error` what it asks for by name. So, wherever a task's function runs in Python:

- `start` is called once before the first batch, `stop` once after the last, whatever happened in
  between. On Spark that is once for each partition of the pass that the task is part of.
- `before_batch` is called before each batch with the rows that the function will be given,
  `after_batch` after it. A batch is what comes in one piece: the whole input in the interpreter, an
  Arrow batch on Spark; with `batch_rows`, at most so many rows. An empty batch is none.
- What comes later in the job is called first when things end: `after_batch` and `stop` go through
  the lifecycles backwards.
- If the function, `start`, `before_batch` or `after_batch` raises, and no flow condition takes it,
  each `handle_exception` is asked in turn: `kill` ends the job with the error; `defer` asks the
  next, and after the last is `kill`; `restart` calls `stop` and `start` and runs the same batch
  again, at most RESTARTS_MAX times in a row, after which the job is killed all the same. Nothing
  that the failed batch made goes anywhere.

Inputs, outputs and tasks in SQL or DataFrame form have no Python around them: `all` passes them by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from remuda.pipeline.functions import Functions, asked_for
from remuda.pipeline.killed import JobKilled, TaskFailed
from remuda.pipeline.model.job import FunctionName, Job, Lifecycle, TaskName

RESTARTS_MAX = 3
_OFFERED = ("task", "rows", "error")
_ANSWERS = ("kill", "restart", "defer")

Result = TypeVar("Result")


class Lifecycles:
    """Those of one task."""

    def __init__(self, job: Job, task: TaskName, functions: Functions) -> None:
        entries = [entry for entry in job.lifecycles if entry.task in (task, "all")]
        self._task = task
        self._hooks = [_Hooks(entry, functions) for entry in entries]

    @property
    def any(self) -> bool:
        return bool(self._hooks)

    def start(self) -> None:
        self._guarded(self._start, restarted=False)

    def stop(self) -> None:
        for hooks in reversed(self._hooks):
            self._call("stop", hooks.stop)

    def around(self, rows: Any, work: Callable[[], Result]) -> Result:
        """Do a batch's work, of these rows, with the functions around it; maybe more than once."""

        def batch() -> Result:
            for hooks in self._hooks:
                self._call("before_batch", hooks.before_batch, rows=rows)
            result = work()
            for hooks in reversed(self._hooks):
                self._call("after_batch", hooks.after_batch, rows=rows)
            return result

        return self._guarded(batch, restarted=True)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _start(self) -> None:
        for hooks in self._hooks:
            self._call("start", hooks.start)

    def _guarded(self, work: Callable[[], Result], *, restarted: bool) -> Result:
        restarts = 0
        while True:
            try:
                return work()
            except Exception as error:
                if self._decision(error) == "kill" or restarts == RESTARTS_MAX:
                    raise
                restarts += 1
            if restarted:
                self.stop()
                self._start()

    def _decision(self, error: Exception) -> str:
        cause = error.__cause__ if isinstance(error, TaskFailed) and error.__cause__ else error
        for hooks in self._hooks:
            if hooks.handle_exception is None:
                continue
            answer = self._call("handle_exception", hooks.handle_exception, error=cause)
            if answer not in _ANSWERS:
                raise JobKilled(
                    f"handle_exception of the task `{self._task}` answered {answer!r}, not one of "
                    f"{', '.join(_ANSWERS)}"
                ) from error
            if answer != "defer":
                return answer
        return "kill"

    def _call(self, name: str, function: _Hook | None, **offered: Any) -> Any:
        if function is None:
            return None
        try:
            return function({"task": self._task, **offered})
        except Exception as error:
            what = f"{name} of the task `{self._task}`"
            raise TaskFailed(self._task, what, error) from error


_Hook = Callable[[dict[str, Any]], Any]


class _Hooks:
    """The functions of one lifecycle, found and bound."""

    def __init__(self, entry: Lifecycle, functions: Functions) -> None:
        def hook(name: FunctionName | None) -> _Hook | None:
            return None if name is None else _hook(entry, name, functions)

        self.start = hook(entry.start)
        self.stop = hook(entry.stop)
        self.before_batch = hook(entry.before_batch)
        self.after_batch = hook(entry.after_batch)
        self.handle_exception = hook(entry.handle_exception)


def _hook(entry: Lifecycle, name: FunctionName, functions: Functions) -> _Hook:
    function = functions.bound(name, entry.params)
    unbound: Sequence[str] = [offered for offered in _OFFERED if offered not in entry.params]
    asked = asked_for(functions.find(name), unbound)
    return lambda offered: function(**{key: offered[key] for key in asked if key in offered})
