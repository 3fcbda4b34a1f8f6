"""What each command of ownership does, what it refuses, and what holds whatever is asked."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remuda.replica.command import Stamp
from remuda.replica.commands import (
    AbortJoin,
    AcceptHandoff,
    AcceptJoin,
    AddUnits,
    AnyCommand,
    Claim,
    CompleteHandoff,
    Drain,
    Gc,
    JoinPool,
    LeaveCluster,
    LeavePool,
    NotifyJoin,
    OfferHandoff,
    Peg,
    PrepareJoin,
    Rebalance,
    Release,
    RemoveUnits,
    ReportLoad,
    Unpeg,
    Void,
)
from remuda.replica.entry import Entry
from remuda.replica.facts import (
    DrainAsked,
    Fact,
    HandoffAccepted,
    HandoffCompleted,
    HandoffOffered,
    LoadReported,
    PeerLeft,
    PoolJoined,
    PoolLeft,
    RebalanceAsked,
    UnitPegged,
    UnitsAdded,
    UnitsClaimed,
    UnitsReleased,
    UnitsRemoved,
    UnitUnpegged,
)
from remuda.replica.fold import Played, play
from remuda.replica.invariants import broken
from remuda.replica.pool import Drain as Draining
from remuda.replica.pool import Handoff, Pool, Unit
from remuda.replica.state import PeerInfo, Replica, encode_replica

INFO = PeerInfo("host", 1)


def one(replica: Replica, command: AnyCommand) -> Played:
    return play(replica, Entry("id", Stamp(replica.position + 1, "somebody", 0), command))


def played(replica: Replica, *commands: AnyCommand) -> Replica:
    for command in commands:
        result = one(replica, command)
        assert result.rejected is None, f"{command}: {result.rejected}"
        replica = result.replica
    return replica


def facts(replica: Replica, command: AnyCommand) -> list[Fact]:
    return list(one(replica, command).facts)


def cluster() -> Replica:
    """`a`, `b` and `c`, who calls itself gpu; none of them serves anything. At position 9."""
    pairs = {"a": "b", "b": "c", "c": "a"}
    infos = {"a": INFO, "b": INFO, "c": PeerInfo("host", 1, "gpu")}
    return Replica(position=9, peers=infos, members=tuple(pairs), pairs=pairs)


def serving() -> Replica:
    """All three serve `p`, whose units `u` and `v` nobody owns yet. At position 13."""
    return played(cluster(), *(JoinPool("p", peer) for peer in "abc"), AddUnits("p", ("u", "v")))


def owned() -> Replica:
    """`a` owns `u` under the epoch 14, and nobody `v`."""
    return played(serving(), Claim("p", "a", ("u",)))


def offered() -> Replica:
    """`a` has offered `u` to `b`, whose epoch is 15."""
    return played(owned(), OfferHandoff("p", "a", {"u": "b"}))


def accepted() -> Replica:
    return played(offered(), AcceptHandoff("p", "b", {"u": 15}))


def unit(replica: Replica, name: str = "u") -> Unit:
    return replica.pools["p"].units[name]


# ── what each does ───────────────────────────────────────────────────────────────────────────


def test_joining_a_pool_makes_it_and_brings_its_settings_and_a_name() -> None:
    first = played(cluster(), JoinPool("p", "a"))
    assert first.pools["p"] == Pool(members=("a",))
    assert facts(first, JoinPool("p", "c")) == [PoolJoined("p", "c")]
    both = played(first, JoinPool("p", "c", "load", overlap=True))
    assert both.pools["p"] == Pool("load", True, ("a", "c"), names={"c": "gpu"})


def test_leaving_a_pool_is_like_leaving_the_cluster_as_far_as_the_pool_goes() -> None:
    before = played(accepted(), JoinPool("q", "a"), Drain("a", "p"))
    assert facts(before, LeavePool("p", "a")) == [PoolLeft("p", "a")]
    assert PeerLeft("a") in facts(before, LeaveCluster("a"))
    after = played(before, LeavePool("p", "a"))
    assert after.pools["p"] == played(before, LeaveCluster("a")).pools["p"]
    assert after.pools["p"].drains == {}
    assert "a" in after.members
    assert after.pools["q"].members == ("a",)


def test_units_are_added_once_and_stay_as_they_are() -> None:
    before = owned()
    assert facts(before, AddUnits("p", ("u", "w", "w"))) == [UnitsAdded("p", 1)]
    after = played(before, AddUnits("p", ("u", "w", "w")))
    assert unit(after) == unit(before)
    assert unit(after, "w").owner is None


def test_units_can_be_added_to_a_pool_that_nobody_has_joined() -> None:
    assert list(played(Replica(), AddUnits("new", ("u",))).pools["new"].units) == ["u"]


def test_a_removed_unit_is_gone_at_once_if_nobody_owns_it() -> None:
    assert facts(serving(), RemoveUnits("p", ("u", "x"))) == [UnitsRemoved("p", 1)]
    assert list(played(serving(), RemoveUnits("p", ("u", "x"))).pools["p"].units) == ["v"]


@pytest.mark.parametrize(
    "before", [owned(), offered(), accepted()], ids=["owned", "offered", "accepted"]
)
def test_a_removed_unit_that_is_owned_goes_when_its_owner_has_released_it(before: Replica) -> None:
    assert facts(before, RemoveUnits("p", ("u",))) == [UnitsRemoved("p", 1)]
    removed = played(before, RemoveUnits("p", ("u",)))
    assert unit(removed) == Unit("a", 14, removed=True)
    for end in (Release("p", "a", {"u": 14}), LeaveCluster("a"), LeavePool("p", "a")):
        assert list(played(removed, end).pools["p"].units) == ["v"]


def test_a_unit_that_is_added_again_before_it_has_gone_is_its_owners_still() -> None:
    removed = played(offered(), RemoveUnits("p", ("u",)))
    assert facts(removed, AddUnits("p", ("u", "v"))) == [UnitsAdded("p", 1)]
    assert unit(played(removed, AddUnits("p", ("u",)))) == Unit("a", 14)


def test_a_claim_takes_what_is_still_free_and_its_position_is_the_epoch() -> None:
    before = owned()
    assert facts(before, Claim("p", "b", ("u", "v", "x"))) == [UnitsClaimed("p", "b", 1)]
    after = played(before, Claim("p", "b", ("u", "v", "x")))
    assert unit(after) == Unit("a", 14)
    assert unit(after, "v") == Unit("b", after.position)


def test_a_released_unit_is_free() -> None:
    assert facts(owned(), Release("p", "a", {"u": 14})) == [
        UnitsReleased("p", "a", ("u",), failure=None)
    ]
    after = unit(played(owned(), Release("p", "a", {"u": 14})))
    assert after.owner is None
    assert after.epoch >= 14


def test_a_release_for_failure_is_remembered_and_keeps_the_unit_from_that_peer() -> None:
    after = played(owned(), Release("p", "a", {"u": 14}, "no disk"))
    assert unit(after).failures == {"a": "no disk"}
    assert one(after, Claim("p", "a", ("u",))).rejected
    again = played(after, Claim("p", "b", ("u",)), Release("p", "b", {"u": 16}, "no net"))
    assert unit(again).failures == {"a": "no disk", "b": "no net"}


def test_an_owner_that_releases_what_it_has_offered_leaves_it_to_the_other() -> None:
    for before in (offered(), accepted()):
        assert unit(played(before, Release("p", "a", {"u": 14}))) == Unit("b", 15)


def test_who_declines_an_offer_leaves_the_unit_to_its_owner() -> None:
    for before in (offered(), accepted()):
        after = played(before, Release("p", "b", {"u": 15}, "no net"))
        assert unit(after) == Unit("a", 14, failures={"b": "no net"})


def test_an_offer_leaves_the_owner_what_it_is_and_its_position_is_the_next_epoch() -> None:
    command = OfferHandoff("p", "a", {"u": "b"})
    assert facts(owned(), command) == [HandoffOffered("p", "a", {"u": "b"})]
    assert unit(played(owned(), command)) == Unit("a", 14, handoff=Handoff("b", 15))


def test_an_accepted_unit_is_still_its_owners_until_that_one_completes() -> None:
    accept, complete = AcceptHandoff("p", "b", {"u": 15}), CompleteHandoff("p", "a", {"u": 14})
    assert facts(offered(), accept) == [HandoffAccepted("p", "b", ("u",))]
    assert unit(accepted()) == Unit("a", 14, handoff=Handoff("b", 15, accepted=True))
    assert facts(accepted(), complete) == [HandoffCompleted("p", "a", ("u",))]
    assert unit(played(accepted(), complete)) == Unit("b", 15)


def test_a_load_is_the_owners_to_report() -> None:
    before = played(owned(), Claim("p", "b", ("v",)))
    assert facts(before, ReportLoad("p", "a", {"u": 7})) == [LoadReported("p", "a", 7)]
    after = played(before, ReportLoad("p", "a", {"u": 7, "v": 9}))
    assert (unit(after).load, unit(after, "v").load) == (7, 0)
    assert unit(played(after, Release("p", "a", {"u": 14}))).load == 7


def test_a_peg_stays_with_the_unit_whoever_owns_it() -> None:
    assert facts(owned(), Peg("p", "u", "ghost")) == [UnitPegged("p", "u", "ghost")]
    pegged = played(owned(), Peg("p", "u", "ghost"))
    assert unit(pegged) == Unit("a", 14, peg="ghost")
    assert facts(pegged, Unpeg("p", "u")) == [UnitUnpegged("p", "u")]
    assert unit(played(pegged, Unpeg("p", "u"))) == unit(owned())


@pytest.mark.parametrize(("to", "stays"), [("b", True), ("a", False), ("ghost", False)])
def test_a_peg_to_another_withdraws_an_offer_but_not_an_acceptance(to: str, stays: bool) -> None:
    assert (unit(played(offered(), Peg("p", "u", to))).handoff is not None) is stays
    assert unit(played(accepted(), Peg("p", "u", to))).handoff == Handoff("b", 15, accepted=True)


def test_a_pegged_unit_is_claimed_by_and_offered_to_its_peer_only_by_id_or_by_name() -> None:
    for peg in ("c", "gpu"):
        free = played(serving(), Peg("p", "u", peg))
        assert one(free, Claim("p", "a", ("u",))).rejected
        assert unit(played(free, Claim("p", "c", ("u",)))).owner == "c"
        mine = played(owned(), Peg("p", "u", peg))
        assert one(mine, OfferHandoff("p", "a", {"u": "b"})).rejected
        assert unit(played(mine, OfferHandoff("p", "a", {"u": "c"}))).handoff is not None


def test_a_drain_is_for_every_pool_of_a_peer_or_for_one() -> None:
    before = played(serving(), JoinPool("q", "a"))
    assert facts(before, Drain("a")) == [DrainAsked("a", 0, off=False)]
    everywhere = played(before, Drain("a", to=3, over_ms=5000))
    assert everywhere.pools["p"].drains == {"a": Draining(3, over_ms=5000)}
    assert everywhere.pools["q"].drains == everywhere.pools["p"].drains
    assert played(before, Drain("a", "q")).pools["p"].drains == {}


def test_a_drain_can_be_changed_and_called_off_but_a_shutdown_cannot() -> None:
    draining = played(serving(), Drain("a", to=3))
    assert played(draining, Drain("a", to=1)).pools["p"].drains == {"a": Draining(1)}
    assert played(draining, Drain("a", off=True)).pools["p"].drains == {}
    leaving = played(draining, Drain("a", shutdown=True))
    assert one(leaving, Drain("a", off=True)).rejected
    assert one(leaving, Drain("a", to=5)).rejected


def test_who_drains_keeps_its_units_until_it_gives_them_and_is_given_no_others() -> None:
    draining = played(owned(), Drain("a"), Drain("b"))
    assert unit(draining) == Unit("a", 14)
    assert one(draining, Claim("p", "a", ("v",))).rejected
    assert one(draining, OfferHandoff("p", "a", {"u": "b"})).rejected


def test_to_rebalance_is_noted_and_gives_failed_units_another_chance() -> None:
    before = played(owned(), Release("p", "a", {"u": 14}, "no disk"))
    assert facts(before, Rebalance("p")) == [RebalanceAsked("p")]
    after = played(before, Rebalance("p"))
    assert after.pools["p"].rebalanced == after.position
    assert unit(played(after, Claim("p", "a", ("u",)))).owner == "a"


def test_who_leaves_takes_along_what_it_owned_was_offered_and_failed_at() -> None:
    before = played(
        accepted(), Claim("p", "c", ("v",)), Release("p", "c", {"v": 17}, "no"), Drain("c")
    )
    assert unit(played(before, LeaveCluster("a"))) == Unit("b", 15)
    assert unit(played(before, LeaveCluster("b"))) == Unit("a", 14)
    for order in (("a", "b"), ("b", "a")):
        after = played(before, *(LeaveCluster(peer) for peer in order))
        assert unit(after).owner is None
        assert unit(after).handoff is None
    without_c = played(before, LeaveCluster("c")).pools["p"]
    assert without_c.units["v"].failures == {}
    assert (without_c.names, without_c.drains) == ({}, {})


@pytest.mark.parametrize(
    ("before", "command", "fact"),
    [
        (
            owned(),
            Release("p", "a", {"u": 14, "v": 3, "x": 3}),
            UnitsReleased("p", "a", ("u",), failure=None),
        ),
        (
            owned(),
            OfferHandoff("p", "a", {"u": "b", "v": "b"}),
            HandoffOffered("p", "a", {"u": "b"}),
        ),
        (offered(), AcceptHandoff("p", "b", {"u": 15, "v": 15}), HandoffAccepted("p", "b", ("u",))),
        (
            accepted(),
            CompleteHandoff("p", "a", {"u": 14, "v": 14}),
            HandoffCompleted("p", "a", ("u",)),
        ),
        (owned(), ReportLoad("p", "a", {"u": 7, "v": 9}), LoadReported("p", "a", 7)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_of_a_command_that_came_too_late_for_some_units_the_facts_tell_of_the_others(
    before: Replica, command: AnyCommand, fact: Fact
) -> None:
    assert facts(before, command) == [fact]


# ── what each refuses ────────────────────────────────────────────────────────────────────────

REFUSED: Mapping[str, tuple[Replica, AnyCommand]] = {
    "joining twice": (serving(), JoinPool("p", "a")),
    "joining from outside the cluster": (serving(), JoinPool("p", "x")),
    "leaving a pool one is not in": (cluster(), LeavePool("p", "a")),
    "leaving as somebody else": (serving(), LeavePool("p", "x")),
    "adding only what is there": (serving(), AddUnits("p", ("v", "u"))),
    "removing only what is not there": (serving(), RemoveUnits("p", ("x",))),
    "removing from no pool": (serving(), RemoveUnits("x", ("u",))),
    "claiming what is owned": (owned(), Claim("p", "b", ("u",))),
    "claiming what one owns": (owned(), Claim("p", "a", ("u",))),
    "claiming what is not there": (owned(), Claim("p", "b", ("x",))),
    "claiming from outside the pool": (serving(), Claim("p", "x", ("u",))),
    "claiming in no pool": (serving(), Claim("x", "a", ("u",))),
    "claiming while draining": (played(serving(), Drain("a")), Claim("p", "a", ("u",))),
    "claiming what is pegged elsewhere": (
        played(serving(), Peg("p", "u", "b")),
        Claim("p", "a", ("u",)),
    ),
    "releasing what is free": (serving(), Release("p", "a", {"u": -1})),
    "releasing what is another's": (owned(), Release("p", "b", {"u": 14})),
    "releasing under an old epoch": (owned(), Release("p", "a", {"u": 13})),
    "releasing under an epoch to come": (owned(), Release("p", "a", {"u": 15})),
    "releasing in no pool": (owned(), Release("x", "a", {"u": 14})),
    "a third one releasing an offer": (offered(), Release("p", "c", {"u": 15})),
    "declining under the owner's epoch": (offered(), Release("p", "b", {"u": 14})),
    "offering what is free": (serving(), OfferHandoff("p", "a", {"u": "b"})),
    "offering what is another's": (owned(), OfferHandoff("p", "b", {"u": "c"})),
    "offering to oneself": (owned(), OfferHandoff("p", "a", {"u": "a"})),
    "offering to a stranger": (owned(), OfferHandoff("p", "a", {"u": "x"})),
    "offering twice": (offered(), OfferHandoff("p", "a", {"u": "c"})),
    "offering what is removed": (
        played(owned(), RemoveUnits("p", ("u",))),
        OfferHandoff("p", "a", {"u": "b"}),
    ),
    "offering in no pool": (owned(), OfferHandoff("x", "a", {"u": "b"})),
    "offering to one who failed at it": (
        played(offered(), Release("p", "b", {"u": 15}, "no")),
        OfferHandoff("p", "a", {"u": "b"}),
    ),
    "accepting what is not offered": (owned(), AcceptHandoff("p", "b", {"u": 14})),
    "a third one accepting": (offered(), AcceptHandoff("p", "c", {"u": 15})),
    "accepting an old offer": (offered(), AcceptHandoff("p", "b", {"u": 14})),
    "accepting twice": (accepted(), AcceptHandoff("p", "b", {"u": 15})),
    "accepting in no pool": (offered(), AcceptHandoff("x", "b", {"u": 15})),
    "completing what is not accepted": (offered(), CompleteHandoff("p", "a", {"u": 14})),
    "completing what is not offered": (owned(), CompleteHandoff("p", "a", {"u": 14})),
    "completing for the owner": (accepted(), CompleteHandoff("p", "b", {"u": 14})),
    "completing under another epoch": (accepted(), CompleteHandoff("p", "a", {"u": 15})),
    "completing in no pool": (accepted(), CompleteHandoff("x", "a", {"u": 14})),
    "a load of another's": (owned(), ReportLoad("p", "b", {"u": 5})),
    "a negative load": (owned(), ReportLoad("p", "a", {"u": -5})),
    "a load in no pool": (owned(), ReportLoad("x", "a", {"u": 5})),
    "pegging what is not there": (serving(), Peg("p", "x", "a")),
    "pegging in no pool": (serving(), Peg("x", "u", "a")),
    "unpegging what is not pegged": (serving(), Unpeg("p", "u")),
    "unpegging what is not there": (serving(), Unpeg("p", "x")),
    "rebalancing no pool": (serving(), Rebalance("x")),
    "draining a stranger": (serving(), Drain("x")),
    "draining in no pool": (serving(), Drain("a", "x")),
    "draining the same way again": (played(serving(), Drain("a")), Drain("a")),
    "ending no drain": (serving(), Drain("a", off=True)),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_may_not_be_is_rejected_with_a_reason_and_changes_nothing(
    case: tuple[Replica, AnyCommand],
) -> None:
    before, command = case
    result = one(before, command)
    assert result.rejected
    assert result.facts == ()
    assert encode_replica(result.replica) == encode_replica(played(before, Void()))


# ── whatever is asked, in whatever order ─────────────────────────────────────────────────────

PEERS = list("abcdx")
peers = st.sampled_from(PEERS)
pools = st.sampled_from("pq")
units = st.sampled_from("uvw")
some_units = st.lists(units, min_size=1, max_size=3).map(tuple)
# How old the epochs are that a command names: 0 stands for the right one. See `resolved`.
ages = st.dictionaries(units, st.sampled_from([0, 0, 0, 1, 2]), min_size=1, max_size=2)
commands: st.SearchStrategy[list[AnyCommand]] = st.lists(
    st.one_of(
        st.builds(PrepareJoin, peers, st.sampled_from([INFO, PeerInfo("host", 1, "gpu")])),
        st.builds(NotifyJoin, peers, peers),
        st.builds(AcceptJoin, peers),
        st.builds(AbortJoin, peers),
        st.builds(LeaveCluster, peers),
        st.builds(JoinPool, pools, peers, st.sampled_from(["count", "load"]), st.booleans()),
        st.builds(LeavePool, pools, peers),
        st.builds(AddUnits, pools, some_units),
        st.builds(RemoveUnits, pools, some_units),
        st.builds(Claim, pools, peers, some_units),
        st.builds(Release, pools, peers, ages, st.sampled_from([None, None, "broken"])),
        st.builds(OfferHandoff, pools, peers, st.dictionaries(units, peers, min_size=1)),
        st.builds(AcceptHandoff, pools, peers, ages),
        st.builds(CompleteHandoff, pools, peers, ages),
        st.builds(ReportLoad, pools, peers, st.dictionaries(units, st.integers(-1, 9))),
        st.builds(Peg, pools, units, st.sampled_from([*PEERS, "gpu"])),
        st.builds(Unpeg, pools, units),
        st.builds(Rebalance, pools),
        st.builds(
            Drain,
            peers,
            st.sampled_from([None, "p", "q"]),
            to=st.integers(0, 2),
            shutdown=st.booleans(),
            off=st.booleans(),
        ),
        st.just(Gc()),
    ),
    max_size=60,
)


def resolved(replica: Replica, command: AnyCommand) -> AnyCommand:
    """The command with the epochs that are right at its turn, or older by what was drawn."""
    if not isinstance(command, Release | AcceptHandoff | CompleteHandoff):
        return command
    known = replica.pools.get(command.pool, Pool()).units
    right: dict[str, int] = {}
    for name, age in command.units.items():
        state = known.get(name, Unit())
        handed = state.handoff is not None and state.handoff.to == command.peer
        epoch = state.handoff.epoch if state.handoff is not None and handed else state.epoch
        right[name] = epoch - age
    return replace(command, units=right)


def history(asked: list[AnyCommand]) -> list[tuple[AnyCommand, Played]]:
    """What came of each, from three members on who share a pool."""
    told: list[tuple[AnyCommand, Played]] = []
    replica = serving()
    for command in asked:
        told.append((command, one(replica, resolved(replica, command))))
        replica = told[-1][1].replica
    return told


@given(commands)
def test_every_invariant_holds_after_every_entry(asked: list[AnyCommand]) -> None:
    for _, result in history(asked):
        assert broken(result.replica) == []


@given(commands)
def test_what_is_rejected_changes_nothing_and_what_is_not_tells_facts(
    asked: list[AnyCommand],
) -> None:
    before = serving()
    for _, result in history(asked):
        if result.rejected is not None:
            assert replace(result.replica, position=before.position) == before
        else:
            assert result.facts
        before = result.replica


@given(commands)
def test_the_epochs_of_a_unit_never_decrease_and_grow_with_every_owner(
    asked: list[AnyCommand],
) -> None:
    last: dict[tuple[str, str], tuple[str, int]] = {}
    for _, result in history(asked):
        for pool, state in result.replica.pools.items():
            for name, now in state.units.items():
                owner, epoch = last.get((pool, name), ("", -1))
                if now.owner is None:
                    continue
                assert now.epoch >= epoch
                assert now.owner == owner or now.epoch > epoch
                last[pool, name] = now.owner, now.epoch


@given(commands)
def test_a_stale_release_acceptance_or_completion_never_changes_anything(
    asked: list[AnyCommand],
) -> None:
    for command, result in history(asked):
        if isinstance(command, Release | AcceptHandoff | CompleteHandoff) and all(
            command.units.values()
        ):
            assert result.rejected is not None


@given(commands)
def test_nobody_is_given_what_it_may_not_own(asked: list[AnyCommand]) -> None:
    """By a claim or an offer; what it has, it keeps until it gives it up."""
    before = serving()
    for _, result in history(asked):
        command = result.entry.command
        if isinstance(command, Claim | OfferHandoff) and result.rejected is None:
            old, new = before.pools[command.pool], result.replica.pools[command.pool]
            for name in command.units:
                if name not in new.units or new.units[name] == old.units[name]:
                    continue
                handoff = new.units[name].handoff
                taker = handoff.to if handoff is not None else new.units[name].owner
                assert taker is not None
                assert old.may_own(taker, old.units[name])
        before = result.replica
