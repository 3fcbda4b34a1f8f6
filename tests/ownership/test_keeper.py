"""What one member does about one pool, one situation at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import pytest
from msgspec.structs import replace

from remuda.log.record import encode
from remuda.ownership.contract import Membership, StartUnit, StopUnit, UnitEffect
from remuda.ownership.keeper import Keeper, Phase
from remuda.replica.command import Stamp
from remuda.replica.commands import (
    AcceptHandoff,
    AddUnits,
    AnyCommand,
    Claim,
    CompleteHandoff,
    Drain,
    JoinPool,
    LeavePool,
    OfferHandoff,
    Peg,
    Rebalance,
    Release,
    RemoveUnits,
    ReportLoad,
    Unpeg,
)
from remuda.replica.entry import Entry, record_of
from remuda.replica.fold import play
from remuda.replica.pool import Pool, Unit
from remuda.replica.state import PeerInfo, Replica

EXCLUSIVE = Membership("s")
OVERLAPPING = Membership("s", handoff_s=10.0)
BY_LOAD = Membership("s", balance="load", rebalance_s=60.0)
PEERS = ("m", "b", "c")

Answer: TypeAlias = list[UnitEffect | AnyCommand]


class Driver:
    """The keeper of `m`, and a replica in which it, `b` and `c` are members of the cluster."""

    def __init__(self, membership: Membership = EXCLUSIVE, me: str = "m") -> None:
        self.me = me
        self.keeper = Keeper(me, membership)
        self.membership = membership
        self.now = 100.0
        self.may_run = self.connected = True
        pairs = {"m": "b", "b": "c", "c": "m"}
        infos = dict.fromkeys(pairs, PeerInfo("host", 1))
        self.replica = Replica(peers=infos, members=PEERS, pairs=pairs)

    @property
    def pool(self) -> Pool:
        return self.replica.pools.get("s", Pool())

    def unit(self, name: str = "u") -> Unit:
        return self.pool.units[name]

    # ── what happens ─────────────────────────────────────────────────────────────────────────

    def settle(self, **how: bool) -> Answer:
        effects, commands = self.keeper.settle(
            self.replica.pools.get("s"),
            self.now,
            **{"may_run": self.may_run, "connected": self.connected, **how},
        )
        return [*effects, *commands]

    def play(self, *commands: AnyCommand) -> Answer:
        """Entries come, each of our own as an answer; what follows when all have come."""
        for command in commands:
            entry = Entry("id", Stamp(self.replica.position + 1, "x", 0), command)
            self.replica = play(self.replica, entry).replica
            if getattr(command, "peer", None) == self.me:
                self.keeper.answered(command)
        return self.settle()

    def later(self, seconds: float) -> Answer:
        self.now += seconds
        return self.settle()

    def started(self, *units: str) -> Answer:
        for unit in units:
            self.keeper.started(unit, self.keeper.units[unit].epoch)
        return self.settle()

    def stopped(self, *units: str) -> Answer:
        for unit in units:
            self.keeper.stopped(unit, self.keeper.units[unit].epoch)
        return self.settle()

    def failed(self, unit: str, reason: str) -> Answer:
        self.keeper.failed(unit, self.keeper.units[unit].epoch, reason)
        return self.settle()

    # ── situations ───────────────────────────────────────────────────────────────────────────

    def join(self, *peers: str) -> Answer:
        how = (self.membership.balance, self.membership.overlap)
        return self.play(*(JoinPool("s", peer, *how) for peer in peers))

    def own(self, *units: str) -> None:
        """It owns and runs these, alone in the pool, and has settled."""
        self.join(self.me)
        self.play(AddUnits("s", units))
        self.play(Claim("s", self.me, units))
        self.started(*units)
        self.later(self.membership.settle_s)


def named(answer: Iterable[object]) -> list[str]:
    """What is asked, without its details."""
    return [type(thing).__name__ for thing in answer]


def epochs(driver: Driver, *units: str) -> Mapping[str, int]:
    return {unit: driver.unit(unit).epoch for unit in units}


# ── joining and claiming ─────────────────────────────────────────────────────────────────────


def test_it_joins_its_pool_with_its_settings_and_asks_once() -> None:
    driver = Driver(Membership("s", balance="load", handoff_s=1.0))
    assert driver.settle() == [JoinPool("s", "m", "load", overlap=True)]
    assert driver.later(1) == []
    assert driver.join("b") == []


def test_it_joins_again_when_it_finds_itself_outside() -> None:
    driver = Driver()
    driver.join("m")
    assert driver.play(LeavePool("s", "m")) == [JoinPool("s", "m")]


def test_one_that_is_leaving_joins_nothing() -> None:
    assert Driver().settle(leaving=True) == []


def test_it_claims_what_the_plan_gives_it_and_nothing_else() -> None:
    driver = Driver()
    driver.play(AddUnits("s", ("u", "v", "w")))
    assert driver.join("b", "m", "c") == [Claim("s", "m", ("w",))]


def test_it_claims_once_while_the_claim_is_on_its_way() -> None:
    driver = Driver()
    driver.join("m")
    assert driver.play(AddUnits("s", ("u",))) == [Claim("s", "m", ("u",))]
    assert driver.later(1) == []
    assert driver.play(AddUnits("s", ("v",))) == [Claim("s", "m", ("v",))]


def test_it_claims_anew_what_it_was_too_late_for_when_that_is_free_again() -> None:
    driver = Driver()
    driver.join("m", "b")
    driver.play(AddUnits("s", ("u", "v")))
    assert driver.play(Claim("s", "b", ("u", "v")), Claim("s", "m", ("v",))) == []
    assert driver.play(Release("s", "b", epochs(driver, "v"))) == [Claim("s", "m", ("v",))]


def test_a_claim_that_never_reached_the_log_is_made_again() -> None:
    driver = Driver()
    driver.join("m")
    (claim,) = driver.play(AddUnits("s", ("u",)))
    assert isinstance(claim, Claim)
    driver.keeper.answered(claim)
    assert driver.settle() == [claim]
    driver.keeper.forget_asked()
    assert driver.settle() == [claim]


def test_it_starts_a_claimed_unit_once_and_under_the_epoch_of_the_claim() -> None:
    driver = Driver()
    driver.join("m")
    driver.play(AddUnits("s", ("u",)))
    assert driver.play(Claim("s", "m", ("u",))) == [StartUnit("s", "u", driver.replica.position)]
    assert driver.later(1) == []
    assert driver.started("u") == []
    assert driver.keeper.units["u"].phase is Phase.RUNNING


def test_it_is_idle_as_long_as_nothing_is_its_own_and_nothing_runs() -> None:
    driver = Driver()
    driver.join("m")
    assert driver.keeper.is_idle
    driver.own("u")
    assert not driver.keeper.is_idle
    driver.play(Release("s", "m", epochs(driver, "u")), Drain("m"))
    assert not driver.keeper.is_idle
    driver.stopped("u")
    assert driver.keeper.is_idle


def test_a_unit_that_ended_by_itself_is_started_again_under_the_same_epoch() -> None:
    driver = Driver()
    driver.own("u")
    assert driver.stopped("u") == [StartUnit("s", "u", driver.unit().epoch)]


def test_what_a_unit_of_another_epoch_tells_is_not_believed() -> None:
    driver = Driver()
    driver.own("u")
    epoch = driver.unit().epoch
    driver.keeper.stopped("u", epoch - 1)
    driver.keeper.failed("u", epoch - 1, "old news")
    driver.keeper.started("v", epoch)
    assert driver.settle() == []
    assert list(driver.keeper.units) == ["u"]


def test_a_removed_unit_is_stopped_and_then_released() -> None:
    for membership in (EXCLUSIVE, OVERLAPPING):
        driver = Driver(membership)
        driver.own("u")
        assert named(driver.play(RemoveUnits("s", ("u",)))) == ["StopUnit"]
        assert driver.stopped("u") == [Release("s", "m", epochs(driver, "u"))]


def test_whatever_it_asks_fits_into_an_entry_of_the_log() -> None:
    """The log takes so many units of such names; so must what is asked about them."""
    driver = Driver()
    names = [f"{number:05}-{'x' * 140}" for number in range(10_000)]
    driver.join("m")
    driver.play(AddUnits("s", tuple(names[:5000])), AddUnits("s", tuple(names[5000:])))
    driver.keeper.forget_asked()
    for asked in driver.settle():
        assert isinstance(asked, Claim)
        encode(record_of(asked, entry_id="id", by="m", at_ms=0))


# ── giving, exclusive ────────────────────────────────────────────────────────────────────────


def test_exclusive_it_stops_a_unit_before_it_releases_it() -> None:
    driver = Driver()
    driver.own("u", "v")
    driver.join("b")
    (stop,) = driver.later(EXCLUSIVE.settle_s)
    assert isinstance(stop, StopUnit)
    assert driver.later(1) == []
    assert driver.stopped(stop.unit) == [Release("s", "m", {stop.unit: stop.epoch})]
    assert driver.later(1) == []


def test_exclusive_it_never_starts_again_under_an_epoch_whose_release_was_proposed() -> None:
    """The other one is gone before the release is written: it might still be."""
    driver = Driver()
    driver.own("u", "v")
    driver.join("b")
    (stop,) = driver.later(EXCLUSIVE.settle_s)
    assert isinstance(stop, StopUnit)
    (release,) = driver.stopped(stop.unit)
    assert isinstance(release, Release)
    assert driver.play(LeavePool("s", "b")) == []
    assert driver.later(10) == []
    assert driver.play(release) == [Claim("s", "m", (stop.unit,))]
    (start,) = driver.play(Claim("s", "m", (stop.unit,)))
    assert isinstance(start, StartUnit)
    assert start.epoch > stop.epoch


def test_exclusive_what_has_begun_to_stop_is_released_though_the_plan_is_another_one() -> None:
    driver = Driver()
    driver.own("u", "v")
    driver.join("b")
    (stop,) = driver.later(EXCLUSIVE.settle_s)
    assert isinstance(stop, StopUnit)
    assert driver.play(LeavePool("s", "b")) == []
    assert driver.stopped(stop.unit) == [Release("s", "m", {stop.unit: stop.epoch})]


def test_a_release_that_never_reached_the_log_is_made_again() -> None:
    driver = Driver()
    driver.own("u")
    driver.play(Peg("s", "u", "ghost"))
    (release,) = driver.stopped("u")
    assert isinstance(release, Release)
    driver.keeper.answered(release)
    assert driver.settle() == [release]


def test_a_unit_that_comes_back_while_it_stops_is_started_after_it_has_stopped() -> None:
    driver = Driver()
    driver.own("u")
    driver.play(Release("s", "m", epochs(driver, "u")))
    assert driver.play(Claim("s", "m", ("u",))) == []
    assert driver.stopped("u") == [StartUnit("s", "u", driver.unit().epoch)]


# ── giving, overlapping ──────────────────────────────────────────────────────────────────────


def test_overlapping_it_offers_waits_stops_after_the_handoff_time_and_completes() -> None:
    driver = Driver(OVERLAPPING)
    driver.own("u", "v")
    driver.join("b")
    (offer,) = driver.later(OVERLAPPING.settle_s)
    assert isinstance(offer, OfferHandoff)
    ((unit, to),) = offer.units.items()
    assert to == "b"
    assert driver.later(100) == []
    assert driver.play(offer) == []
    assert driver.later(100) == []
    before = driver.unit(unit)
    assert before.handoff is not None
    assert driver.play(AcceptHandoff("s", "b", {unit: before.handoff.epoch})) == []
    assert driver.keeper.deadline(driver.now) == driver.now + 10.0
    assert driver.later(9.9) == []
    (stop,) = driver.later(0.1)
    assert stop == StopUnit("s", unit, before.epoch, "it is not this peer's to run")
    assert driver.stopped(unit) == [CompleteHandoff("s", "m", {unit: before.epoch})]
    assert driver.play(CompleteHandoff("s", "m", {unit: before.epoch})) == []
    assert driver.unit(unit).owner == "b"


def offered(driver: Driver) -> int:
    """`b` has offered `u`; its epoch with us."""
    driver.join("b")
    driver.play(AddUnits("s", ("u", "v")), Claim("s", "b", ("u", "v")))
    driver.join("m")
    driver.play(OfferHandoff("s", "b", {"u": "m"}))
    return driver.replica.position


def test_overlapping_whom_a_unit_is_offered_to_starts_it_before_it_accepts() -> None:
    driver = Driver(OVERLAPPING)
    epoch = offered(driver)
    assert driver.keeper.units["u"].epoch == epoch
    assert driver.later(1) == []
    assert driver.started("u") == [AcceptHandoff("s", "m", {"u": epoch})]
    assert driver.later(1) == []


@pytest.mark.parametrize("accepts", [False, True])
def test_overlapping_it_goes_on_under_the_same_epoch_when_the_old_owner_dies(accepts: bool) -> None:
    driver = Driver(OVERLAPPING)
    epoch = offered(driver)
    if accepts:
        driver.started("u")
        driver.play(AcceptHandoff("s", "m", {"u": epoch}))
    answer = driver.play(LeavePool("s", "b"))
    assert "u" not in [thing.unit for thing in answer if isinstance(thing, StartUnit | StopUnit)]
    assert driver.unit() == Unit("m", epoch)
    assert driver.keeper.units["u"].epoch == epoch


def test_overlapping_it_stops_what_it_was_offered_when_the_offer_is_withdrawn() -> None:
    driver = Driver(OVERLAPPING)
    epoch = offered(driver)
    (stop,) = driver.play(Peg("s", "u", "b"))
    assert (named([stop]), driver.keeper.units["u"].epoch) == (["StopUnit"], epoch)
    assert driver.stopped("u") == []


def test_overlapping_what_one_declines_is_offered_to_another_and_runs_here_meanwhile() -> None:
    driver = Driver(OVERLAPPING)
    driver.own("u")
    driver.join("b", "c")
    offer = OfferHandoff("s", "m", {"u": "b"})
    assert driver.play(Drain("m")) == [offer]
    driver.play(offer)
    declined = Release("s", "b", {"u": driver.replica.position}, "no net")
    assert driver.play(declined) == [OfferHandoff("s", "m", {"u": "c"})]


def test_overlapping_a_unit_with_nowhere_to_go_is_stopped_and_released() -> None:
    driver = Driver(OVERLAPPING)
    driver.own("u")
    assert named(driver.play(Peg("s", "u", "ghost"))) == ["StopUnit"]
    assert driver.stopped("u") == [Release("s", "m", epochs(driver, "u"))]


def test_overlapping_the_owner_starts_again_what_it_had_stopped_if_the_other_dies() -> None:
    driver = Driver(OVERLAPPING)
    driver.own("u", "v")
    driver.join("b")
    (offer,) = driver.later(OVERLAPPING.settle_s)
    assert isinstance(offer, OfferHandoff)
    (unit,) = offer.units
    driver.play(offer)
    driver.play(AcceptHandoff("s", "b", {unit: driver.replica.position}))
    driver.later(10)
    (complete,) = driver.stopped(unit)
    assert isinstance(complete, CompleteHandoff)
    assert driver.play(LeavePool("s", "b")) == [StartUnit("s", unit, driver.unit(unit).epoch)]
    assert driver.play(complete) == []
    assert driver.unit(unit).owner == "m"


# ── settling ─────────────────────────────────────────────────────────────────────────────────


def test_owned_units_move_when_the_members_have_been_the_same_for_the_settle_time() -> None:
    driver = Driver()
    driver.own("u", "v")
    assert driver.join("b") == []
    assert driver.keeper.deadline(driver.now) == driver.now + 3.0
    assert driver.later(2.9) == []
    assert named(driver.later(0.1)) == ["StopUnit"]


def test_a_member_that_comes_and_goes_within_the_settle_time_moves_nothing() -> None:
    driver = Driver()
    driver.own("u", "v")
    driver.join("b")
    assert driver.later(2.9) == []
    assert driver.play(LeavePool("s", "b")) == []
    assert driver.later(100) == []


def test_each_change_of_the_members_begins_the_settle_time_anew() -> None:
    driver = Driver()
    driver.own("u", "v", "w")
    driver.join("b")
    driver.later(2)
    driver.join("c")
    assert driver.later(2) == []
    assert named(driver.later(1)) == ["StopUnit", "StopUnit"]


def test_a_rebalance_on_demand_does_not_wait_for_the_members_to_settle() -> None:
    driver = Driver()
    driver.own("u", "v")
    assert driver.join("b") == []
    assert named(driver.play(Rebalance("s"))) == ["StopUnit"]


def test_what_nobody_owns_is_claimed_at_once_and_pegs_and_drains_do_not_wait_either() -> None:
    driver = Driver()
    driver.own("u", "v")
    driver.join("b", "c")
    driver.play(AddUnits("s", ("w",)), Claim("s", "b", ("w",)))
    assert driver.play(Peg("s", "w", "m"), Release("s", "b", epochs(driver, "w"))) == [
        Claim("s", "m", ("w",))
    ]
    assert named(driver.play(Peg("s", "u", "b"))) == ["StopUnit"]
    assert named(driver.play(Drain("m"))) == ["StopUnit"]


# ── draining ─────────────────────────────────────────────────────────────────────────────────

FIFTEEN = tuple(f"u{n:02}" for n in range(15))


@pytest.mark.parametrize("membership", [EXCLUSIVE, OVERLAPPING], ids=["exclusive", "overlapping"])
@pytest.mark.parametrize("by_command", [True, False])
def test_15_units_drain_over_60_s_one_every_4_s_and_the_first_at_once(
    membership: Membership, by_command: bool
) -> None:
    driver = Driver(replace(membership, drain_s=5.0 if by_command else 60.0))
    driver.own(*FIFTEEN)
    driver.join("b")
    began, at = driver.now, list[float]()
    answer = driver.play(Drain("m", over_ms=60_000 if by_command else None))
    while True:
        at += [driver.now - began] * len(given_up(answer))
        deadline = driver.keeper.deadline(driver.now)
        if deadline > began + 61:
            break
        answer = driver.later(deadline - driver.now)
    assert at == pytest.approx([4.0 * n for n in range(15)])


def given_up(answer: Answer) -> list[str]:
    return [
        unit
        for thing in answer
        if isinstance(thing, StopUnit | OfferHandoff)
        for unit in ([thing.unit] if isinstance(thing, StopUnit) else thing.units)
    ]


def test_where_nobody_is_there_to_take_over_a_drain_takes_no_time() -> None:
    driver = Driver(replace(EXCLUSIVE, drain_s=60.0))
    driver.own(*FIFTEEN)
    assert len(given_up(driver.play(Drain("m", shutdown=True)))) == 15


def test_a_drain_keeps_as_many_units_as_it_is_told_to() -> None:
    driver = Driver()
    driver.own(*FIFTEEN)
    driver.join("b")
    assert len(given_up(driver.play(Drain("m", to=4)))) == 11


def test_a_drain_keeps_pegged_units_and_a_shutdown_does_not() -> None:
    for shutdown, stays in ((False, ["v"]), (True, [])):
        driver = Driver()
        driver.own("u", "v")
        driver.join("b")
        driver.play(Peg("s", "v", "m"))
        gone = given_up(driver.play(Drain("m", shutdown=shutdown)))
        assert sorted({"u", "v"} - set(gone)) == stays


def test_a_draining_member_claims_nothing_and_takes_units_again_when_the_drain_ends() -> None:
    driver = Driver()
    driver.join("m")
    driver.play(Drain("m"))
    assert driver.play(AddUnits("s", ("u",))) == []
    assert driver.play(Drain("m", off=True)) == [Claim("s", "m", ("u",))]


def test_a_drain_also_gives_up_what_was_on_its_way_here_when_it_began() -> None:
    driver = Driver(OVERLAPPING)
    epoch = offered(driver)
    driver.play(Drain("m", shutdown=True))
    driver.started("u")
    driver.play(AcceptHandoff("s", "m", {"u": epoch}))
    answer = driver.play(CompleteHandoff("s", "b", epochs(driver, "u")))
    assert given_up(answer) == ["u"]


def test_a_drain_also_gives_up_what_is_unpegged_while_it_lasts() -> None:
    driver = Driver()
    driver.own("u")
    driver.join("b")
    driver.play(Peg("s", "u", "m"), Drain("m"))
    assert given_up(driver.play(Unpeg("s", "u"))) == ["u"]


def test_a_shutdown_after_a_drain_gives_up_the_rest() -> None:
    driver = Driver()
    driver.own("u", "v")
    driver.join("b")
    assert len(given_up(driver.play(Drain("m", to=1)))) == 1
    assert len(given_up(driver.play(Drain("m", shutdown=True)))) == 1


def test_a_shutdown_does_not_keep_to_the_pace_of_a_drain_before_it() -> None:
    driver = Driver()
    driver.own("u", "v")
    driver.join("b")
    assert len(given_up(driver.play(Drain("m", over_ms=3_600_000)))) == 1
    assert len(given_up(driver.play(Drain("m", shutdown=True)))) == 1


def test_a_drain_offers_again_what_was_declined_and_still_gives_up_the_rest() -> None:
    driver = Driver(OVERLAPPING)
    driver.own("u", "v")
    driver.join("b", "c")
    (offer,) = driver.play(Drain("m", over_ms=10_000))
    assert isinstance(offer, OfferHandoff)
    ((unit, to),) = offer.units.items()
    driver.play(offer)
    assert given_up(driver.play(Release("s", to, {unit: driver.replica.position}, "no"))) == [unit]
    assert len(given_up(driver.later(10))) == 1


# ── failing ──────────────────────────────────────────────────────────────────────────────────


def test_a_unit_that_failed_is_released_with_the_reason_and_not_claimed_again() -> None:
    driver = Driver()
    driver.own("u")
    release = Release("s", "m", epochs(driver, "u"), "no disk")
    assert driver.failed("u", "no disk") == [release]
    assert driver.later(1) == []
    assert driver.play(release) == []
    assert driver.later(100) == []


def test_a_unit_that_failed_is_claimed_by_another_and_by_us_only_after_a_rebalance() -> None:
    driver = Driver()
    driver.own("u")
    (release,) = driver.failed("u", "no disk")
    assert isinstance(release, Release)
    driver.play(release)
    assert driver.play(Rebalance("s")) == [Claim("s", "m", ("u",))]


def test_a_unit_that_failed_is_not_started_again_before_the_log_has_heard_of_it() -> None:
    driver = Driver()
    driver.own("u")
    driver.connected = False
    assert driver.failed("u", "no disk") == []
    driver.connected = True
    assert named(driver.settle()) == ["Release"]


def test_an_offered_unit_that_failed_is_declined_with_the_reason() -> None:
    driver = Driver(OVERLAPPING)
    epoch = offered(driver)
    release = Release("s", "m", {"u": epoch}, "no net")
    assert driver.failed("u", "no net") == [release]
    assert driver.play(release) == []
    assert driver.unit().owner == "b"


# ── suspended, lost, out of time ─────────────────────────────────────────────────────────────


def test_while_suspended_nothing_new_is_started_or_proposed_and_what_runs_goes_on() -> None:
    driver = Driver()
    driver.own("u", "v")
    driver.play(AddUnits("s", ("w", "x")))
    driver.connected = False
    assert driver.play(Claim("s", "m", ("w", "x"))) == []
    assert driver.play(AddUnits("s", ("y",))) == []
    assert driver.later(100) == []
    driver.connected = True
    assert named(driver.settle()) == ["StartUnit", "StartUnit", "Claim"]


@pytest.mark.parametrize("connected", [True, False])
def test_exclusive_units_stop_when_they_may_not_run_and_go_on_under_the_same_epoch(
    connected: bool,
) -> None:
    driver = Driver()
    driver.own("u")
    driver.may_run, driver.connected = False, connected
    assert named(driver.settle()) == ["StopUnit"]
    assert driver.stopped("u") == []
    driver.may_run = driver.connected = True
    assert driver.settle() == [StartUnit("s", "u", driver.unit().epoch)]


def test_a_unit_that_may_run_again_before_it_has_stopped_is_stopped_first() -> None:
    driver = Driver()
    driver.own("u")
    driver.may_run = False
    driver.settle()
    driver.may_run = True
    assert driver.settle() == []
    assert named(driver.stopped("u")) == ["StartUnit"]


def test_overlapping_units_go_on_though_they_may_be_anothers_by_now() -> None:
    driver = Driver(OVERLAPPING)
    driver.own("u")
    driver.may_run = driver.connected = False
    assert driver.later(100) == []
    assert named(driver.keeper.stop_all("the session is lost")) == ["StopUnit"]


def test_when_the_time_for_leaving_is_up_everything_stops_and_nothing_is_said() -> None:
    for membership in (EXCLUSIVE, OVERLAPPING):
        driver = Driver(membership)
        driver.own("u")
        driver.join("b")
        driver.play(Drain("m", shutdown=True, over_ms=60_000))
        driver.may_run = False
        answer = driver.settle(leaving=True, time_is_up=True)
        assert set(named(answer)) <= {"StopUnit"}
        assert driver.keeper.units["u"].phase is Phase.STOPPING
        driver.keeper.stopped("u", driver.unit().epoch)
        assert driver.settle(leaving=True, time_is_up=True) == []


def test_a_lost_session_stops_each_unit_once() -> None:
    driver = Driver()
    driver.own("u", "v")
    assert named(driver.keeper.stop_all("lost")) == ["StopUnit", "StopUnit"]
    assert driver.keeper.stop_all("lost") == []


# ── load ─────────────────────────────────────────────────────────────────────────────────────


def test_loads_are_reported_when_they_have_changed_and_only_of_what_it_owns() -> None:
    driver = Driver(BY_LOAD)
    driver.own("u", "v")
    driver.keeper.measured({"v": 0, "u": 7, "stranger": 5})
    assert driver.settle() == [ReportLoad("s", "m", {"u": 7})]
    assert driver.later(1) == []
    driver.play(ReportLoad("s", "m", {"u": 7}))
    driver.keeper.measured({"u": 7, "v": 0})
    assert driver.settle() == []


def test_loads_that_were_measured_while_suspended_are_reported_afterwards() -> None:
    driver = Driver(BY_LOAD)
    driver.own("u")
    driver.keeper.measured({"u": 7})
    driver.connected = False
    assert driver.settle() == []
    driver.connected = True
    assert driver.settle() == [ReportLoad("s", "m", {"u": 7})]


def loaded(driver: Driver, **loads: int) -> Answer:
    return driver.play(ReportLoad("s", "m", loads))


def test_loads_are_evened_out_once_an_interval() -> None:
    driver = Driver(BY_LOAD)
    driver.own("u", "v", "w", "x")
    driver.join("b")
    driver.later(BY_LOAD.settle_s)
    for unit, local in list(driver.keeper.units.items()):
        if local.phase is Phase.STOPPING:
            driver.stopped(unit)
            driver.play(Release("s", "m", epochs(driver, unit)), Claim("s", "b", (unit,)))
    mine = driver.pool.owned_by("m")
    assert len(mine) == 2
    assert loaded(driver, **{mine[0]: 5, mine[1]: 90}) == []
    assert driver.later(BY_LOAD.rebalance_s - 1) == []
    assert named(driver.later(1)) == ["StopUnit"]


def test_a_rebalance_on_demand_evens_loads_out_at_once() -> None:
    driver = Driver(BY_LOAD)
    driver.own("u", "v", "w")
    driver.join("b")
    assert loaded(driver, u=50, v=40, w=10) == []
    assert named(driver.play(Rebalance("s"))) == ["StopUnit"]
