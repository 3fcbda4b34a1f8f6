"""Whatever is asked of a replica, in whatever order, its invariants hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remuda.replica.command import Stamp
from remuda.replica.commands import (
    AbortJoin,
    AcceptJoin,
    AnyCommand,
    Gc,
    LeaveCluster,
    NotifyJoin,
    PrepareJoin,
)
from remuda.replica.entry import Entry
from remuda.replica.fold import play
from remuda.replica.invariants import broken
from remuda.replica.ring import is_known, watches
from remuda.replica.state import PeerInfo, Replica, decode_replica, encode_replica

INFO = PeerInfo("host", 1)
peers = st.sampled_from(list("abcdefgh"))
commands: st.SearchStrategy[list[AnyCommand]] = st.lists(
    st.one_of(
        st.builds(PrepareJoin, peers, st.just(INFO)),
        st.builds(NotifyJoin, peers, peers),
        st.builds(AcceptJoin, peers),
        st.builds(AbortJoin, peers),
        st.builds(LeaveCluster, peers),
        st.just(Gc()),
    ),
    max_size=80,
)


def replicas(asked: list[AnyCommand]) -> list[Replica]:
    history = [Replica()]
    for position, command in enumerate(asked):
        entry = Entry("id", Stamp(position, "somebody", 0), command)
        history.append(play(history[-1], entry).replica)
    return history


@given(commands)
def test_every_invariant_holds_after_every_entry(asked: list[AnyCommand]) -> None:
    for replica in replicas(asked):
        assert broken(replica) == []


@given(commands)
def test_every_member_but_a_lone_one_is_watched_by_exactly_one_member(
    asked: list[AnyCommand],
) -> None:
    replica = replicas(asked)[-1]
    for peer in replica.members:
        watchers = [other for other in replica.members if peer in watches(replica, other)]
        assert len(watchers) == (1 if len(replica.members) > 1 else 0)


@given(commands)
def test_every_joiner_is_watched_by_a_member_and_nobody_watches_a_stranger(
    asked: list[AnyCommand],
) -> None:
    replica = replicas(asked)[-1]
    for peer in replica.peers:
        if peer not in replica.members:
            assert any(peer in watches(replica, other) for other in replica.members)
        assert all(is_known(replica, watched) for watched in watches(replica, peer))


@given(commands, st.integers(0, 80))
def test_playing_on_from_an_origin_gives_the_same_replica(
    asked: list[AnyCommand], cut: int
) -> None:
    history = replicas(asked)
    cut = min(cut, len(asked))
    replica = decode_replica(encode_replica(history[cut]))
    for position in range(cut, len(asked)):
        entry = Entry("id", Stamp(position, "somebody", 0), asked[position])
        replica = play(replica, entry).replica
    assert encode_replica(replica) == encode_replica(history[-1])
