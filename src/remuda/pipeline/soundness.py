"""What can be wrong with a job that its data alone does not show: functions, plugins, forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from remuda.pipeline.functions import Functions, UnknownFunction
from remuda.pipeline.io import registry
from remuda.pipeline.model.job import Job
from remuda.pipeline.model.predicates import And, Call, Not, Or, Predicate, parse
from remuda.pipeline.model.problems import BadJob, Problem
from remuda.pipeline.spark.batch import forms_of
from remuda.pipeline.spark.cut import refused


def expect_sound(job: Job) -> None:
    """Raises BadJob with all problems. Imports the modules of the job's functions."""
    functions = Functions()
    problems = [*_unknown(job, functions), *registry.check(job)]
    if not problems:
        problems += refused(job, forms_of(job, functions))
    if problems:
        raise BadJob(problems)


def _unknown(job: Job, functions: Functions) -> Iterator[Problem]:
    for where, key, name in _names(job):
        try:
            functions.find(name)
        except UnknownFunction as error:
            yield Problem(where, key, str(error))


def _names(job: Job) -> Iterator[tuple[str, str, str]]:
    """Every function's name in a job, with its place."""
    for task in job.catalog:
        for key in ("fn", "group_by_fn"):
            if (name := getattr(task, key)) is not None:
                yield f"catalog entry {task.name}", key, name
    for condition in job.flow_conditions:
        where = f"flow condition {condition.source}"
        for name in _called(condition.predicate):
            yield where, "predicate", name
        if condition.post_transform is not None:
            yield where, "post_transform", condition.post_transform
    for window in job.windows:
        if isinstance(window.aggregation, str) and ":" in window.aggregation:
            yield f"window {window.id}", "aggregation", window.aggregation
    for trigger in job.triggers:
        for name in _called(trigger.predicate):
            yield f"trigger {trigger.id}", "predicate", name
        for key in ("sync", "emit"):
            if (name := getattr(trigger, key)) is not None:
                yield f"trigger {trigger.id}", key, name
    for lifecycle in job.lifecycles:
        for key in ("start", "stop", "before_batch", "after_batch", "handle_exception"):
            if (name := getattr(lifecycle, key)) is not None:
                yield f"lifecycle {lifecycle.task}", key, name


def _called(written: Any) -> Iterator[str]:
    if written is not None:
        yield from _calls(parse(written))


def _calls(predicate: Predicate) -> Iterator[str]:
    match predicate:
        case Call(fn=name):
            yield name
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from _calls(part)
        case Not(part=part):
            yield from _calls(part)
