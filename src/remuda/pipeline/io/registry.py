"""A plugin by its name: one of ours, or `module:object` for anybody's.

The object is a plugin, a class of plugins that can be made without arguments, or a data source of
Spark's Python API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remuda.errors import RemudaError
from remuda.pipeline.functions import Functions, UnknownFunction
from remuda.pipeline.io.options import entry, option
from remuda.pipeline.io.port import Input, Output
from remuda.pipeline.model.job import Job, Task
from remuda.pipeline.model.problems import Problem, nearest

BUILT_IN: Mapping[str, str] = {
    "parquet": "remuda.pipeline.io.files:parquet",
    "json": "remuda.pipeline.io.files:json_lines",
    "csv": "remuda.pipeline.io.files:csv",
    "text": "remuda.pipeline.io.files:text",
    "jdbc": "remuda.pipeline.io.jdbc:jdbc",
    "kafka": "remuda.pipeline.io.kafka:kafka",
    "datasource": "remuda.pipeline.io.datasource:registered",
    "ledger": "remuda.pipeline.io.ledger.plugin:ledger",
    "rate": "remuda.pipeline.io.rate:rate",
    "memory": "remuda.pipeline.io.memory:memory",
}


class UnknownPlugin(RemudaError):
    """A job names a plugin that cannot be found, or that cannot do what the task asks of it."""

    exit_code = 2


def input_of(task: Task) -> Input:
    plugin = _plugin(task)
    if not isinstance(plugin, Input):
        raise UnknownPlugin(f"{entry(task)}: `{task.plugin}` is no input: it has no `read`")
    return plugin


def output_of(task: Task) -> Output:
    plugin = _plugin(task)
    if not isinstance(plugin, Output):
        raise UnknownPlugin(f"{entry(task)}: `{task.plugin}` is no output: it has no `stage`")
    return plugin


def check(job: Job) -> list[Problem]:
    """What is wrong with the plugins of a job's tasks, and with their options."""
    problems: list[Problem] = []
    for task in job.catalog:
        if task.plugin is None or task.type not in ("input", "output"):
            continue
        try:
            plugin = input_of(task) if task.type == "input" else output_of(task)
        except UnknownPlugin as error:
            problems.append(Problem(entry(task), "plugin", str(error).partition(": ")[2]))
        else:
            problems += plugin.check(task)
    return [*problems, *_shared_paths(job)]


def _shared_paths(job: Job) -> list[Problem]:
    """Two outputs of one job cannot both be the whole of one directory."""
    writers: dict[str, str] = {}
    problems: list[Problem] = []
    for task in job.catalog:
        path = option(task, "path")
        if task.type != "output" or task.plugin == "ledger" or not isinstance(path, str):
            continue
        other = writers.setdefault(path.rstrip("/"), task.name)
        if other != task.name:
            what = f"`{other}` writes to {path} as well: give each a path of its own"
            problems.append(Problem(entry(task), "options.path", what))
    return problems


def _plugin(task: Task) -> Any:
    name = task.plugin or ""
    if name not in BUILT_IN and ":" not in name:
        raise UnknownPlugin(
            f"{entry(task)}: there is no plugin `{name}`{nearest(name, BUILT_IN)}: name one of "
            f"{', '.join(BUILT_IN)}, or a module:object"
        )
    try:
        found = Functions().find(BUILT_IN.get(name, name))
    except UnknownFunction as error:
        raise UnknownPlugin(f"{entry(task)}: {error}") from None
    if not isinstance(found, type):
        return found
    from pyspark.sql.datasource import DataSource

    if issubclass(found, DataSource):
        from remuda.pipeline.io.datasource import DataSourcePlugin

        return DataSourcePlugin(found)
    return found()
