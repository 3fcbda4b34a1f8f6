# Jobs are plain data of any shape here, as users write them.
# pyright: basic
"""A job that cannot be is refused with everything that is wrong with it, at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from remuda.errors import BadConfig
from remuda.pipeline.model.problems import BadJob
from remuda.pipeline.model.reading import read_job

GOOD: dict[str, Any] = {
    "workflow": [["read", "parse"], ["parse", "sum"], ["sum", "write"]],
    "catalog": [
        {"name": "read", "type": "input", "plugin": "json", "options": {"path": "x"}},
        {"name": "parse", "type": "function", "fn": "app:parse"},
        {"name": "sum", "type": "reduce", "group-by": "id"},
        {"name": "write", "type": "output", "plugin": "parquet"},
    ],
    "flow-conditions": [{"from": "parse", "to": ["sum"], "predicate": {"not": "app:is_bad"}}],
    "windows": [
        {
            "id": "hourly",
            "task": "sum",
            "type": "fixed",
            "time": "at",
            "range": "1 hour",
            "aggregation": ["sum", "amount"],
        }
    ],
    "triggers": [{"id": "each", "window": "hourly", "on": "watermark", "emit": "app:row"}],
    "lifecycles": [{"task": "all", "start": "app:begin"}],
    "metadata": {"owner": "data"},
}


def changed(**parts: Any) -> dict[str, Any]:
    return {**GOOD, **parts}


def problems_of(job: Any) -> list[str]:
    with pytest.raises(BadJob) as raised:
        read_job(job)
    return [str(problem) for problem in raised.value.problems]


def test_a_job_reads_the_same_from_python_json_and_yaml(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(json.dumps(GOOD))
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(GOOD))
    job = read_job(GOOD)
    assert read_job(tmp_path / "job.json") == job
    assert read_job(tmp_path / "job.yaml") == job
    assert job.task("sum").group_by == "id"


def test_all_problems_are_reported_at_once() -> None:
    job = changed(
        catalog=[
            {"name": "read", "type": "inputt", "plugin": "json"},
            {"name": "parse", "type": "function", "fnn": "app:parse", "max_peers": "many"},
            {"name": "sum", "type": "reduce"},
            {"type": "output", "plugin": "parquet"},
        ]
    )
    assert problems_of(job) == [
        "catalog entry read, `type`: expected one of `input`, `function`, `output`, `reduce`, "
        "got `inputt`",
        "catalog entry parse, `fnn`: is not a key of it (did you mean `fn`?)",
        "catalog entry parse, `max_peers`: expected a whole number, got `many`",
        "catalog entry 4, `name`: is missing",
    ]


def edge(*pairs: tuple[str, str]) -> list[list[str]]:
    return [[*pair] for pair in pairs]


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"workflow": []}, "workflow: has no edges"),
        (
            {"workflow": [*GOOD["workflow"], ["sum", "parse"]]},
            "goes round in a circle: parse → sum → parse",
        ),
        (
            {"workflow": edge(("read", "prase"), ("prase", "sum"), ("sum", "write"))},
            "the task `prase` is not in the catalog (did you mean `parse`?)",
        ),
        (
            {"workflow": edge(("read", "parse"), ("parse", "write"))},
            "catalog entry sum: is not in the workflow",
        ),
        ({"workflow": edge(("parse", "sum"), ("sum", "write"))}, "nothing leads to it"),
        ({"flow_conditions": [{"from": "pars", "to": "all"}]}, "did you mean `parse`?"),
        (
            {"flow_conditions": [{"from": "parse", "to": ["write"]}]},
            "`write` does not follow `parse`",
        ),
        (
            {"flow_conditions": [{"from": "parse", "to": "all", "predicate": {"nand": []}}]},
            "flow condition parse, `predicate`: expected a function's name",
        ),
        (
            {"flow_conditions": [{"from": "parse", "to": "all", "retry": 2}]},
            "only what was raised can be tried again",
        ),
        (
            {
                "flow_conditions": [
                    {"from": "parse", "to": "all"},
                    {"from": "parse", "to": "none", "short_circuit": True},
                ]
            },
            "put it before",
        ),
        ({"triggers": []}, "a reduce task needs a window with a trigger"),
        ({"task_scheduler": "percentage"}, "catalog entry read, `percentage`: is missing"),
        ({"wrokflow": []}, "`wrokflow`: is not a key of it (did you mean `workflow`?)"),
        ({"windows": "hourly"}, "`windows`: expected a list"),
        ({"lifecycles": [{"task": "sumn"}]}, "did you mean `sum`?"),
        ({"id": "a/b"}, "the job, `id`: expected up to 100 letters"),
        ({"every": 5}, "only a continuous job has one, and this is batch"),
        ({"mode": "continuous", "every": "soon"}, "`every`: expected a number or text like"),
        ({"mode": "sometimes"}, "expected one of `batch`, `available-now`, `continuous`"),
        ({"partitions": 0}, "`partitions`: expected at least 1, got 0"),
    ],
)
def test_a_problem_names_the_entry_and_what_to_do(parts: dict[str, Any], problem: str) -> None:
    assert any(problem in found for found in problems_of(changed(**parts)))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"time": None}, "window hourly, `time`: is missing: a fixed window needs it"),
        ({"range": None}, "`range`: is missing"),
        ({"gap": 5}, "`gap`: a fixed window has none"),
        ({"range": "soon"}, "expected a number or text like `5 minutes`, got `soon`"),
        ({"range": 0}, "expected more than nothing"),
        ({"lateness": "-1"}, "`lateness`: expected a number or text"),
        ({"task": "sun"}, "there is no task `sun` (did you mean `sum`?)"),
        ({"task": "read"}, "`read` is an input"),
        ({"aggregation": "summ"}, "there is no aggregation `summ` (did you mean `sum`?)"),
        ({"aggregation": "sum"}, "`sum` needs a column: [sum, column]"),
    ],
)
def test_a_window_that_cannot_be_is_refused(change: dict[str, Any], problem: str) -> None:
    window = {k: v for k, v in {**GOOD["windows"][0], **change}.items() if v is not None}
    assert any(problem in found for found in problems_of(changed(windows=[window])))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"window": "hourli"}, "did you mean `hourly`?"),
        ({"on": "segments"}, "`threshold`: is missing: a trigger on segments needs it"),
        ({"threshold": 3}, "`threshold`: a trigger on watermark has none"),
        ({"emit": None}, "does nothing"),
    ],
)
def test_a_trigger_that_cannot_be_is_refused(change: dict[str, Any], problem: str) -> None:
    trigger = {k: v for k, v in {**GOOD["triggers"][0], **change}.items() if v is not None}
    assert any(problem in found for found in problems_of(changed(triggers=[trigger])))


def test_ten_thousand_tasks_are_refused_in_one_line() -> None:
    catalog = [{"name": f"t{n}", "type": "function", "fn": "app:x"} for n in range(10_000)]
    workflow = [[f"t{n}", f"t{n + 1}"] for n in range(9_999)]
    (problem,) = problems_of({"workflow": workflow, "catalog": catalog})
    assert "10,000 tasks" in problem


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("job.json", "{", "is not JSON"),
        ("job.yaml", "a: [", "is not YAML"),
        ("none.json", None, "cannot read"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(
    tmp_path: Path, name: str, text: str | None, hint: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(BadConfig, match=hint) as raised:
        read_job(tmp_path / name)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("job", [None, [], "text", 3])
def test_what_is_no_mapping_is_no_job(job: Any, tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(json.dumps(job))
    assert problems_of(tmp_path / "job.json") == [
        f"the job: expected a mapping, got {'a list' if job == [] else f'`{job}`'}"
    ]


def test_words_that_yaml_once_took_for_booleans_are_words(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(
        """
workflow: [[in, sums], [sums, no]]
catalog:
  - {name: in, type: input, plugin: memory}
  - {name: sums, type: reduce}
  - {name: no, type: output, plugin: memory}
windows: [{id: all, task: sums, type: fixed, time: at, range: 5, aggregation: count}]
triggers: [{id: end, window: all, on: watermark, emit: app:row}]
audit: true
"""
    )
    job = read_job(file)
    assert (job.triggers[0].on, job.workflow[1][1], job.audit) == ("watermark", "no", True)
