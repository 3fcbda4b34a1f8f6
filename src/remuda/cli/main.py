"""The `remuda` command."""

from __future__ import annotations

import sys

import typer

from remuda.cli import (
    demo,
    down,
    drain,
    gc,
    job,
    log,
    peer,
    plan,
    queue,
    serve,
    service,
    status,
    units,
    up,
    work,
)
from remuda.cli.output import print_error
from remuda.errors import RemudaError

app = typer.Typer(
    name="remuda",
    help="Services, queues, workflows and Spark pipelines on one ordered log.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

for verb in (
    up.up,
    down.down,
    peer.peer,
    serve.serve,
    work.work,
    status.status,
    log.log,
    gc.gc,
    plan.plan,
    plan.rebalance,
    drain.drain,
    demo.demo,
):
    app.command()(verb)
app.add_typer(units.app, name="units")
app.add_typer(service.app, name="service")
app.add_typer(job.app, name="job")
app.add_typer(queue.app, name="queue")


def main() -> None:
    try:
        app()
    except RemudaError as error:
        print_error(str(error))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        sys.stderr.close()
        sys.exit(141)


if __name__ == "__main__":
    main()
