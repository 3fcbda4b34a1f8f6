"""What each command about jobs does, and what it refuses to do."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from remuda.replica.command import Stamp
from remuda.replica.commands import (
    AckTask,
    AnyCommand,
    CompleteJob,
    Gc,
    KillJob,
    LeaveCluster,
    OfferSlots,
    Rebalance,
    ReleaseJob,
    ResumeJob,
    RevokeTask,
    SealTask,
    SetJobScheduler,
    SubmitJob,
)
from remuda.replica.commands.submit_job import ENDED_MAX, SPEC_BYTES_MAX
from remuda.replica.entry import Entry
from remuda.replica.fold import play
from remuda.replica.jobs import JobState, OfferedSlot
from remuda.replica.schedule.demand import JobDemand, TaskDemand
from remuda.replica.schedule.slots import Place
from remuda.replica.schedule.states import SlotState, may_move
from remuda.replica.state import decode_replica, encode_replica
from tests.replica.joblog import JobLog

ONE = (TaskDemand("t"),)


def running(*members: str, tasks: tuple[TaskDemand, ...] = ONE, slots: int = 2) -> JobLog:
    """A job `J` on all the slots of these members."""
    log = JobLog(*(members or ("a", "b")), slots=slots)
    log.submit("J", *tasks)
    log.ack_all()
    assert log.job("J").phase == "running"
    return log


# ── slots ────────────────────────────────────────────────────────────────────────────────────


def test_slots_are_named_after_their_member_and_begin_idle() -> None:
    log = JobLog("a", slots=0)
    played = log.take(OfferSlots("a", 2, ("gpu",)))
    assert list(map(str, played.facts)) == ["a offers 2 slots"]
    assert log.replica.slots == {
        "a/0": OfferedSlot("a", ("gpu",)),
        "a/1": OfferedSlot("a", ("gpu",)),
    }


@pytest.mark.parametrize("offer", [OfferSlots("x", 2), OfferSlots("a", -1), OfferSlots("a", 2)])
def test_an_offer_by_a_stranger_or_of_nothing_new_is_refused(offer: OfferSlots) -> None:
    JobLog("a").refuse(offer)


def test_a_member_that_offers_less_keeps_the_slots_that_work() -> None:
    log = JobLog("a", slots=3)
    log.submit("J", TaskDemand("t", n_slots=1))
    log.ack_all()
    log.take(OfferSlots("a", 1))
    assert log.states("J") == {"a/0": SlotState.ACTIVE}
    assert list(log.replica.slots) == ["a/0"]
    assert log.job("J").is_driven


def test_a_slot_that_works_and_is_withdrawn_goes_when_its_driver_has_stopped() -> None:
    log = running("a", "b")
    log.take(OfferSlots("a", 0))
    assert log.states("J")["a/0"] is SlotState.WAITING
    assert log.job("J").halting
    log.stop_halting()
    assert sorted(log.replica.slots) == ["b/0", "b/1"]
    assert log.job("J").lead == "b"


def test_a_slot_id_is_never_used_twice() -> None:
    log = JobLog("a")
    log.take(OfferSlots("a", 0))
    assert not log.replica.slots
    log.take(OfferSlots("a", 2))
    assert sorted(log.replica.slots) == ["a/2", "a/3"]


# ── submitting ───────────────────────────────────────────────────────────────────────────────


def test_a_job_is_told_to_slots_and_runs_when_all_have_acked() -> None:
    log = JobLog("a", "b")
    played = log.submit("J")
    assert list(map(str, played.facts)) == ["J is submitted", "J is given 4 slots"]
    assert set(log.states("J").values()) == {SlotState.ACKING}
    told = log.replica.position
    log.take(AckTask(peer="b", slots={"b/0": told, "b/1": told}))
    assert (log.job("J").phase, log.job("J").lead) == ("starting", None)
    assert log.job("J").reason == "2 of its 4 slots are yet to begin"
    played = log.take(AckTask(peer="a", slots={"a/0": told, "a/1": told}))
    job = log.job("J")
    assert (job.phase, job.lead, job.epoch) == ("running", "a", log.replica.position)
    assert list(map(str, played.facts)) == [
        "2 slots of a acked",
        f"a leads J under epoch {told + 2}",
    ]


def test_the_lead_is_whoever_has_most_slots_then_the_first_by_name() -> None:
    log = JobLog("a", "b", "c", slots=0)
    for peer, slots in (("a", 1), ("c", 2), ("b", 2)):
        log.take(OfferSlots(peer, slots))
    log.submit("J")
    log.ack_all()
    assert log.job("J").lead == "b"


def test_a_job_that_cannot_be_scheduled_says_why() -> None:
    log = JobLog("a", "b")
    played = log.submit("J", TaskDemand("t", min_slots=6))
    assert (log.job("J").phase, log.job("J").reason) == ("waiting", "needs 6 slots, 4 exist")
    assert str(played.facts[-1]) == "J waits: needs 6 slots, 4 exist"
    log.join("c")
    log.take(OfferSlots("c", 2))
    assert log.job("J").phase == "starting"


def test_the_same_job_again_changes_nothing_and_another_under_its_id_is_refused() -> None:
    log = running()
    before = log.replica.jobs
    again = log.put(SubmitJob("J", "spec of J", ONE))
    assert (again.rejected, list(again.facts), log.replica.jobs) == (None, [], before)
    assert "another job" in log.refuse(SubmitJob("J", "other", ONE))
    assert "another job" in log.refuse(SubmitJob("J", "spec of J", (TaskDemand("u"),)))
    log.finish("J")
    assert log.put(SubmitJob("J", "spec of J", ONE)).rejected is None
    assert log.job("J").phase == "completed"


@pytest.mark.parametrize(
    ("job", "spec", "tasks", "why"),
    [
        ("", "", ONE, "printable"),
        ("a/b", "", ONE, "slash"),
        ("J", "", (), "no tasks"),
        ("J", "x" * SPEC_BYTES_MAX, ONE, "bytes"),
        ("J", "\0" * (SPEC_BYTES_MAX // 5), ONE, "bytes"),
        ("J", "", tuple(TaskDemand(f"task-{n}") for n in range(20_000)), "bytes"),
    ],
    ids=["empty id", "slash", "no tasks", "large", "large when encoded", "many tasks"],
)
def test_what_no_cluster_would_take_is_refused(
    job: str, spec: str, tasks: tuple[TaskDemand, ...], why: str
) -> None:
    assert why in JobLog("a").refuse(SubmitJob(job, spec, tasks))


def test_of_jobs_that_ended_the_earliest_are_forgotten_in_the_end() -> None:
    log = JobLog("a")
    ended = {
        f"old-{n}": JobState("", JobDemand(f"old-{n}", n, ONE), "killed", "so")
        for n in range(ENDED_MAX + 1)
    }
    log.replica = replace(log.replica, jobs=ended, position=1000)
    played = log.submit("J")
    assert "old-0" not in log.replica.jobs
    assert "old-1" in log.replica.jobs
    assert str(played.facts[0]) == "old-0 is forgotten"


# ── acks ─────────────────────────────────────────────────────────────────────────────────────


def test_an_ack_of_what_a_slot_was_told_before_or_by_another_is_refused() -> None:
    log = JobLog("a", "b")
    log.submit("J")
    told = log.replica.slots["a/0"].told
    for ack in (
        AckTask(peer="a", slots={"a/0": told - 1}),
        AckTask(peer="b", slots={"a/0": told}),
        AckTask(peer="a", slots={"nothing": told}),
        AckTask(peer="a", slots={}),
    ):
        log.refuse(ack)


def test_a_slot_that_acks_for_a_job_that_has_ended_is_let_go_at_once() -> None:
    log = JobLog("a")
    log.submit("J")
    log.take(KillJob("J", "so"))
    assert set(log.states("J").values()) == {SlotState.ACKING}
    log.ack_all()
    assert {slot.state for slot in log.replica.slots.values()} == {SlotState.IDLE}


def test_a_slot_that_acks_for_one_job_and_is_wanted_for_another_is_told_so_at_once() -> None:
    log = JobLog("a")
    log.submit("J")
    log.submit("K")
    log.take(KillJob("J", "so"))
    log.ack_all()
    assert (log.job("K").phase, log.totals()) == ("running", {"K": 2})


def test_a_slot_that_does_not_ack_is_revoked_and_replaced_when_its_member_says_so() -> None:
    log = JobLog("a", "b")
    log.submit("J", TaskDemand("t", n_slots=1))
    told = log.replica.slots["a/0"].told
    played = log.take(RevokeTask({"a/0": told}))
    assert str(played.facts[0]) == "a/0 did not ack in time"
    assert log.replica.slots["a/0"].state is SlotState.REVOKED
    assert log.states("J") == {"a/1": SlotState.ACKING}
    log.refuse(AckTask(peer="a", slots={"a/0": told}))
    log.take(OfferSlots("a", 2))
    assert sorted(log.replica.slots) == ["a/1", "a/2", "b/0", "b/1"]


NAMING_SLOTS: dict[SlotState, AnyCommand] = {
    SlotState.ACTIVE: AckTask(peer="a", slots={"a/0": 0}),
    SlotState.REVOKED: RevokeTask({"a/0": 0}),
    SlotState.DEAD: LeaveCluster("a"),
}


@pytest.mark.parametrize(
    ("state", "to"),
    [*itertools.product([s for s in SlotState if s is not SlotState.DEAD], NAMING_SLOTS)],
    ids=str,
)
def test_a_command_takes_a_slot_the_ways_that_exist_and_no_other(
    state: SlotState, to: SlotState
) -> None:
    log = JobLog("a", "b", slots=1)
    log.submit("J", TaskDemand("t", n_slots=1))
    slot = replace(log.replica.slots["a/0"], state=state, told=0)
    stamp = Stamp(log.replica.position + 1, "by", 0)
    replica = replace(log.replica, slots={**log.replica.slots, "a/0": slot})
    played = play(replica, Entry("id", stamp, NAMING_SLOTS[to]))
    assert (played.rejected is None) == may_move(state, to)
    if played.rejected is not None:
        assert played.rejected.startswith(f"a slot that is {state} can become ")
        assert played.replica.slots == replica.slots
    elif to is SlotState.DEAD:
        assert "a/0" not in played.replica.slots
    else:
        assert played.replica.slots["a/0"].state is to


# ── sealing ──────────────────────────────────────────────────────────────────────────────────


def test_the_log_picks_one_sealer_and_the_others_wait_for_it() -> None:
    log = running()
    job = log.job("J")
    played = log.take(SealTask("J", "a", job.epoch, '{"rows":5}'))
    assert [str(fact) for fact in played.facts] == ["a/0 seals J"]
    assert log.states("J") == {
        "a/0": SlotState.SEALING,
        "a/1": SlotState.WAITING,
        "b/0": SlotState.WAITING,
        "b/1": SlotState.WAITING,
    }
    assert "picked to seal" in log.refuse(SealTask("J", "a", job.epoch, "{}"))
    log.take(CompleteJob("J", "a", job.epoch))
    done = log.job("J")
    assert (done.phase, done.sealer, done.outcome) == ("completed", "a/0", '{"rows":5}')
    assert {slot.state for slot in log.replica.slots.values()} == {SlotState.IDLE}


def test_who_does_not_lead_or_led_before_can_neither_seal_nor_complete_nor_release() -> None:
    log = running()
    old = log.job("J").epoch
    log.take(ReleaseJob("J", "a", old, "its driver was killed"))
    log.ack_all()
    new = log.job("J").epoch
    assert new > old
    for peer, epoch in (("a", old), ("b", new), ("x", new)):
        assert "does not lead" in log.refuse(SealTask("J", peer, epoch, "{}"))
        assert "does not lead" in log.refuse(CompleteJob("J", peer, epoch))
        assert "does not lead" in log.refuse(ReleaseJob("J", peer, epoch))
        assert "does not lead" in log.refuse(KillJob("J", "it failed", peer, epoch))
    assert "nobody was picked" in log.refuse(CompleteJob("J", "a", new))


def test_when_the_sealer_dies_another_one_seals_under_a_new_epoch_with_one_slot() -> None:
    log = running(tasks=(TaskDemand("t", min_slots=4),))
    log.stage("J")
    before = log.job("J")
    log.take(LeaveCluster("a"))
    log.ack_all()
    job = log.job("J")
    assert (job.phase, job.lead, job.sealer) == ("sealing", "b", "b/0")
    assert job.epoch > before.epoch
    assert job.outcome == before.outcome
    log.finish("J")


def test_what_is_staged_can_no_longer_be_killed_except_by_its_lead() -> None:
    log = running()
    log.stage("J")
    assert "being published" in log.refuse(KillJob("J", "so"))
    log.take(KillJob("J", "the disk is full", "a", log.job("J").epoch))
    log.take(ResumeJob("J"))
    log.ack_all()
    assert log.job("J").phase == "sealing"


def test_an_outcome_that_is_too_large_for_the_log_is_refused() -> None:
    log = running()
    assert "bytes" in log.refuse(SealTask("J", "a", log.job("J").epoch, "x" * 70_000))


# ── killing and resuming ─────────────────────────────────────────────────────────────────────


def test_a_killed_job_keeps_its_slots_until_its_driver_has_stopped() -> None:
    log = running()
    epoch = log.job("J").epoch
    played = log.take(KillJob("J", "it is too slow"))
    assert [str(fact) for fact in played.facts] == ["J is killed: it is too slow"]
    assert set(log.states("J").values()) == {SlotState.WAITING}
    log.submit("K")
    assert not log.states("K")
    log.take(ReleaseJob("J", "a", epoch))
    assert set(log.states("K").values()) == {SlotState.ACKING}
    assert "killed already" in log.refuse(KillJob("J", "again"))


def test_a_job_that_fails_frees_its_slots_at_once() -> None:
    log = running()
    log.take(KillJob("J", "orders.py line 7: no such key", "a", log.job("J").epoch))
    job = log.job("J")
    assert (job.phase, job.reason, job.lead) == ("killed", "orders.py line 7: no such key", None)
    assert not log.states("J")


def test_a_job_that_fails_after_it_was_killed_keeps_the_first_reason() -> None:
    log = running()
    epoch = log.job("J").epoch
    log.take(KillJob("J", "so"))
    log.take(KillJob("J", "interrupted", "a", epoch))
    assert (log.job("J").reason, log.job("J").lead) == ("so", None)


def test_only_a_killed_job_can_be_resumed_and_its_next_epoch_is_greater() -> None:
    log = running()
    assert "only a job that was killed" in log.refuse(ResumeJob("J"))
    assert "no job" in log.refuse(ResumeJob("X"))
    epoch = log.job("J").epoch
    log.take(KillJob("J", "so"))
    log.take(ReleaseJob("J", "a", epoch))
    assert str(log.take(ResumeJob("J")).facts[0]) == "J is resumed"
    log.ack_all()
    assert log.job("J").epoch > epoch
    log.finish("J")
    assert "only a job that was killed" in log.refuse(ResumeJob("J"))


def test_a_job_that_is_resumed_while_its_driver_stops_waits_for_that() -> None:
    log = running()
    epoch = log.job("J").epoch
    log.take(KillJob("J", "so"))
    log.take(ResumeJob("J"))
    assert log.job("J").phase == "starting"
    assert log.job("J").reason.startswith("its driver has yet to stop")
    log.take(ReleaseJob("J", "a", epoch))
    log.ack_all()
    assert log.job("J").phase == "running"


# ── losses ───────────────────────────────────────────────────────────────────────────────────


def test_when_the_lead_dies_the_next_one_leads_under_a_new_epoch() -> None:
    log = running("a", "b", "c")
    epoch = log.job("J").epoch
    played = log.take(LeaveCluster("a"))
    job = log.job("J")
    assert (job.phase, job.lead, job.restarts) == ("running", "b", 1)
    assert job.epoch == log.replica.position > epoch
    assert f"b leads J under epoch {job.epoch}" in map(str, played.facts)


@pytest.mark.parametrize(
    ("flux", "phase", "halts"),
    [("continue", "running", False), ("recover", "starting", True), ("kill", "killed", True)],
)
def test_the_policy_of_a_task_says_what_the_loss_of_its_slot_leads_to(
    flux: Any, phase: str, halts: bool
) -> None:
    log = running("a", "b", "c", tasks=(TaskDemand("t", flux=flux),))
    epoch = log.job("J").epoch
    log.take(LeaveCluster("c"))
    job = log.job("J")
    assert (job.phase, bool(job.halting), job.lead, job.epoch) == (phase, halts, "a", epoch)
    log.stop_halting()
    if phase == "starting":
        assert (log.job("J").phase, log.job("J").restarts) == ("running", 1)
        assert log.job("J").epoch > epoch


def test_the_loss_of_a_slot_that_had_not_begun_does_not_concern_the_driver() -> None:
    log = running("a")
    log.join("b")
    log.take(OfferSlots("b", 2))
    assert log.states("J")["b/0"] is SlotState.ACKING
    log.take(LeaveCluster("b"))
    assert log.job("J").is_driven


def test_when_the_lead_of_a_killed_job_dies_its_slots_are_free() -> None:
    log = running("a", "b")
    log.take(KillJob("J", "so"))
    log.take(LeaveCluster("a"))
    assert {slot.state for slot in log.replica.slots.values()} == {SlotState.IDLE}


# ── moving ───────────────────────────────────────────────────────────────────────────────────


def test_slots_that_the_plan_takes_move_when_the_driver_has_stopped() -> None:
    log = running(slots=2)
    log.take(SetJobScheduler("balanced"))
    log.submit("K")
    assert log.job("J").halting
    assert sorted(log.states("J").values()) == ["active", "active", "waiting", "waiting"]
    assert not log.states("K")
    log.stop_halting()
    assert log.totals() == {"J": 2, "K": 2}
    assert (log.job("J").restarts, log.job("K").restarts) == (1, 0)


def test_a_job_whose_tasks_go_on_lets_slots_go_without_a_restart() -> None:
    log = running(tasks=(TaskDemand("t", flux="continue"),))
    log.take(SetJobScheduler("balanced"))
    log.submit("K")
    log.ack_all()
    assert log.totals() == {"J": 2, "K": 2}
    assert log.job("J").restarts == 0


def test_what_a_job_gains_does_not_disturb_it() -> None:
    log = running("a")
    epoch = log.job("J").epoch
    log.join("b")
    log.take(OfferSlots("b", 2))
    log.ack_all()
    assert log.totals() == {"J": 4}
    assert (log.job("J").epoch, log.job("J").is_driven) == (epoch, True)


def test_under_greedy_what_is_submitted_later_disturbs_nobody() -> None:
    log = running()
    slots = log.replica.slots
    log.submit("K")
    assert log.replica.slots == slots
    assert log.job("K").reason == "waits: job J, submitted earlier, has all of them"


def test_the_scheduler_is_set_for_all_jobs_and_once_is_enough() -> None:
    log = JobLog("a")
    assert str(log.take(SetJobScheduler("balanced")).facts[0]) == "jobs are scheduled by balanced"
    assert "already" in log.refuse(SetJobScheduler("balanced"))


# ── the replica ──────────────────────────────────────────────────────────────────────────────


def test_a_replica_without_jobs_is_encoded_as_it_always_was() -> None:
    encoded = encode_replica(JobLog("a", slots=0).replica)
    assert encoded == b'{"members":["a"],"peers":{"a":{"host":"host","pid":1}},"position":0}'


def test_an_origin_keeps_everything_about_jobs() -> None:
    log = running()
    log.take(SetJobScheduler("percentage"))
    log.submit("K", percent=40)
    log.stop_halting()
    again = decode_replica(encode_replica(log.replica))
    assert again == log.replica
    assert encode_replica(again) == encode_replica(log.replica)
    assert again.slots["a/0"].place == Place("K", "t")


@pytest.mark.parametrize("command", [Gc(), Rebalance("pool")], ids=str)
def test_commands_about_other_things_do_not_look_at_jobs(command: AnyCommand) -> None:
    log = running()
    slots, jobs = log.replica.slots, log.replica.jobs
    log.put(command)
    assert log.replica.slots is slots
    assert log.replica.jobs is jobs


def test_a_peer_without_slots_leaves_without_a_look_at_jobs() -> None:
    log = running()
    log.join("c")
    slots, jobs = log.replica.slots, log.replica.jobs
    log.take(LeaveCluster("c"))
    assert log.replica.slots is slots
    assert log.replica.jobs is jobs
