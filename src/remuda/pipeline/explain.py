"""How a job would run: where its graph is cut, and what Spark makes of it."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from threading import Event
from typing import Any

from pyspark.sql import SparkSession

from remuda.pipeline.engine import batch_outputs, one_clear_line, stream_outputs
from remuda.pipeline.functions import Functions
from remuda.pipeline.model.job import Job
from remuda.pipeline.run import Run
from remuda.pipeline.spark.batch import Outputs, forms_of
from remuda.pipeline.spark.cut import cut


def passes_of(job: Job) -> list[str]:
    """A line for each step of the data between places where it rests."""
    found = cut(job, forms_of(job, Functions()))
    lines: list[str] = []
    for place in found.places:
        if place in found.passes:
            onward = found.passes[place]
            through = [step for step in onward.steps if onward.runs(step)]
            functions = f" through {', '.join(through)}" if through else ""
            to = ", ".join(map(str, onward.destinations))
            lines.append(f"{place}: one pass in Python{functions} to {to}")
        if place in found.links:
            to = ", ".join(map(str, found.links[place]))
            lines.append(f"{place}: as it is, without Python, to {to}")
    return lines


class PlanEngine:
    """An engine that runs nothing: what it stages is the plan."""

    def stage(self, spark: SparkSession, run: Run) -> dict[str, Any]:
        with one_clear_line():
            return {"plan": _plan(batch_outputs(spark, run))}

    def seal(self, run: Run) -> dict[str, Any]:
        return {}

    def stream(self, spark: SparkSession, run: Run, stopping: Event) -> dict[str, Any]:
        with one_clear_line():
            return {"plan": _plan(stream_outputs(spark, run))}


def _plan(outputs: Outputs) -> dict[str, str]:
    plans: dict[str, str] = {}
    for name, frame in outputs.frames.items():
        with redirect_stdout(StringIO()) as printed:
            frame.explain()
        plans[name] = printed.getvalue().strip()
    return plans
