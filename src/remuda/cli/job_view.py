"""How jobs are shown: the graph with its rows, and how far a run has come."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from remuda.cli.output import plain
from remuda.pipeline.leading import Showing
from remuda.pipeline.model.graph import Graph
from remuda.pipeline.model.job import Job, Task, TaskName
from remuda.pipeline.run import Progress, edge

_MARKS = {"input": "▷", "function": "ƒ", "reduce": "Σ", "output": "▣"}
_BAR_WIDTH = 40

STATE_COLOURS = {
    "waiting": "yellow",
    "starting": "yellow",
    "running": "cyan",
    "sealing": "cyan",
    "completed": "green",
    "killed": "red",
}


def headline(job: str, told: dict[str, Any], showing: Showing | None) -> RenderableType:
    """A job in a line or two: how it stands, why, and who drives it."""
    colour = STATE_COLOURS[told["state"]]
    lines = [f"job [bold]{plain(job)}[/], {told['mode']}: [{colour}]{told['state']}[/]"]
    if told["reason"]:
        lines[0] += f" — {plain(told['reason'])}"
    if told["lead"] is not None:
        slots = " ".join(f"{plain(task)}:{count}" for task, count in told["tasks"].items())
        lines.append(f"[dim]led by {told['lead']}, epoch {told['epoch']}, slots {slots}[/]")
    if showing is not None and told["lead"] is not None:
        lines.append(f"[dim]driver {showing.driver_pid}, log {plain(showing.log_path)}[/]")
    if told["restarts"]:
        lines.append(f"[dim]{told['restarts']} restarts[/]")
    return Text.from_markup("\n".join(lines))


def graph_tree(job: Job, progress: Progress | None = None) -> RenderableType:
    """Each task below those that lead to it; one that several lead to is drawn out once."""
    graph, drawn = Graph(job.workflow), set[TaskName]()
    roots = [name for name in graph.order() if not graph.preceding[name]]

    def draw(under: Tree, name: TaskName) -> None:
        for to in graph.following[name]:
            again = " [dim](above)[/]" if to in drawn else ""
            label = f"{_rows(progress, name, to)}{_task(job.task(to))}{again}"
            branch = under.add(label)
            if to not in drawn:
                drawn.add(to)
                draw(branch, to)

    trees: list[Tree] = []
    for name in roots:
        tree = Tree(_task(job.task(name)), guide_style="dim")
        draw(tree, name)
        trees.append(tree)
    return Group(*trees)


def progress_lines(progress: Progress) -> RenderableType:
    """What is known beside the rows; nothing is shown that is not."""
    parts: list[RenderableType] = []
    if progress.done is not None:
        bar = Table.grid(padding=(0, 1))
        left = "" if progress.seconds_left is None else f"about {_span(progress.seconds_left)} left"
        bar.add_row(
            ProgressBar(total=1.0, completed=progress.done, width=_BAR_WIDTH),
            f"{progress.done:.0%}",
            left,
        )
        parts.append(bar)
    said = [f"{progress.rows_per_s:,.0f} rows/s"]
    if progress.batches:
        said.insert(0, f"{progress.batches:,} batches")
    if progress.lag_rows is not None:
        said.append(f"{progress.lag_rows:,} rows behind")
    if progress.late_rows:
        said.append(f"[yellow]{progress.late_rows:,} rows too late for their windows[/]")
    for task, count in sorted(progress.routed_errors.items()):
        said.append(f"[yellow]{count:,} exceptions of {plain(task)} routed[/]")
    parts.append(Text.from_markup(", ".join(said)))
    return Group(*parts)


def _task(task: Task) -> str:
    what = task.plugin or task.fn or ("sql" if task.sql else "")
    return f"[dim]{_MARKS[task.type]}[/] [bold]{plain(task.name)}[/] [dim]{plain(what)}[/]"


def _rows(progress: Progress | None, source: TaskName, to: TaskName) -> str:
    if progress is None:
        return ""
    rows = progress.edges.get(edge(source, to), 0)
    return f"[{'green' if rows else 'dim'}]{rows:,}[/] ► "


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
