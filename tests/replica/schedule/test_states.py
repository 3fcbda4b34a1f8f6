"""A slot's states, and what follows when one is lost."""

from __future__ import annotations

import itertools

import pytest

from remuda.replica.command import Rejected
from remuda.replica.schedule.demand import Flux, TaskDemand
from remuda.replica.schedule.flux import AfterLoss, Outcome, after_loss, after_losses
from remuda.replica.schedule.states import SlotState
from remuda.replica.schedule.transition import moved
from tests.replica.schedule.demands import job_of

ALLOWED = {
    "idle": ["acking", "dead"],
    "acking": ["active", "revoked", "dead"],
    "active": ["sealing", "waiting", "dead"],
    "waiting": ["idle", "dead"],
    "sealing": ["idle", "dead"],
    "revoked": ["dead"],
    "dead": [],
}


def test_there_are_exactly_these_states() -> None:
    assert sorted(SlotState) == sorted(ALLOWED)


@pytest.mark.parametrize(("state", "to"), list(itertools.product(SlotState, SlotState)))
def test_a_slot_goes_the_ways_that_exist_and_no_other(state: SlotState, to: SlotState) -> None:
    outcome = moved(state, to)
    if to in ALLOWED[state]:
        assert outcome is to
    else:
        assert isinstance(outcome, Rejected)
        assert state in outcome.reason
        assert to in outcome.reason


@pytest.mark.parametrize(
    ("flux", "outcome"),
    [("continue", "task-goes-on"), ("recover", "task-restarts"), ("kill", "job-is-killed")],
)
def test_the_flux_policy_of_a_task_says_what_its_loss_of_a_slot_leads_to(
    flux: Flux, outcome: Outcome
) -> None:
    after = after_loss(TaskDemand("a", flux=flux), "s1")
    assert after.outcome == outcome
    assert "s1" in after.reason
    assert "a" in after.reason
    assert after_loss(TaskDemand("a"), "s1", flux) == after


def test_of_several_losses_the_gravest_decides() -> None:
    job = job_of(
        "A",
        TaskDemand("a", flux="continue"),
        TaskDemand("b", flux="kill"),
        TaskDemand("c", flux="recover"),
    )
    assert after_losses(job, {}) is None
    assert after_losses(job, {"s1": "a"}) == after_loss(job.tasks[0], "s1")
    assert after_losses(job, {"s3": "c", "s2": "c", "s1": "a"}) == after_loss(job.tasks[2], "s2")
    killed = after_losses(job, {"s1": "a", "s2": "b", "s3": "c"})
    assert isinstance(killed, AfterLoss)
    assert killed.outcome == "job-is-killed"
