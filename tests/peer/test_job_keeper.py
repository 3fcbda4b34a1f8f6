"""What one peer does about jobs, one situation at a time."""

from __future__ import annotations

from typing import TypeAlias

import pytest

from remuda.peer.job_contract import (
    JobChange,
    JobEffect,
    JobFailed,
    JobOffer,
    JobSealed,
    JobStaged,
    JobStarted,
    JobStopped,
    SealJob,
    StartJob,
    StopJob,
)
from remuda.peer.job_keeper import JobKeeper
from remuda.replica.commands import (
    AckTask,
    AnyCommand,
    CompleteJob,
    KillJob,
    LeaveCluster,
    OfferSlots,
    ReleaseJob,
    ResumeJob,
    RevokeTask,
    SealTask,
    SetJobScheduler,
)
from remuda.replica.commands.seal_task import OUTCOME_BYTES_MAX
from remuda.replica.schedule.demand import TaskDemand
from tests.replica.joblog import JobLog

Answer: TypeAlias = list[JobEffect | AnyCommand]
ACK_S = 10.0


class Driver:
    """The keeper of `m`, and a log in which it and `z` are members, each with two slots."""

    def __init__(self, *others: str, offer: JobOffer | None = None, me: str = "m") -> None:
        self.keeper = JobKeeper(me, offer or JobOffer(2), ACK_S)
        self.log = JobLog(me, *others, slots=2)
        self.now = 100.0

    @property
    def epoch(self) -> int:
        return self.log.job("J").epoch

    def settle(
        self,
        *,
        may_run: bool = True,
        connected: bool = True,
        leaving: bool = False,
        time_is_up: bool = False,
    ) -> Answer:
        effects, commands = self.keeper.settle(
            self.log.replica,
            self.now,
            may_run=may_run,
            connected=connected,
            leaving=leaving,
            time_is_up=time_is_up,
        )
        return [*effects, *commands]

    def play(self, *commands: AnyCommand) -> Answer:
        for command in commands:
            self.log.take(command)
        return self.settle()

    def tell(self, change: JobChange) -> Answer:
        self.keeper.changed(change)
        return self.settle()

    # ── situations ───────────────────────────────────────────────────────────────────────────

    def lead(self, *tasks: TaskDemand) -> Answer:
        """It leads `J`, whose slots have all acked."""
        self.log.submit("J", *tasks)
        self.log.ack_all()
        assert self.log.job("J").lead == self.keeper.me
        return self.settle()

    def drive(self, *tasks: TaskDemand) -> None:
        """It drives `J`."""
        self.lead(*tasks)
        assert self.tell(JobStarted("J", self.epoch)) == []

    def staged(self) -> Answer:
        return self.tell(JobStaged("J", self.epoch, "{}"))


@pytest.fixture
def alone() -> Driver:
    return Driver()


@pytest.fixture
def driving() -> Driver:
    driver = Driver("z")
    driver.drive()
    return driver


# ── slots ────────────────────────────────────────────────────────────────────────────────────


def test_it_offers_its_slots_and_says_so_until_the_log_has_it() -> None:
    driver = Driver(offer=JobOffer(3, ("gpu",)))
    assert driver.settle() == [OfferSlots("m", 3, ("gpu",))]
    assert driver.play(OfferSlots("m", 3, ("gpu",))) == []


def test_a_peer_without_slots_offers_nothing() -> None:
    driver = Driver("z", me="a", offer=JobOffer(0))
    driver.log.take(OfferSlots("a", 0))
    assert driver.settle() == []


def test_it_offers_nothing_while_it_must_not_work_or_is_not_connected() -> None:
    driver = Driver(offer=JobOffer(3))
    assert driver.settle(may_run=False) == []
    assert driver.settle(connected=False) == []


def test_it_acks_all_that_its_slots_are_told_in_one_entry(alone: Driver) -> None:
    alone.log.submit("J")
    told = alone.log.replica.position
    assert alone.settle() == [AckTask(peer="m", slots={"m/0": told, "m/1": told})]
    assert alone.settle(may_run=False) == []


def test_it_offers_another_slot_for_one_that_was_revoked(alone: Driver) -> None:
    alone.log.submit("J", TaskDemand("t", n_slots=1))
    told = alone.log.replica.slots["m/0"].told
    assert OfferSlots("m", 2) in alone.play(RevokeTask({"m/0": told}))


def test_the_first_member_by_name_revokes_what_has_not_acked_in_time() -> None:
    driver = Driver("z")
    driver.log.submit("J")
    told = driver.log.replica.position
    driver.settle()
    assert driver.keeper.deadline(driver.now) == driver.now + ACK_S
    driver.play(AckTask(peer="m", slots={"m/0": told, "m/1": told}))
    driver.now += ACK_S - 0.001
    assert driver.settle() == []
    driver.now += 0.001
    assert driver.settle() == [RevokeTask({"z/0": told, "z/1": told})]


def test_the_others_leave_that_to_it_and_take_over_at_once_when_it_is_gone() -> None:
    driver = Driver("a", "z")
    driver.log.submit("J")
    told = driver.log.replica.position
    driver.play(AckTask(peer="m", slots={"m/0": told, "m/1": told}))
    driver.now += ACK_S
    assert driver.settle() == []
    assert driver.play(LeaveCluster("a")) == [RevokeTask({"z/0": told, "z/1": told})]


# ── driving ──────────────────────────────────────────────────────────────────────────────────


def test_the_lead_starts_the_job_once_with_what_it_has() -> None:
    driver = Driver("z")
    answer = driver.lead(TaskDemand("in"), TaskDemand("out", n_slots=1))
    assert answer == [
        StartJob("J", driver.epoch, "spec of J", 2, 4, tasks={"in": 3, "out": 1}, restarts=0)
    ]
    assert driver.settle() == []


def test_who_does_not_lead_starts_nothing() -> None:
    driver = Driver("a")
    driver.log.submit("J")
    driver.log.ack_all()
    assert driver.log.job("J").lead == "a"
    assert driver.settle() == []


def test_it_starts_nothing_while_suspended_or_without_a_lease(alone: Driver) -> None:
    alone.log.submit("J")
    alone.log.ack_all()
    assert alone.settle(connected=False) == []
    assert alone.settle(may_run=False) == []
    assert [type(effect) for effect in alone.settle()] == [StartJob]


def test_what_is_staged_is_sealed_when_the_log_has_picked_a_sealer(driving: Driver) -> None:
    epoch = driving.epoch
    assert driving.staged() == [SealTask("J", "m", epoch, "{}")]
    assert driving.play(SealTask("J", "m", epoch, "{}")) == [SealJob("J", epoch, "spec of J", "{}")]
    assert driving.settle() == []
    assert driving.tell(JobSealed("J", epoch)) == [CompleteJob("J", "m", epoch)]
    assert driving.play(CompleteJob("J", "m", epoch)) == []
    assert driving.keeper.is_idle


def test_an_outcome_that_does_not_fit_into_the_log_is_left_out(driving: Driver) -> None:
    answer = driving.tell(JobStaged("J", driving.epoch, "x" * OUTCOME_BYTES_MAX))
    assert answer == [SealTask("J", "m", driving.epoch, "{}")]


def test_what_another_staged_is_sealed_and_not_done_again() -> None:
    driver = Driver("a")
    driver.log.submit("J")
    driver.log.ack_all()
    driver.log.stage("J")
    driver.play(LeaveCluster("a"))
    driver.log.ack_all()
    answer = driver.settle()
    assert answer == [SealJob("J", driver.epoch, "spec of J", '{"rows":1}')]
    assert driver.tell(JobSealed("J", driver.epoch)) == [CompleteJob("J", "m", driver.epoch)]


def test_a_job_that_fails_is_killed_with_its_reason(driving: Driver) -> None:
    epoch = driving.epoch
    answer = driving.tell(JobFailed("J", epoch, "line 7: " + "x" * 10_000))
    (kill,) = answer
    assert isinstance(kill, KillJob)
    assert (kill.job, kill.peer, kill.epoch) == ("J", "m", epoch)
    assert kill.reason.startswith("line 7: xxx")
    assert len(kill.reason) == 4000
    assert driving.play(kill) == []


def test_a_driver_that_dies_is_told_of_and_started_anew_under_a_new_epoch(driving: Driver) -> None:
    epoch = driving.epoch
    gone = ReleaseJob("J", "m", epoch, "the driver was killed")
    assert driving.tell(JobStopped("J", epoch, "the driver was killed")) == [gone]
    assert driving.settle() == [gone], "until the log has heard it"
    (start,) = driving.play(gone)
    assert isinstance(start, StartJob)
    assert (start.epoch, start.restarts) == (driving.log.replica.position, 1)


def test_words_of_a_driver_that_is_not_here_any_more_mean_nothing(driving: Driver) -> None:
    old = driving.epoch
    driving.keeper.changed(JobStopped("J", old))
    driving.play(ReleaseJob("J", "m", old))
    assert driving.tell(JobStaged("J", old, "{}")) == []
    assert driving.tell(JobFailed("J", old, "so")) == []
    assert driving.tell(JobSealed("K", 3)) == []


# ── stopping ─────────────────────────────────────────────────────────────────────────────────


def test_a_killed_job_is_stopped_once_and_given_up_only_then(driving: Driver) -> None:
    epoch = driving.epoch
    assert driving.play(KillJob("J", "so")) == [StopJob("J", epoch, "the job is killed: so")]
    assert driving.settle() == []
    assert driving.tell(JobStopped("J", epoch)) == [ReleaseJob("J", "m", epoch)]
    assert driving.play(ReleaseJob("J", "m", epoch)) == []


def test_a_job_that_fails_as_it_is_stopped_is_given_up_all_the_same(driving: Driver) -> None:
    driving.play(KillJob("J", "so"))
    kill = KillJob("J", "interrupted", "m", driving.epoch)
    assert driving.tell(JobFailed("J", driving.epoch, "interrupted")) == [kill]
    assert driving.play(kill) == []
    assert driving.log.job("J").reason == "so"
    assert driving.keeper.is_idle


def test_what_is_staged_as_it_is_stopped_is_not_sealed(driving: Driver) -> None:
    driving.play(KillJob("J", "so"))
    assert driving.staged() == []


def test_when_slots_move_it_stops_says_so_and_starts_with_what_is_left(driving: Driver) -> None:
    epoch = driving.epoch
    driving.log.take(SetJobScheduler("balanced"))
    driving.log.submit("K")
    stop, *_ = driving.settle()
    assert isinstance(stop, StopJob)
    driving.tell(JobStopped("J", epoch))
    answer = driving.play(ReleaseJob("J", "m", epoch))
    starts = [effect for effect in answer if isinstance(effect, StartJob)]
    assert [(s.job_id, s.slots_here, s.slots_total) for s in starts] == [("J", 2, 2)]


def test_without_a_lease_it_stops_and_gives_the_job_up_when_it_can(driving: Driver) -> None:
    epoch = driving.epoch
    assert driving.settle(may_run=False, connected=False) == [
        StopJob("J", epoch, "this peer must not work now")
    ]
    driving.keeper.changed(JobStopped("J", epoch))
    assert driving.settle(may_run=False, connected=False) == []
    assert driving.settle(connected=False) == []
    assert driving.settle() == [ReleaseJob("J", "m", epoch)]


def test_a_suspension_alone_does_not_stop_a_driver(driving: Driver) -> None:
    assert driving.settle(connected=False) == []


def test_when_the_life_is_over_everything_stops_once(driving: Driver) -> None:
    assert driving.keeper.stop_all("so") == [StopJob("J", driving.epoch, "so")]
    assert driving.keeper.stop_all("so") == []


def test_a_job_that_was_killed_and_resumed_before_we_looked_is_stopped_first(
    driving: Driver,
) -> None:
    epoch = driving.epoch
    driving.log.take(KillJob("J", "so"))
    (stop,) = driving.play(ResumeJob("J"))
    assert isinstance(stop, StopJob)
    assert driving.tell(JobStopped("J", epoch)) == [ReleaseJob("J", "m", epoch)]


# ── leaving ──────────────────────────────────────────────────────────────────────────────────


def test_a_peer_that_leaves_withdraws_its_slots_stops_and_is_idle(driving: Driver) -> None:
    epoch = driving.epoch
    assert driving.settle(leaving=True) == [OfferSlots("m", 0)]
    driving.log.take(OfferSlots("m", 0))
    (stop,) = driving.settle(leaving=True)
    assert isinstance(stop, StopJob)
    assert not driving.keeper.is_idle
    driving.keeper.changed(JobStopped("J", epoch))
    assert driving.settle(leaving=True) == [ReleaseJob("J", "m", epoch)]
    driving.log.take(ReleaseJob("J", "m", epoch))
    assert driving.settle(leaving=True) == []
    assert driving.keeper.is_idle
    assert driving.log.job("J").lead == "z"


def test_a_peer_that_leaves_lets_a_sealing_driver_finish(driving: Driver) -> None:
    epoch = driving.epoch
    driving.staged()
    driving.log.take(SealTask("J", "m", epoch, "{}"))
    driving.log.take(OfferSlots("m", 0))
    assert driving.settle(leaving=True) == [SealJob("J", epoch, "spec of J", "{}")]
    driving.keeper.changed(JobSealed("J", epoch))
    assert driving.settle(leaving=True) == [CompleteJob("J", "m", epoch)]


def test_a_peer_that_leaves_gives_up_what_it_was_given_meanwhile(alone: Driver) -> None:
    alone.log.submit("J")
    alone.log.ack_all()
    assert alone.settle(leaving=True) == [OfferSlots("m", 0)]
    alone.log.take(OfferSlots("m", 0))
    release = ReleaseJob("J", "m", alone.epoch, "it was not started here")
    assert alone.settle(leaving=True) == [release]
    alone.log.take(release)
    assert alone.settle(leaving=True) == []
    assert alone.keeper.is_idle


def test_a_peer_that_leaves_acks_only_to_get_rid_of_slots(alone: Driver) -> None:
    alone.log.submit("J")
    told = alone.log.replica.position
    assert alone.settle(leaving=True) == [OfferSlots("m", 0)]
    alone.log.take(OfferSlots("m", 0))
    acks = AckTask(peer="m", slots={"m/0": told, "m/1": told})
    assert alone.settle(leaving=True) == [acks]
    alone.log.take(acks)
    assert not alone.log.replica.slots


def test_when_time_is_up_a_leaving_peer_stops_everything_and_says_nothing(driving: Driver) -> None:
    (stop,) = driving.settle(leaving=True, time_is_up=True)
    assert isinstance(stop, StopJob)
    driving.keeper.changed(JobStopped("J", driving.epoch))
    assert driving.settle(leaving=True, time_is_up=True) == []
