"""What operators ask of jobs: submit, list, watch, kill, resume.

Each is checked against the cluster as it is before it is asked, so that what cannot be is refused
with a reason and nothing is written; and is answered when the log has it.
"""

from __future__ import annotations

import asyncio
import difflib
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from remuda.config import Config
from remuda.errors import Refused, Unknown
from remuda.log.port import ClusterLog
from remuda.peer.board import Board
from remuda.peer.observer import ask, current, following, opened_log
from remuda.pipeline.leading import Showing
from remuda.pipeline.model.graph import Graph
from remuda.pipeline.model.job import Job, Task
from remuda.pipeline.submission import Submission, decode_submission, encode_submission
from remuda.replica.commands import AnyCommand, KillJob, ResumeJob, SetJobScheduler, SubmitJob
from remuda.replica.fold import Played
from remuda.replica.jobs import JobState
from remuda.replica.schedule.demand import TaskDemand, ppm_of
from remuda.replica.schedule.jobs import JobScheduler
from remuda.replica.state import Replica


class JobControl:
    """`async with job_control(config) as jobs:`"""

    def __init__(self, log: ClusterLog, board: Board) -> None:
        self._log = log
        self._board = board

    async def replica(self) -> Replica:
        return await current(self._log)

    async def submit(self, submission: Submission) -> JobState:
        """The same job again changes nothing; another one under its id is refused."""
        await self._ask(_command(submission))
        return (await self.replica()).jobs[submission.id]

    async def state(self, job_id: str) -> JobState:
        return _job(await self.replica(), job_id)

    async def showing(self, job_id: str) -> Showing | None:
        """What its driver has told of late, if it has told anything."""
        value = await self._board.read(job_id)
        if value is None:
            return None
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(value, type=Showing)
        return None

    async def kill(self, job_id: str, reason: str) -> None:
        _job(await self.replica(), job_id)
        await self._ask(KillJob(job_id, reason))

    async def resume(self, job_id: str) -> None:
        _job(await self.replica(), job_id)
        await self._ask(ResumeJob(job_id))

    async def schedule_by(self, scheduler: JobScheduler) -> None:
        if (await self.replica()).job_scheduler != scheduler:
            await self._ask(SetJobScheduler(scheduler))

    async def states(self, job_id: str) -> AsyncIterator[JobState]:
        """The job as it is, and each time that it is another, until it has ended."""
        last: JobState | None = None
        async for news in following(self._log):
            replica = news.replica if isinstance(news, Played) else news
            job = replica.jobs.get(job_id)
            if job is None or job == last:
                continue
            last = job
            yield job
            if job.is_ended and job.lead is None:
                return

    async def ended(self, job_id: str) -> JobState:
        """When it has ended; raises Unknown at once if there is no such job."""
        _job(await self.replica(), job_id)
        async for job in self.states(job_id):
            if job.is_ended:
                return job
        raise AssertionError("the log ended")

    async def changed(self, job_id: str, within_s: float) -> None:
        """When its driver has told something, at the latest after some time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._board.changed(job_id), within_s)

    async def _ask(self, command: AnyCommand) -> None:
        played = await ask(self._log, command)
        if played.rejected is not None:
            raise Refused(played.rejected)


@asynccontextmanager
async def job_control(config: Config) -> AsyncGenerator[JobControl]:
    async with opened_log(config) as (connection, log):
        yield JobControl(log, Board(connection))


def job_of(state: JobState) -> Job:
    return decode_submission(state.spec).job


def described_job(replica: Replica, job_id: str) -> dict[str, Any]:
    """What `job list --json` prints of a job."""
    state = replica.jobs[job_id]
    places = [s for s in replica.slots.values() if s.place is not None and s.place.job == job_id]
    on_task = Counter(slot.place.task for slot in places if slot.place is not None)
    return {
        "id": job_id,
        "state": state.phase,
        "reason": state.reason,
        "mode": job_of(state).mode,
        "lead": state.lead,
        "epoch": state.epoch,
        "slots": len(places),
        "tasks": {task.task: on_task[task.task] for task in state.demand.tasks},
        "restarts": state.restarts,
        "submitted_ms": state.submitted_ms,
        "ended_ms": state.ended_ms or None,
        "outcome": None if state.outcome is None else msgspec.json.decode(state.outcome),
    }


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _command(submission: Submission) -> SubmitJob:
    job = submission.job
    command = SubmitJob(
        submission.id,
        encode_submission(submission),
        tuple(_demand(job.task(name)) for name in Graph(job.workflow).order()),
        job.task_scheduler,
        None if job.percentage is None else ppm_of(job.percentage),
    )
    if command.refusal is not None:
        raise Refused(command.refusal)
    return command


def _demand(task: Task) -> TaskDemand:
    return TaskDemand(
        task.name,
        min_slots=task.min_peers,
        max_slots=task.max_peers,
        n_slots=task.n_peers,
        share_ppm=None if task.percentage is None else ppm_of(task.percentage),
        tags=tuple(task.required_tags),
        flux=task.flux_policy,
    )


def _job(replica: Replica, job_id: str) -> JobState:
    job = replica.jobs.get(job_id)
    if job is None:
        close = difflib.get_close_matches(job_id, list(replica.jobs), n=1)
        hint = f" (did you mean `{close[0]}`?)" if close else ""
        raise Unknown(f"there is no job `{job_id}`{hint}: `remuda job list` shows them")
    return job
