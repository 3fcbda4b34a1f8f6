"""The worked cases of scheduling."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.replica.schedule.demand import JobDemand, TaskDemand, ppm_of
from remuda.replica.schedule.plan import Schedule, plan
from remuda.replica.schedule.slots import Slot
from tests.replica.schedule.demands import slots_of, slots_on, totals
from tests.vectors import vectors

CASES: dict[str, list[dict[str, Any]]] = vectors("schedulers")

ASKED = {"scheduler", "peers", "sites", "jobs", "tasks", "percentages", "min", "max", "n"}
EXPECTED = {"tasks_after", "job_totals_after", "sites_used"}


def slots_in(case: dict[str, Any]) -> list[Slot]:
    assert set(case) <= ASKED | EXPECTED, "the case says what this reader does not know"
    assert set(case) & EXPECTED
    return slots_on(case["sites"]) if "sites" in case else slots_of(case["peers"])


def tasks_of(names: list[str], asked: dict[str, list[Any]]) -> tuple[TaskDemand, ...]:
    """What a case does not say of a task is None there, or left out."""

    def value(key: str, number: int) -> Any:
        return asked[key][number] if key in asked else None

    return tuple(
        TaskDemand(
            name,
            min_slots=value("min", number),
            max_slots=value("max", number),
            n_slots=value("n", number),
            share_ppm=None
            if value("percentages", number) is None
            else ppm_of(value("percentages", number)),
        )
        for number, name in enumerate(names)
    )


def check(case: dict[str, Any], schedule: Schedule) -> None:
    for job, count in case.get("job_totals_after", {}).items():
        assert totals(schedule)[job] == count
    for job in schedule.counts:
        assert (job in schedule.waiting) == (totals(schedule)[job] == 0)


@pytest.mark.parametrize("case", CASES["jobs"], ids=str)
def test_every_job_gets_as_many_slots_as_written(case: dict[str, Any]) -> None:
    asked = {key: case[key] for key in ("min", "max", "n") if key in case}
    percentages = case.get("percentages", {})
    jobs = [
        JobDemand(
            name,
            number,
            tasks_of(tasks, {key: of[name] for key, of in asked.items() if name in of}),
            share_ppm=ppm_of(percentages[name]) if name in percentages else None,
        )
        for number, (name, tasks) in enumerate(case["jobs"].items())
    ]
    schedule = plan(slots_in(case), jobs, case["scheduler"])
    check(case, schedule)
    for job, counts in case.get("tasks_after", {}).items():
        assert list(schedule.counts[job]) == counts


@pytest.mark.parametrize("case", CASES["tasks"], ids=str)
def test_every_task_gets_as_many_slots_as_written(case: dict[str, Any]) -> None:
    asked = {key: case[key] for key in ("min", "max", "n", "percentages") if key in case}
    number = case["tasks"] if "tasks" in case else len(next(iter(asked.values())))
    names = [f"t{n}" for n in range(number)]
    slots = slots_in(case)
    job = JobDemand("A", 0, tasks_of(names, asked), case["scheduler"])
    schedule = plan(slots, [job], "greedy")
    check(case, schedule)
    if "tasks_after" in case:
        assert list(schedule.counts["A"]) == case["tasks_after"]
    if "sites_used" in case:
        used = {slot.site for slot in slots if slot.id in schedule.places}
        assert sorted(used) == sorted(case["sites_used"])
