# pyright: basic
"""The windows of a task, on Spark: the rows that come to it in, what its triggers emit out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from remuda.pipeline.functions import Functions, Row
from remuda.pipeline.model.job import Job, Task
from remuda.pipeline.spark.types import of_frame
from remuda.pipeline.window_state import Windowed
from remuda.pipeline.windowing import ordered, stateful
from remuda.pipeline.windowing.acting import acted
from remuda.pipeline.windowing.choice import check_stream, is_stateful, windows_of
from remuda.pipeline.windowing.grouping import grouped
from remuda.pipeline.windowing.native import aggregated
from remuda.pipeline.windowing.shapes import shape_of

# So many rows of a batch are looked at when nobody says what a task emits.
_SAMPLE_ROWS = 200


def emitted(
    rows: DataFrame,
    job: Job,
    task: Task,
    functions: Functions,
    *,
    streaming: bool,
    samples: Callable[[], Sequence[Row]] | None = None,
    closing: str | Path | None = None,
) -> DataFrame:
    """What the triggers of a task emit, given the rows that its function made.

    In a stream the query has the output mode `append`; `samples` are rows like those of the stream,
    needed where the task declares no `schema`, and `closing` is a directory for `closing.close`.
    """
    if streaming:
        check_stream(job)

    def sampled() -> Sequence[Row]:
        if samples is not None:
            return samples()
        return [] if streaming else rows.limit(_SAMPLE_ROWS).toArrow().to_pylist()

    shape = shape_of(job, task, functions, sampled) or of_frame(rows.schema)
    windows = windows_of(job, task)
    ours = [Windowed(job, task, w, functions) for w in windows if is_stateful(job, w)]
    sparks = [Windowed(job, task, w, functions) for w in windows if not is_stateful(job, w)]

    def native(windowed: Windowed) -> DataFrame:
        grouping = grouped(rows, task, functions)
        window = windowed.window
        made = aggregated(grouping, window, rows.columns, streaming=streaming, closing=closing)
        return acted(made, windowed, grouping.group, shape)

    frames = [native(windowed) for windowed in sparks]
    if ours and not streaming:
        frames.append(ordered.fired(grouped(rows, task, functions), ours, rows.columns, shape))
    elif ours:
        frames += [stateful.fired(rows, w, job, shape, closing) for w in _alike(job, ours)]
    return reduce(DataFrame.unionByName, frames) if frames else rows.where(sql.lit(False))


def _alike(job: Job, windows: Sequence[Windowed]) -> list[list[Windowed]]:
    """Windows that can share one state in a stream: of one time column and one kind of timer."""
    timed = {trigger.window for trigger in job.triggers if trigger.on == "timer"}
    alike: dict[tuple[str | None, bool], list[Windowed]] = {}
    for windowed in windows:
        by_clock = job.mode == "continuous" and windowed.window.id in timed
        alike.setdefault((windowed.window.time, by_clock), []).append(windowed)
    return list(alike.values())
