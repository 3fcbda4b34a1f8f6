"""A job as it travels: with all that another process, elsewhere, needs to run it.

A job file says `data/orders` and `orders:price`, and means: from where I am. Another machine's
driver is not there, so paths are made whole and the places of modules are noted when a job is
submitted.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from remuda.pipeline.model.job import Job, Task
from remuda.pipeline.model.reading import read_job

# An option of an input or output whose value is a place in a file system.
_PATH_OPTION = "path"


class Submission(Struct, frozen=True, kw_only=True):
    """`job` has an id. `python_path` is where its functions' modules are found."""

    job: Job
    python_path: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        assert self.job.id is not None
        return self.job.id


def submission_of(source: Mapping[str, Any] | str | Path, job_id: str | None = None) -> Submission:
    """From a job as users write it. Raises BadJob with all that is wrong with it.

    Paths are relative to the current directory. Modules are looked for there and beside the file.
    """
    job = read_job(source)
    here = Path.cwd()
    is_file = isinstance(source, str | Path)
    beside = [str(Path(source).resolve().parent)] if is_file else []
    stem = Path(source).stem if is_file else "job"
    return Submission(
        job=replace(
            job,
            id=job_id or job.id or f"{stem}-{secrets.token_hex(3)}",
            catalog=[_with_whole_path(task, here) for task in job.catalog],
        ),
        python_path=tuple(dict.fromkeys([str(here), *beside])),
    )


def new_run_id(submission: Submission) -> str:
    """Under which a job runs without a cluster. A stream goes on from its last run; a batch is
    another each time, and does not take what an earlier one has written for its own."""
    if submission.job.mode != "batch":
        return submission.id
    return f"{submission.id}-{secrets.token_hex(3)}"


def encode_submission(submission: Submission) -> str:
    """As JSON, the same for the same job, so that submitting it twice can be seen to be that."""
    plain = msgspec.to_builtins(submission)
    plain["job"] = _without_defaults(plain["job"])
    return msgspec.json.encode(plain, order="sorted").decode()


def decode_submission(text: str) -> Submission:
    return msgspec.json.decode(text, type=Submission)


def find_modules(submission: Submission) -> None:
    """From now on this process imports from where the job's modules are."""
    sys.path[:0] = [path for path in submission.python_path if path not in sys.path]


def _with_whole_path(task: Task, base: Path) -> Task:
    path = task.options.get(_PATH_OPTION)
    if not isinstance(path, str) or "://" in path or Path(path).is_absolute():
        return task
    return replace(task, options={**task.options, _PATH_OPTION: str(base / path)})


def _without_defaults(job: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in job.items() if value not in (None, [], {})}
