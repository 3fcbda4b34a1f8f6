"""What each command does, and what it refuses to do."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from remuda.replica.command import Rejected, Stamp
from remuda.replica.commands import (
    AbortJoin,
    AcceptJoin,
    AnyCommand,
    Gc,
    LeaveCluster,
    NotifyJoin,
    PrepareJoin,
    Void,
)
from remuda.replica.entry import Entry
from remuda.replica.facts import JoinAborted, MemberJoined, ObserverPicked, PeerLeft, RingClosed
from remuda.replica.fold import play, reactions
from remuda.replica.ring import busy, watches
from remuda.replica.state import PeerInfo, Replica, decode_replica, encode_replica

INFO = PeerInfo("host", 1)


def ring(*members: str) -> Replica:
    pairs = dict(zip(members, (*members[1:], members[0]), strict=True)) if len(members) > 1 else {}
    return Replica(peers=dict.fromkeys(members, INFO), members=members, pairs=pairs)


def played(replica: Replica, *commands: AnyCommand) -> Replica:
    for command in commands:
        entry = Entry("id", Stamp(replica.position + 1, "somebody", 0), command)
        replica = play(replica, entry).replica
    return replica


@pytest.mark.parametrize(
    "command",
    [
        PrepareJoin("a", INFO),
        NotifyJoin("x", "a"),
        AcceptJoin("x"),
        AbortJoin("x"),
        AbortJoin("a"),
        LeaveCluster("x"),
    ],
    ids=str,
)
def test_a_spurious_command_is_rejected_and_changes_nothing(command: AnyCommand) -> None:
    before = ring("a", "b", "c")
    result = play(before, Entry("id", Stamp(0, "a", 0), command))
    assert result.rejected is not None
    assert result.facts == ()
    assert encode_replica(result.replica) == encode_replica(played(before, Void()))


def test_a_second_prepare_of_a_joiner_is_rejected() -> None:
    joining = played(ring("a", "b"), PrepareJoin("c", INFO))
    assert isinstance(PrepareJoin("c", INFO).apply(joining, Stamp(1, "c", 0)), Rejected)


def test_an_aborted_joiner_is_forgotten_at_every_stage() -> None:
    prepared = played(ring("a", "b"), PrepareJoin("c", INFO))
    accepted = played(prepared, NotifyJoin("c", "a"))
    for stage in (prepared, accepted):
        after = played(stage, AbortJoin("c"))
        assert (after.peers, after.prepared, after.accepted) == (ring("a", "b").peers, {}, {})


def test_an_observer_that_leaves_strands_its_joiner_at_every_stage() -> None:
    prepared = played(ring("a", "b"), PrepareJoin("c", INFO))
    (observer,) = prepared.prepared
    for stage in (prepared, played(prepared, NotifyJoin("c", "a"))):
        result = play(stage, Entry("id", Stamp(stage.position + 1, "x", 0), LeaveCluster(observer)))
        assert "c" not in result.replica.peers
        assert JoinAborted("c") in result.facts
        assert PeerLeft(observer) in result.facts


def test_the_last_member_that_leaves_takes_its_joiner_along() -> None:
    after = played(ring("a"), PrepareJoin("b", INFO), LeaveCluster("a"))
    assert after.peers == {}
    assert played(after, PrepareJoin("b", INFO)).members == ("b",)


def test_diffs_tell_what_changed() -> None:
    replica, told = ring("a", "b"), list[object]()
    for command in (
        PrepareJoin("c", INFO),
        NotifyJoin("c", "a"),
        AcceptJoin("c"),
        LeaveCluster("b"),
    ):
        result = play(replica, Entry("id", Stamp(replica.position + 1, "c", 0), command))
        replica = result.replica
        told += result.facts
    assert told[0] == ObserverPicked("c", "a")
    assert told[2:] == [
        MemberJoined("c"),
        RingClosed("a", "c"),
        RingClosed("c", "b"),
        PeerLeft("b"),
        RingClosed("c", "a"),
    ]


def test_the_observer_owes_a_notification_and_then_the_joiner_its_acceptance() -> None:
    prepared = played(ring("a", "b"), PrepareJoin("c", INFO))
    assert list(reactions(prepared, "a")) == [NotifyJoin("c", "a")]
    assert list(reactions(prepared, "b")) == list(reactions(prepared, "c")) == []
    accepted = played(prepared, NotifyJoin("c", "a"))
    assert list(reactions(accepted, "c")) == [AcceptJoin("c")]
    assert list(reactions(accepted, "a")) == []
    assert list(reactions(played(accepted, AcceptJoin("c")), "c")) == []


def test_a_joiner_watches_its_observer_until_it_is_notified() -> None:
    prepared = played(ring("a", "b"), PrepareJoin("c", INFO))
    assert watches(prepared, "c") == {"a"}
    assert watches(prepared, "a") == {"b", "c"}
    accepted = played(prepared, NotifyJoin("c", "a"))
    assert watches(accepted, "c") == {"b"}
    joined = played(accepted, AcceptJoin("c"))
    assert (watches(joined, "a"), watches(joined, "c")) == ({"c"}, {"b"})


def test_those_in_the_way_of_a_joiner_are_observers_and_their_joiners() -> None:
    replica = played(ring("a", "b"), PrepareJoin("c", INFO))
    assert busy(replica) == {"a", "c"}


def test_gc_is_remembered() -> None:
    assert played(ring("a"), Void(), Gc()).collected == 1


def test_a_replica_survives_its_origin_byte_for_byte() -> None:
    replica = played(ring("a", "b", "c"), PrepareJoin("d", INFO), NotifyJoin("d", "a"))
    restored = decode_replica(encode_replica(replica))
    assert restored == replica
    assert restored.digest() == replica.digest()


def test_a_late_notification_does_not_count_for_another_observer() -> None:
    """`a` was asked first and is slow; `b` has been picked since, and has not looked yet."""
    prepared = replace(ring("a", "b"), prepared={"b": "c"}, peers=dict.fromkeys("abc", INFO))
    assert isinstance(NotifyJoin("c", "a").apply(prepared, Stamp(1, "a", 0)), Rejected)
    assert isinstance(NotifyJoin("c", "b").apply(prepared, Stamp(1, "b", 0)), Replica)
