"""What is wrong with a task's plugin and options is said before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.pipeline.io.registry import BUILT_IN, UnknownPlugin, check, input_of, output_of
from remuda.pipeline.model.job import Job, Task
from remuda.pipeline.model.problems import Problem
from tests.pipeline.io.targets import sink, source


def problems(*tasks: Task) -> list[str]:
    return list(map(str, check(Job(workflow=[], catalog=list(tasks)))))


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_plugin_is_there(name: str) -> None:
    input_of(source(name))
    if name != "rate":
        output_of(sink(name))


@pytest.mark.parametrize(
    "task",
    [
        source("parquet", path="in", mergeSchema=True, maxFilesPerTrigger=1),
        source("json", path=["a", "b"], mode="permissive"),
        source("csv", path="in", SEP=";"),
        source("text", path="in", wholetext=True),
        source("jdbc", **{"url": "jdbc:x", "table": "t", "driver.ssl": "true"}),
        source("kafka", **{"kafka.bootstrap.servers": "a:1", "subscribe": "t"}),
        source("rate", rows=5, rowsPerSecond="10"),
        source("memory", files=3),
        source("ledger", path="log", max_rows=5),
        source("datasource", format="x", whatever="it wants"),
        sink("parquet", path="out", mode="overwrite", partition_by=["a"]),
        sink("csv", path="out", header=False),
        sink("kafka", **{"kafka.bootstrap.servers": "a:1", "topic": "t", "kafka.acks": "all"}),
        sink("ledger", path="log", key="user"),
    ],
)
def test_options_that_are_right_give_no_problems(task: Task) -> None:
    assert problems(task) == []


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (source("parkett"), "`plugin`: there is no plugin `parkett` (did you mean `parquet`?)"),
        (source("parquet"), "`options.path`: is missing: where the files are"),
        (source("json", path="in", mdoe="x"), "has no such option (did you mean `mode`?)"),
        (source("json", path="in", mode="FAILFST"), "(did you mean `FAILFAST`?)"),
        (source("csv", path="in", maxFilesPerTrigger=0), "a whole number of at least 1, got `0`"),
        (sink("json", path=["a", "b"]), "expected one path"),
        (sink("parquet", path="out", mode="append"), "expected one of `new`, `overwrite`"),
        (source("jdbc", table="t"), "`options.url`: is missing"),
        (source("jdbc", url="jdbc:x"), "name a `table` or write a `query`"),
        (sink("jdbc", url="jdbc:x"), "`options.table`: is missing"),
        (source("kafka", **{"kafka.bootstrap.servers": "a:1"}), "one of `subscribe`"),
        (sink("kafka", **{"kafka.bootstrap.servers": "a:1"}), "`options.topic`: is missing"),
        (source("rate", rows="many"), "a whole number of at least 1, got `many`"),
        (source("ledger"), "`options.path`: is missing"),
        (source("datasource"), "`options.format`: is missing"),
        (sink("rate"), "`rate` is no output"),
        (source("no_such_module:Plugin"), "cannot import `no_such_module`"),
    ],
)
def test_a_wrong_option_is_named_with_the_entry_and_the_nearest_right_one(
    task: Task, expected: str
) -> None:
    (problem,) = problems(task)
    assert problem.startswith(f"catalog entry {task.name}, `")
    assert expected in problem


def test_two_outputs_cannot_be_one_directory() -> None:
    (problem,) = problems(sink("json", "a", path="out"), sink("json", "b", path="out/"))
    assert problem == (
        "catalog entry b, `options.path`: `a` writes to out/ as well: give each a path of its own"
    )


def test_what_runs_without_a_check_is_refused_as_well() -> None:
    with pytest.raises(UnknownPlugin, match="catalog entry out: there is no plugin `jsn`"):
        output_of(sink("jsn"))


class Mine:
    """A plugin of a user's."""

    def check(self, task: Task) -> list[Problem]:
        return [Problem(f"catalog entry {task.name}", "options", "are never right")]

    def read(self, *_: Any) -> None: ...

    def read_stream(self, *_: Any) -> None: ...


def test_a_plugin_of_ones_own_is_named_by_module_and_object() -> None:
    assert isinstance(input_of(source(f"{__name__}:Mine")), Mine)
    assert problems(source(f"{__name__}:Mine")) == ["catalog entry in, `options`: are never right"]
    with pytest.raises(UnknownPlugin, match="is no output: it has no `stage`"):
        output_of(sink(f"{__name__}:Mine"))
