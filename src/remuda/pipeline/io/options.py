"""What is wrong with a task's options: unknown names, missing ones, values that cannot be."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from remuda.pipeline.model.job import Task
from remuda.pipeline.model.problems import Problem, nearest


def entry(task: Task) -> str:
    """A task as people know it."""
    return f"catalog entry {task.name}"


def unknown(task: Task, known: Collection[str]) -> Iterator[Problem]:
    """Options that the plugin has not. Spark's own are as good in any case."""
    lowered = {name.lower() for name in known}
    for name in task.options:
        if name.lower() not in lowered:
            what = f"`{task.plugin}` has no such option{nearest(name, known)}"
            yield Problem(entry(task), f"options.{name}", what)


def missing(task: Task, name: str, why: str) -> Iterator[Problem]:
    if option(task, name) in (None, "", []):
        yield Problem(entry(task), f"options.{name}", f"is missing: {why}")


def one_of(task: Task, name: str, values: Collection[str]) -> Iterator[Problem]:
    given = option(task, name)
    if given is not None and str(given).lower() not in {value.lower() for value in values}:
        choices = ", ".join(f"`{value}`" for value in values)
        what = f"expected one of {choices}, got `{given}`{nearest(str(given), values)}"
        yield Problem(entry(task), f"options.{name}", what)


def whole_number(task: Task, name: str, least: int = 1) -> Iterator[Problem]:
    given = option(task, name)
    if given is None:
        return
    if isinstance(given, bool) or not str(given).isdecimal() or int(given) < least:
        what = f"expected a whole number of at least {least}, got `{given}`"
        yield Problem(entry(task), f"options.{name}", what)


def option(task: Task, name: str, default: Any = None) -> Any:
    """The value of an option, however its name is written."""
    for key, value in task.options.items():
        if key.lower() == name.lower():
            return value
    return default


def passed_on(task: Task, *without: str) -> dict[str, str]:
    """The options as Spark takes them: as text, without those that are ours."""
    ours = {name.lower() for name in without}
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in task.options.items()
        if key.lower() not in ours
    }


def texts(value: Any) -> list[str]:
    """One text, or a list of them."""
    return [value] if isinstance(value, str) else list(map(str, value or []))
