"""How a job's graph is cut: what is in one pass, and what Python never sees."""

from __future__ import annotations

from typing import Any

from remuda.pipeline.model.job import Job
from remuda.pipeline.model.reading import read_job
from remuda.pipeline.spark.cut import Cut, Place, cut, refused

FORMS: dict[str, Any] = {"in": None, "out": None, "other": None, "sum": None}


def job_of(workflow: list[list[str]], forms: dict[str, Any], **parts: Any) -> Job:
    names = dict.fromkeys(name for edge in workflow for name in edge)
    more = parts.pop("more", {})
    catalog: list[dict[str, Any]] = []
    for name in names:
        if name == "in":
            entry: dict[str, Any] = {"type": "input", "plugin": "memory"}
        elif name in ("out", "other"):
            entry = {"type": "output", "plugin": "memory"}
        elif name == "sum":
            entry = {"type": "reduce"}
        elif forms[name] == "sql":
            entry = {"type": "function", "sql": "*"}
        else:
            entry = {"type": "function", "fn": f"test:{name}"}
        catalog.append({"name": name, **entry, **more.get(name, {})})
    return read_job({"workflow": workflow, "catalog": catalog, **parts})


def cut_of(workflow: list[list[str]], forms: dict[str, Any], **parts: Any) -> Cut:
    forms = {**FORMS, **forms}
    return cut(job_of(workflow, forms, **parts), forms)


def test_neighbouring_row_tasks_are_one_pass() -> None:
    found = cut_of(
        [["in", "a"], ["a", "b"], ["b", "c"], ["a", "c"], ["c", "out"], ["b", "other"]],
        dict.fromkeys("abc", "row"),
    )
    (only,) = found.passes.values()
    assert only.source == Place("input", "in")
    assert only.steps == ("in", "a", "b", "c")
    assert set(only.destinations) == {Place("output", "out"), Place("output", "other")}
    assert found.links == {}


def test_where_nothing_but_boundaries_follow_there_is_no_pass() -> None:
    found = cut_of([["in", "q"], ["q", "out"], ["q", "other"]], {"q": "sql"})
    assert found.passes == {}
    assert found.links == {
        Place("input", "in"): (Place("task", "q"),),
        Place("task", "q"): (Place("output", "out"), Place("output", "other")),
    }
    assert found.uses_of(Place("task", "q")) == 2


def test_a_condition_after_a_boundary_makes_a_pass() -> None:
    found = cut_of(
        [["in", "q"], ["q", "out"], ["q", "other"]],
        {"q": "sql"},
        flow_conditions=[{"from": "q", "to": ["out"], "predicate": "test:p"}],
    )
    assert list(found.passes) == [Place("task", "q")]
    assert not found.passes[Place("task", "q")].runs_first


def test_a_boundary_ends_one_pass_and_begins_another() -> None:
    found = cut_of(
        [["in", "a"], ["a", "q"], ["q", "b"], ["b", "out"]],
        {"a": "row", "q": "arrow", "b": "row"},
    )
    assert [(p.source, p.steps, p.destinations) for p in found.passes.values()] == [
        (Place("input", "in"), ("in", "a"), (Place("task", "q"),)),
        (Place("task", "q"), ("q", "b"), (Place("output", "out"),)),
    ]


def test_a_row_task_that_several_producers_lead_to_is_in_the_pass_of_each() -> None:
    found = cut_of([["in", "q"], ["in", "a"], ["q", "a"], ["a", "out"]], {"q": "sql", "a": "row"})
    assert {place: p.steps for place, p in found.passes.items()} == {
        Place("input", "in"): ("in", "a"),
        Place("task", "q"): ("q", "a"),
    }
    assert found.links == {Place("input", "in"): (Place("task", "q"),)}
    assert found.sources_of(Place("output", "out")) == [Place("input", "in"), Place("task", "q")]


WINDOWS: dict[str, Any] = {
    "windows": [{"id": "w", "task": "sum", "type": "global", "aggregation": "count"}],
    "triggers": [{"id": "t", "window": "w", "on": "timer", "period": 1, "emit": "test:e"}],
}


def test_windows_without_a_function_stay_out_of_python() -> None:
    found = cut_of([["in", "sum"], ["sum", "out"]], {}, **WINDOWS)
    assert found.passes == {}
    assert found.links[Place("windows", "sum")] == (Place("output", "out"),)


def test_the_function_of_a_windowed_task_hands_its_rows_to_the_windows() -> None:
    found = cut_of(
        [["in", "sum"], ["sum", "out"]],
        {"sum": "row"},
        more={"sum": {"fn": "test:f"}},
        **WINDOWS,
    )
    (only,) = found.passes.values()
    assert only.destinations == (Place("windows", "sum"),)
    assert found.links == {Place("windows", "sum"): (Place("output", "out"),)}


def test_a_grouped_task_begins_a_pass_with_its_function() -> None:
    found = cut_of([["in", "a"], ["a", "out"]], {"a": "row"}, more={"a": {"group_by": "k"}})
    assert found.links == {Place("input", "in"): (Place("group", "a"),)}
    assert found.passes[Place("group", "a")].runs_first


def test_inputs_and_outputs_may_have_functions() -> None:
    found = cut_of(
        [["in", "out"]],
        {"in": "row", "out": "row"},
        more={"in": {"fn": "test:f"}, "out": {"fn": "test:g"}},
    )
    (only,) = found.passes.values()
    assert only.runs_first
    assert only.steps == ("in", "out")
    assert only.destinations == (Place("output", "out"),)


def test_what_the_forms_do_not_allow_is_refused() -> None:
    forms: dict[str, Any] = {**FORMS, "q": "sql"}
    job = job_of(
        [["in", "q"], ["q", "out"]],
        forms,
        flow_conditions=[{"from": "q", "to": ["out"], "thrown_exception": True}],
        lifecycles=[{"task": "q", "start": "test:s"}, {"task": "all", "start": "test:s"}],
    )
    found = [str(problem) for problem in refused(job, forms)]
    assert len(found) == 2
    assert "what it raises belongs to no row" in found[0]
    assert "no Python runs around `q`" in found[1]
