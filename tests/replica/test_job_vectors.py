"""The worked cases of scheduling, put to the log: peers offer, jobs are submitted, peers leave."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.replica.commands import LeaveCluster, OfferSlots, SetJobScheduler, SubmitJob
from remuda.replica.schedule.demand import TaskDemand, ppm_of
from remuda.replica.schedule.plan import plan
from remuda.replica.schedule.slots import Slot
from tests.replica.joblog import JobLog
from tests.vectors import vectors

CASES: list[dict[str, Any]] = vectors("schedulers")["jobs"]


def log_of(case: dict[str, Any], peers: int) -> JobLog:
    """As many peers with one slot each, and the jobs of the case, one after another."""
    log = JobLog(*(f"p{n:02}" for n in range(peers)), slots=1)
    if case["scheduler"] != "greedy":
        log.take(SetJobScheduler(case["scheduler"]))
    percentages = case.get("percentages", {})
    for name, tasks in case["jobs"].items():
        share = ppm_of(percentages[name]) if name in percentages else None
        demands = tuple(TaskDemand(task) for task in tasks)
        log.take(SubmitJob(name, "{}", demands, share_ppm=share))
        log.stop_halting()
    return log


def tasks_of(log: JobLog, case: dict[str, Any]) -> dict[str, list[int]]:
    places = [slot.place for slot in log.replica.slots.values()]
    return {
        job: [
            sum(p is not None and (p.job, p.task) == (job, task) for p in places) for task in tasks
        ]
        for job, tasks in case["jobs"].items()
    }


def check(log: JobLog, case: dict[str, Any]) -> None:
    tasks = tasks_of(log, case)
    for job, counts in case.get("tasks_after", {}).items():
        assert tasks[job] == counts
    for job, total in case.get("job_totals_after", {}).items():
        assert sum(tasks[job]) == total
        assert log.job(job).phase == ("running" if total else "waiting")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_jobs_that_are_submitted_get_what_is_written(case: dict[str, Any]) -> None:
    check(log_of(case, case["peers"]), case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_peers_that_come_later_bring_every_job_to_what_is_written(case: dict[str, Any]) -> None:
    log = log_of(case, 3)
    for n in range(3, case["peers"]):
        log.join(f"p{n:02}")
        log.take(OfferSlots(f"p{n:02}", 1))
        log.stop_halting()
    check(log, case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_peers_that_leave_bring_every_job_to_what_is_written(case: dict[str, Any]) -> None:
    log = log_of(case, case["peers"] + 3)
    for n in (0, 4, 2):
        log.take(LeaveCluster(f"p{n:02}"))
        log.stop_halting()
    check(log, case)


def test_three_nodes_two_jobs_by_percentage_and_a_node_leaves() -> None:
    """4 slots a node: 12 slots are 8 and 4, 8 are 5 and 3, and only what must move moves."""
    log = JobLog("a", "b", "c", slots=4)
    log.take(SetJobScheduler("percentage"))
    log.submit("A", TaskDemand("x"), TaskDemand("y"), percent=66)
    log.submit("B", TaskDemand("x"), percent=34)
    log.stop_halting()
    assert log.totals() == {"A": 8, "B": 4}
    before = {name: slot.place for name, slot in log.replica.slots.items()}
    log.take(LeaveCluster("c"))
    slots = [Slot(name, slot.peer) for name, slot in log.replica.slots.items()]
    places = {name: place for name, place in before.items() if place is not None}
    expected = plan(slots, [log.job("A").demand, log.job("B").demand], "percentage", places)
    log.stop_halting()
    assert log.totals() == {"A": 5, "B": 3}
    assert {name: slot.place for name, slot in log.replica.slots.items()} == expected.places
    assert {job.phase for job in log.replica.jobs.values()} == {"running"}
