"""The simulator: it passes on the code as it is, tells the same story twice, and notices bugs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from remuda.peer import core
from remuda.peer.core import PeerCore, Timing
from remuda.replica import ring
from remuda.replica.commands import (
    AcceptJoin,
    LeaveCluster,
    NotifyJoin,
    accept_join,
    leave_cluster,
    prepare_join,
)
from remuda.replica.state import PeerId, Replica
from remuda.testing.simulation import CheckFailed, Simulation
from remuda.testing.zookeeper import SimZooKeeper

SEEDS = range(60)


def test_every_seed_passes() -> None:
    for seed in SEEDS:
        Simulation(seed).run()


def test_one_seed_tells_the_same_story_twice() -> None:
    stories: list[list[str] | None] = []
    for _ in range(2):
        simulation = Simulation(7, record_story=True)
        simulation.run()
        stories.append(simulation.story)
    assert stories[0] == stories[1]
    assert stories[0]


def noticed(seeds: range = range(300)) -> str:
    """Which checker fails first, as a mutation is in place."""
    for seed in seeds:
        try:
            Simulation(seed).run()
        except CheckFailed as failure:
            return str(failure)
    pytest.fail("no seed noticed the mutation")


Mutation = Callable[[pytest.MonkeyPatch], None]


def skip_the_second_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    """A joiner comes in as soon as an observer is picked, watched or not."""
    real = AcceptJoin.apply

    def apply(self: AcceptJoin, replica: Replica, stamp: accept_join.Stamp) -> object:
        observer = ring.key_of(replica.prepared, self.joiner) or "nobody"
        notified = NotifyJoin(self.joiner, observer).apply(replica, stamp)
        return real(self, notified if isinstance(notified, Replica) else replica, stamp)

    def reactions(replica: Replica, me: PeerId) -> list[AcceptJoin]:
        return [AcceptJoin(me)] if ring.key_of(replica.prepared, me) is not None else []

    monkeypatch.setattr(AcceptJoin, "apply", apply)
    monkeypatch.setattr(prepare_join.PrepareJoin, "reactions", reactions)


def do_not_check_the_next_pulse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch on a pulse that is gone already never fires: two dead neighbours break the ring."""
    real = SimZooKeeper.watch

    def watch(self: SimZooKeeper, watcher: str, watched: str, on_gone: Callable[[], None]) -> None:
        real(self, watcher, watched, on_gone if self.is_alive(watched) else lambda: None)

    monkeypatch.setattr(SimZooKeeper, "watch", watch)


def forget_to_close_the_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watcher of a dead peer goes on watching it."""

    def closed_over(replica: Replica, gone: PeerId) -> Mapping[PeerId, PeerId]:
        return {w: watched for w, watched in replica.pairs.items() if w != gone}

    monkeypatch.setattr(leave_cluster, "_closed_over", closed_over)


def splice_onto_the_peer_that_was_there_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A joiner takes its observer's first target, though that one may have died since."""
    first: dict[PeerId, PeerId] = {}
    notify, accept = NotifyJoin.apply, AcceptJoin.apply

    def notify_apply(self: NotifyJoin, replica: Replica, stamp: accept_join.Stamp) -> object:
        outcome = notify(self, replica, stamp)
        if isinstance(outcome, Replica):
            observer = ring.key_of(outcome.accepted, self.joiner)
            assert observer is not None
            first[self.joiner] = replica.pairs.get(observer, observer)
        return outcome

    def accept_apply(self: AcceptJoin, replica: Replica, stamp: accept_join.Stamp) -> object:
        outcome = accept(self, replica, stamp)
        if isinstance(outcome, Replica):
            dict.__setitem__(outcome.pairs, self.joiner, first[self.joiner])  # type: ignore[arg-type]
        return outcome

    monkeypatch.setattr(NotifyJoin, "apply", notify_apply)
    monkeypatch.setattr(AcceptJoin, "apply", accept_apply)


def let_a_dying_observer_strand_its_joiner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks after an observer but the ring, which may be dead altogether."""

    def watches(replica: Replica, me: PeerId) -> frozenset[PeerId]:
        return ring.watches(replica, me) if me in replica.members else frozenset()

    monkeypatch.setattr(core, "watches", watches)


def never_look_at_those_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A joiner that is turned away waits for a cluster that is dead altogether."""

    def busy(_: Replica) -> frozenset[PeerId]:
        return frozenset()

    monkeypatch.setattr(core, "busy", busy)


def report_a_peer_on_suspicion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that loses its connection declares whom it watches gone."""
    real = PeerCore.resumed

    def resumed(self: PeerCore, now: float) -> list[core.Effect]:
        suspects = [core.Propose(LeaveCluster(peer)) for peer in sorted(self.watching)]
        return real(self, now) + suspects

    monkeypatch.setattr(PeerCore, "resumed", resumed)


def work_until_the_session_is_known_to_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease is as long as one likes."""
    monkeypatch.setattr(Timing, "lease_s", 1000.0)


def choose_by_something_that_differs_between_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An observer is picked by something else than the log."""
    calls = iter(range(10**9))

    def candidates(replica: Replica, joiner: PeerId) -> list[PeerId]:
        free = ring.candidates(replica, joiner)
        turn = next(calls) % len(free) if free else 0
        return free[turn:] + free[:turn]

    monkeypatch.setattr(prepare_join, "candidates", candidates)


@pytest.mark.parametrize(
    ("mutate", "checker"),
    [
        (skip_the_second_phase, "MembersWereWatched"),
        (do_not_check_the_next_pulse, "RingClosesOverTheLiving"),
        (forget_to_close_the_ring, "ReplicaInvariantsHold"),
        (splice_onto_the_peer_that_was_there_at_first, "ReplicaInvariantsHold"),
        (let_a_dying_observer_strand_its_joiner, "RingClosesOverTheLiving"),
        (never_look_at_those_in_the_way, "RingClosesOverTheLiving"),
        (report_a_peer_on_suspicion, "OnlyTheDeadAreReported"),
        (
            work_until_the_session_is_known_to_be_lost,
            ("WorkStopsBeforeExpiry", "ExclusiveUnitsRunOnce"),
        ),
        (choose_by_something_that_differs_between_peers, "ReplicasAgree"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_bug_is_noticed(
    mutate: Mutation, checker: str | tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    failure = noticed()
    assert any(name in failure for name in ([checker] if isinstance(checker, str) else checker))
