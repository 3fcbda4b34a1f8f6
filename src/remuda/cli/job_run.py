"""`remuda job check` and `remuda job run`: a job without a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live

from remuda.cli.job_view import graph_tree, progress_lines
from remuda.cli.options import DRIVER, AsJson, configured
from remuda.cli.output import console, plain, print_json
from remuda.config import Config
from remuda.pipeline.driver.messages import DEFAULT_ENGINE
from remuda.pipeline.run import Progress
from remuda.pipeline.submission import Submission, find_modules, submission_of

_PLAN_ENGINE = "remuda.pipeline.explain:PlanEngine"


@configured("data", *DRIVER)
def check(
    config: Config,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A job: YAML or JSON.")],
    *,
    spark: Annotated[
        bool, typer.Option(help="Look at the inputs, and show how Spark would run it.")
    ] = True,
    json: AsJson = False,
) -> None:
    """Validate a job, and show its plan and Spark's; nothing is run or written."""
    submission = submission_of(file)
    expect_runnable(submission)
    from remuda.pipeline.explain import passes_of

    passes = passes_of(submission.job)
    plans: dict[str, str] = {}
    if spark:
        with contextlib.nullcontext() if json else console.status("asking Spark …"):
            plans = asyncio.run(_run(config, submission, 1, json=False, engine=_PLAN_ENGINE))[
                "plan"
            ]
    if json:
        print_json({"id": submission.id, "ok": True, "passes": passes, "plans": plans})
        return
    console.print(graph_tree(submission.job))
    console.print()
    for line in passes:
        console.print(plain(line), soft_wrap=True)
    for output, plan in plans.items():
        console.print(f"\n[bold]{plain(output)}[/]\n[dim]{plain(plan)}[/]", soft_wrap=True)
    console.print("[green]the job is valid[/]")


@configured("data", *DRIVER)
def run(
    config: Config,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A job: YAML or JSON.")],
    *,
    id: Annotated[str | None, typer.Option(help="Instead of the id in the file.")] = None,  # noqa: A002
    cores: Annotated[int | None, typer.Option(min=1, help="How many cores it gets.")] = None,
    json: AsJson = False,
) -> None:
    """Run a job here and now, without a cluster. Ctrl-C stops a stream after its epoch."""
    submission = submission_of(file, id)
    expect_runnable(submission)
    outcome = asyncio.run(_run(config, submission, cores or os.cpu_count() or 1, json=json))
    if json:
        print_json({"id": submission.id, **outcome})
    elif "stopped" in outcome:
        console.print(f"[yellow]stopped[/]: {plain(outcome['stopped'])}")
    else:
        for task, rows in outcome.get("rows", {}).items():
            console.print(f"[green]{rows:,}[/] rows in {plain(_place(submission, task))}")
        console.print("[green]done[/]")


def expect_runnable(submission: Submission) -> None:
    """Raises BadJob for what is wrong with functions, inputs and outputs."""
    find_modules(submission)
    from remuda.pipeline.soundness import expect_sound

    expect_sound(submission.job)


async def _run(
    config: Config,
    submission: Submission,
    cores: int,
    *,
    json: bool,
    engine: str = DEFAULT_ENGINE,
) -> dict[str, Any]:
    from remuda.pipeline.alone import run_alone

    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    began = time.monotonic()
    live = None if json or not console.is_terminal else Live(console=console, auto_refresh=False)

    def tell(progress: Progress) -> None:
        if json:
            print_json({"progress": progress, "seconds": round(time.monotonic() - began, 3)})
        elif live is not None:
            tree = graph_tree(submission.job, progress)
            live.update(Group(tree, progress_lines(progress)), refresh=True)

    with live or contextlib.nullcontext():
        return await run_alone(
            config, submission, cores=cores, tell=tell, stopping=stopping, engine=engine
        )


def _place(submission: Submission, task: str) -> str:
    return str(submission.job.task(task).options.get("path", task))
