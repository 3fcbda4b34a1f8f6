"""`remuda job`: jobs on the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table

from remuda.cli import job_run
from remuda.cli.job_view import STATE_COLOURS, graph_tree, headline, progress_lines
from remuda.cli.options import CLUSTER, AsJson, configured
from remuda.cli.output import clock_time, console, plain, print_json
from remuda.config import Config
from remuda.pipeline.control import JobControl, described_job, job_control, job_of
from remuda.pipeline.leading import Showing
from remuda.pipeline.submission import submission_of
from remuda.replica.jobs import JobState
from remuda.replica.schedule.jobs import JobScheduler

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="Check, run, submit, watch and end jobs.")
app.command()(job_run.check)
app.command()(job_run.run)

JobFile = Annotated[Path, typer.Argument(metavar="FILE", help="A job: YAML or JSON.")]
JobName = Annotated[str, typer.Argument(metavar="ID", help="The job's id.")]

_LOOK_S = 1.0


def asking(config: Config, question: Callable[[JobControl], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        async with job_control(config) as jobs:
            return await question(jobs)

    return asyncio.run(run())


@app.command()
@configured(*CLUSTER)
def submit(
    config: Config,
    file: JobFile,
    *,
    id: Annotated[str | None, typer.Option(help="Instead of the id in the file.")] = None,  # noqa: A002
    wait: Annotated[bool, typer.Option("--wait", help="Return when it has ended.")] = False,
    json: AsJson = False,
) -> None:
    """Give a job to the cluster. The same job under the same id again changes nothing."""
    submission = submission_of(file, id)
    job_run.expect_runnable(submission)

    async def ask(jobs: JobControl) -> dict[str, Any]:
        await jobs.submit(submission)
        if wait:
            await jobs.ended(submission.id)
        return described_job(await jobs.replica(), submission.id)

    told = asking(config, ask)
    if json:
        print_json(told)
    else:
        console.print(_line(told), soft_wrap=True)
        if not wait:
            console.print(f"[dim]see it with `remuda job watch {plain(submission.id)}`[/]")
    if wait and told["state"] != "completed":
        raise typer.Exit(1)


@app.command(name="list")
@configured(*CLUSTER)
def list_jobs(config: Config, *, json: AsJson = False) -> None:
    """Show every job: its state, its slots, and what it waits for if it does."""
    replica = asking(config, lambda jobs: jobs.replica())
    rows = [described_job(replica, name) for name in replica.jobs]
    if json:
        print_json(rows)
        return
    if not rows:
        console.print("no job yet: `remuda job submit FILE`")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("job", "state", "slots", "lead", "restarts", "submitted", ""):
        table.add_column(column, justify="right" if column in ("slots", "restarts") else "left")
    for row in rows:
        table.add_row(
            plain(row["id"]),
            f"[{STATE_COLOURS[row['state']]}]{row['state']}[/]",
            str(row["slots"]),
            row["lead"] or "",
            str(row["restarts"] or ""),
            clock_time(row["submitted_ms"])[:8],
            plain(row["reason"]),
        )
    console.print(table)
    console.print(f"[dim]{len(replica.slots)} slots, shared out by `{replica.job_scheduler}`[/]")


@app.command()
@configured(*CLUSTER)
def show(config: Config, job: JobName, *, json: AsJson = False) -> None:
    """Show a job: its graph, who has which task, its driver, and how far it is."""

    async def ask(jobs: JobControl) -> tuple[dict[str, Any], JobState, Showing | None]:
        state = await jobs.state(job)
        return described_job(await jobs.replica(), job), state, await jobs.showing(job)

    told, state, showing = asking(config, ask)
    if json:
        print_json({**told, "driver": showing, "spec": job_of(state)})
    else:
        console.print(_page(job, state, showing, told), soft_wrap=True)


@app.command()
@configured(*CLUSTER)
def watch(config: Config, job: JobName, *, json: AsJson = False) -> None:
    """Follow a job until it ends: rows by edge, rates, what it waits for."""
    try:
        state = asyncio.run(_watch(config, job, json=json))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    if state.phase != "completed":
        raise typer.Exit(1)


@app.command()
@configured(*CLUSTER)
def kill(
    config: Config,
    job: JobName,
    *,
    reason: Annotated[str, typer.Option(help="Why, for those who look.")] = "killed by hand",
    json: AsJson = False,
) -> None:
    """End a job without its output."""
    asking(config, lambda jobs: jobs.kill(job, reason))
    _say(json, job, "killed", f"{job} is killed; `remuda job resume {job}` lets it go on")


@app.command()
@configured(*CLUSTER)
def resume(config: Config, job: JobName, *, json: AsJson = False) -> None:
    """Let a job that was killed go on from its checkpoint."""
    asking(config, lambda jobs: jobs.resume(job))
    _say(json, job, "waiting", f"{job} goes on as soon as it has slots")


@app.command()
@configured(*CLUSTER)
def scheduler(
    config: Config,
    name: Annotated[JobScheduler, typer.Argument(help="How slots are shared out.")],
    *,
    json: AsJson = False,
) -> None:
    """Say how jobs share the slots, from now on."""
    asking(config, lambda jobs: jobs.schedule_by(name))
    if json:
        print_json({"scheduler": name})
    else:
        console.print(f"slots are shared out by `{name}`")


# ── inside ───────────────────────────────────────────────────────────────────────────────────


async def _watch(config: Config, job: str, *, json: bool) -> JobState:
    async with job_control(config) as jobs:
        state = await jobs.state(job)
        following = asyncio.create_task(_ended(jobs, job))
        if json:
            state = await _watch_lines(jobs, job, following)
        else:
            with Live(console=console, auto_refresh=False, transient=False) as live:
                while True:
                    done = following.done()
                    state, showing = await jobs.state(job), await jobs.showing(job)
                    replica = await jobs.replica()
                    page = _page(job, state, showing, described_job(replica, job))
                    live.update(page, refresh=True)
                    if done:
                        break
                    await _next(jobs, job, following)
        await following
        return state


async def _watch_lines(jobs: JobControl, job: str, following: asyncio.Task[JobState]) -> JobState:
    last = None
    while True:
        done = following.done()
        state, showing = await jobs.state(job), await jobs.showing(job)
        line = {"id": job, "state": state.phase, "reason": state.reason, "driver": showing}
        if line != last:
            print_json(line)
        last = line
        if done:
            return state
        await _next(jobs, job, following)


async def _next(jobs: JobControl, job: str, following: asyncio.Task[JobState]) -> None:
    """When there may be something new."""
    looked = asyncio.create_task(jobs.changed(job, _LOOK_S))
    await asyncio.wait([looked, following], return_when=asyncio.FIRST_COMPLETED)
    looked.cancel()


async def _ended(jobs: JobControl, job: str) -> JobState:
    return await jobs.ended(job)


def _page(
    job: str, state: JobState, showing: Showing | None, told: dict[str, Any]
) -> RenderableType:
    progress = showing.progress if showing is not None else None
    parts: list[RenderableType] = [
        headline(job, told, showing),
        graph_tree(job_of(state), progress),
    ]
    if progress is not None and not state.is_ended:
        parts.append(progress_lines(progress))
    return Group(*parts)


def _line(told: dict[str, Any]) -> str:
    reason = f": {plain(told['reason'])}" if told["reason"] else ""
    colour = STATE_COLOURS[told["state"]]
    return f"job [bold]{plain(told['id'])}[/] is [{colour}]{told['state']}[/]{reason}"


def _say(json: bool, job: str, state: str, text: str) -> None:
    if json:
        print_json({"id": job, "state": state})
    else:
        console.print(plain(text), soft_wrap=True)
