"""A peer's decisions, one situation at a time."""

from __future__ import annotations

import random

import pytest

from remuda.peer.core import PeerCore, Timing
from remuda.peer.effects import (
    Effect,
    Ending,
    Finish,
    Propose,
    StartWork,
    StopWork,
    Unwatch,
    Watch,
    WriteOrigin,
)
from remuda.peer.job_contract import JobOffer, JobStopped, StartJob, StopJob
from remuda.replica.command import Stamp
from remuda.replica.commands import (
    AbortJoin,
    AcceptJoin,
    AckTask,
    AnyCommand,
    Gc,
    LeaveCluster,
    NotifyJoin,
    OfferSlots,
    PrepareJoin,
    ReleaseJob,
    RevokeTask,
    SubmitJob,
)
from remuda.replica.entry import Entry
from remuda.replica.schedule.demand import TaskDemand
from remuda.replica.state import PeerInfo, Replica

INFO = PeerInfo("host", 1)
TIMING = Timing(
    session_timeout_s=10.0,
    join_timeout_s=5.0,
    backoff_first_s=1.0,
    backoff_most_s=8.0,
    gc_entries=1000,
)


class Driver:
    """Plays entries into a core and keeps the time."""

    def __init__(
        self, me: str = "m", timing: Timing = TIMING, job_offer: JobOffer | None = None
    ) -> None:
        self.now = 100.0
        self.core = PeerCore(me, INFO, timing, random.Random(1), self.now, job_offer=job_offer)

    def begin(self) -> list[Effect]:
        return self.core.heartbeat_answered(self.now, self.now)

    def play(self, command: AnyCommand, by: str = "m") -> list[Effect]:
        entry = Entry("id", Stamp(self.core.replica.position + 1, by, 0), command)
        return self.core.play([entry], self.now)[1]

    def later(self, seconds: float) -> list[Effect]:
        self.now += seconds
        return self.core.tick(self.now)


@pytest.fixture
def lone() -> Driver:
    """The only member of its cluster."""
    driver = Driver()
    driver.begin()
    driver.play(PrepareJoin("m", INFO))
    return driver


@pytest.fixture
def joining() -> Driver:
    """Asks to join a cluster whose only member is `a`."""
    driver = Driver()
    driver.play(PrepareJoin("a", INFO), by="a")
    driver.begin()
    return driver


def test_it_asks_to_join_when_it_begins() -> None:
    assert Driver().begin() == [Propose(PrepareJoin("m", INFO))]


def test_it_asks_once_however_often_it_is_told_something() -> None:
    driver = Driver()
    driver.begin()
    assert driver.later(1) == []


def test_the_first_of_a_cluster_is_a_member_at_once_and_may_work(lone: Driver) -> None:
    assert lone.core.is_member
    assert lone.core.working


def test_a_joiner_watches_its_observer_then_the_next_in_the_ring(joining: Driver) -> None:
    assert joining.play(PrepareJoin("m", INFO)) == [Watch("a")]
    assert joining.play(NotifyJoin("m", "a"), by="a") == [Propose(AcceptJoin("m"))]
    assert joining.play(AcceptJoin("m")) == [StartWork()]


def test_an_observer_watches_the_joiner_before_it_notifies_it(lone: Driver) -> None:
    effects = lone.play(PrepareJoin("b", INFO), by="b")
    assert effects == [Watch("b"), Propose(NotifyJoin("b", "m"))]


def test_a_joiner_that_is_turned_away_backs_off_for_longer_each_time(joining: Driver) -> None:
    joining.play(PrepareJoin("b", INFO), by="b")  # keeps `a` busy
    waits: list[float] = []
    for _ in range(6):
        joining.core.heartbeat_answered(joining.now, joining.now)
        joining.play(PrepareJoin("m", INFO))
        waits.append(joining.core.deadline(joining.now) - joining.now)
        assert Propose(PrepareJoin("m", INFO)) in joining.later(waits[-1] + 0.001)
    for wait, whole in zip(waits, (1, 2, 4, 8, 8, 8), strict=True):
        assert whole / 2 <= wait <= whole


def test_a_joiner_that_is_turned_away_looks_at_those_in_its_way(joining: Driver) -> None:
    joining.play(PrepareJoin("b", INFO), by="b")
    assert joining.play(PrepareJoin("m", INFO)) == [Watch("a"), Watch("b")]
    assert joining.core.pulse_gone("a", joining.now) == [Propose(LeaveCluster("a"))]


def test_a_joiner_whose_observer_dies_reports_it_and_asks_again_at_once(joining: Driver) -> None:
    joining.play(PrepareJoin("m", INFO))
    assert joining.core.pulse_gone("a", joining.now) == [Propose(LeaveCluster("a"))]
    assert joining.play(LeaveCluster("a")) == [Propose(PrepareJoin("m", INFO))]


def test_a_joiner_whose_observer_does_not_move_aborts(joining: Driver) -> None:
    joining.play(PrepareJoin("m", INFO))
    assert joining.later(TIMING.join_timeout_s) == [Propose(AbortJoin("m"))]
    joining.play(AbortJoin("m"))
    assert not joining.core.finished


def test_a_watcher_closes_the_ring_over_one_dead_neighbour_after_another() -> None:
    driver = Driver()
    pairs = {"m": "a", "a": "b", "b": "c", "c": "m"}
    replica = Replica(peers=dict.fromkeys(pairs, INFO), members=tuple(pairs), pairs=pairs)
    driver.core.take_origin(replica, driver.now)
    assert driver.core.pulse_gone("a", driver.now) == [Propose(LeaveCluster("a"))]
    assert driver.play(LeaveCluster("a")) == [Watch("b")]
    assert driver.core.pulse_gone("b", driver.now) == [Propose(LeaveCluster("b"))]
    assert driver.play(LeaveCluster("b")) == [Watch("c")]


def test_it_stops_watching_whom_it_need_not_watch(lone: Driver) -> None:
    lone.play(PrepareJoin("b", INFO), by="b")
    assert Unwatch("b") in lone.play(LeaveCluster("b"), by="b")


def test_while_suspended_it_proposes_nothing_and_makes_up_for_it_afterwards(lone: Driver) -> None:
    assert lone.core.suspended(lone.now) == []
    assert lone.play(PrepareJoin("b", INFO), by="b") == [Watch("b")]
    assert lone.core.working
    assert lone.core.resumed(lone.now) == [Propose(NotifyJoin("b", "m"))]


def test_it_stops_work_before_the_session_can_expire(lone: Driver) -> None:
    lone.core.suspended(lone.now)
    sent_at = lone.now
    deadline = lone.core.deadline(lone.now)
    assert deadline < sent_at + TIMING.session_timeout_s
    (effect,) = lone.later(deadline - lone.now)
    assert isinstance(effect, StopWork)
    assert not lone.core.working


def test_the_lease_counts_from_when_the_heartbeat_was_sent(lone: Driver) -> None:
    lone.now += 7
    lone.core.heartbeat_answered(lone.now - 6, lone.now)
    assert lone.core.deadline(lone.now) == lone.now - 6 + TIMING.lease_s


def test_work_starts_again_when_the_session_turns_out_to_live(lone: Driver) -> None:
    lone.later(9)
    assert not lone.core.working
    assert lone.core.heartbeat_answered(lone.now, lone.now) == [StartWork()]


def test_a_lost_session_ends_the_life_and_all_work(lone: Driver) -> None:
    stop, finish = lone.core.lost(lone.now)
    assert isinstance(stop, StopWork)
    assert finish == Finish(Ending.LOST)
    assert lone.play(PrepareJoin("b", INFO), by="b") == []


def test_a_member_that_is_declared_gone_ends_its_life(lone: Driver) -> None:
    effects = lone.play(LeaveCluster("m"), by="b")
    assert isinstance(effects[0], StopWork)
    assert effects[1] == Finish(Ending.LOST)


def test_leaving_stops_work_tells_the_log_and_then_finishes(lone: Driver) -> None:
    assert lone.core.leave(lone.now) == [
        StopWork("this peer leaves"),
        Propose(LeaveCluster("m")),
    ]
    assert lone.play(LeaveCluster("m")) == [Finish(Ending.LEFT)]


def test_leaving_while_asking_to_join_waits_for_the_answer(joining: Driver) -> None:
    assert joining.core.leave(joining.now) == []
    assert Propose(LeaveCluster("m")) in joining.play(PrepareJoin("m", INFO))
    assert joining.play(LeaveCluster("m"))[-1] == Finish(Ending.LEFT)


def test_a_proposal_that_was_not_written_is_made_again() -> None:
    driver = Driver()
    driver.begin()
    command = PrepareJoin("m", INFO)
    assert driver.core.not_written(command, driver.now) == [Propose(command)]


def test_the_first_member_by_name_collects_a_log_that_has_grown_long() -> None:
    driver = Driver("m", Timing(10.0, 5.0, 1.0, 8.0, gc_entries=3))
    driver.begin()
    driver.play(PrepareJoin("m", INFO))
    driver.play(NotifyJoin("x", "y"), by="x")
    assert driver.play(NotifyJoin("x", "y"), by="x")[-1] == Propose(Gc())
    assert driver.play(Gc()) == [WriteOrigin(driver.core.replica)]


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def leading() -> Driver:
    """The only member of its cluster, driving the job `J` under epoch 3."""
    driver = Driver(job_offer=JobOffer(1))
    driver.begin()
    driver.play(PrepareJoin("m", INFO))
    driver.play(OfferSlots("m", 1))
    driver.play(SubmitJob("J", "spec", (TaskDemand("t"),)), by="operator")
    driver.play(AckTask(peer="m", slots={"m/0": 2}))
    return driver


def test_a_member_offers_its_slots_acks_and_drives_what_it_leads() -> None:
    driver = Driver(job_offer=JobOffer(1))
    driver.begin()
    assert driver.play(PrepareJoin("m", INFO)) == [StartWork(), Propose(OfferSlots("m", 1))]
    assert driver.play(OfferSlots("m", 1)) == []
    ack = AckTask(peer="m", slots={"m/0": 2})
    submitted = driver.play(SubmitJob("J", "spec", (TaskDemand("t"),)), by="operator")
    assert submitted == [Propose(ack)]
    assert driver.later(0.1) == [], "it is under way"
    assert driver.play(ack) == [StartJob("J", 3, "spec", 1, 1, {"t": 1}, 0)]


def test_an_ack_that_was_not_written_is_made_again(leading: Driver) -> None:
    gone = ReleaseJob("J", "m", 3, "killed")
    assert leading.core.jobs_changed([JobStopped("J", 3, "killed")], leading.now) == [Propose(gone)]
    assert leading.core.not_written(gone, leading.now) == [Propose(gone)]


def test_drivers_stop_with_the_lease_and_the_job_is_given_up_afterwards(leading: Driver) -> None:
    leading.core.suspended(leading.now)
    stop_work, stop = leading.later(leading.core.deadline(leading.now) - leading.now)
    assert isinstance(stop_work, StopWork)
    assert isinstance(stop, StopJob)
    leading.core.jobs_changed([JobStopped("J", 3)], leading.now)
    leading.core.heartbeat_answered(leading.now, leading.now)
    assert leading.core.resumed(leading.now) == [Propose(ReleaseJob("J", "m", 3))]


def test_a_lost_session_stops_every_driver(leading: Driver) -> None:
    effects = leading.core.lost(leading.now)
    assert [type(effect) for effect in effects] == [StopWork, StopJob, Finish]


def test_leaving_lets_jobs_go_first(leading: Driver) -> None:
    assert leading.core.leave(leading.now) == [Propose(OfferSlots("m", 0))]
    (stop,) = leading.play(OfferSlots("m", 0))
    assert isinstance(stop, StopJob)
    release = ReleaseJob("J", "m", 3)
    assert leading.core.jobs_changed([JobStopped("J", 3)], leading.now) == [Propose(release)]
    assert leading.play(release)[-1] == Propose(LeaveCluster("m"))
    assert leading.play(LeaveCluster("m"))[-1] == Finish(Ending.LEFT)


def test_leaving_waits_for_drivers_only_so_long_and_never_goes_before_they_have_stopped(
    leading: Driver,
) -> None:
    leading.core.leave(leading.now)
    leading.core.heartbeat_answered(leading.now + TIMING.drain_deadline_s, leading.now)
    effects = leading.later(TIMING.drain_deadline_s)
    assert [type(effect) for effect in effects] == [StopWork, StopJob]
    effects = leading.core.jobs_changed([JobStopped("J", 3)], leading.now)
    assert effects == [Propose(LeaveCluster("m"))]


def test_a_slot_that_does_not_ack_is_revoked_by_the_first_member_when_its_time_is_up() -> None:
    driver = Driver(job_offer=JobOffer(1))
    driver.begin()
    driver.play(PrepareJoin("m", INFO))
    driver.play(OfferSlots("m", 1))
    driver.play(SubmitJob("J", "spec", (TaskDemand("t"),)), by="operator")
    driver.core.heartbeat_answered(driver.now + TIMING.ack_timeout_s, driver.now)
    late = driver.core.deadline(driver.now)
    assert late == driver.now + TIMING.ack_timeout_s
    assert driver.later(late - driver.now) == [Propose(RevokeTask({"m/0": 2}))]
