"""The simulator: it passes on the code as it is, tells the same story twice, and notices bugs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from remuda.peer import core
from remuda.peer.core import PeerCore, Timing
from remuda.peer.job_contract import JobStopped, SealJob, StartJob, StopJob
from remuda.peer.job_keeper import JobKeeper
from remuda.replica import ring
from remuda.replica.commands import (
    AcceptJoin,
    LeaveCluster,
    NotifyJoin,
    ReleaseJob,
    accept_join,
    leave_cluster,
    prepare_join,
)
from remuda.replica.state import PeerId, Replica
from remuda.testing.drivers import Driver, Store
from remuda.testing.job_process import SimJobWorker
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


def give_a_job_up_before_its_driver_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log hears that a driver has stopped when it is told to, not when it has."""
    real = JobKeeper.settle

    def settle(self: JobKeeper, *args: Any, **how: bool) -> Any:
        effects, commands = real(self, *args, **how)
        for effect in effects:
            if isinstance(effect, StopJob):
                self.changed(JobStopped(effect.job_id, effect.epoch))
        return effects, commands

    monkeypatch.setattr(JobKeeper, "settle", settle)


def drive_jobs_without_a_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer whose session may have expired goes on driving."""
    real = JobKeeper.settle

    def settle(self: JobKeeper, *args: Any, **how: bool) -> Any:
        return real(self, *args, **{**how, "may_run": True})

    monkeypatch.setattr(JobKeeper, "settle", settle)


def write_without_a_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store takes what the driver of a frozen peer has to say after all."""

    def refuses(self: Store, driver: Driver) -> bool:
        return False

    monkeypatch.setattr(Store, "refuses", refuses)


def never_say_that_a_driver_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots wait for ever for a driver that is gone."""
    real = JobKeeper.settle

    def settle(self: JobKeeper, *args: Any, **how: bool) -> Any:
        effects, commands = real(self, *args, **how)
        return effects, [c for c in commands if not isinstance(c, ReleaseJob)]

    monkeypatch.setattr(JobKeeper, "settle", settle)


def let_anybody_seal_whatever_its_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver publishes as soon as it has staged, picked or not."""
    real = SimJobWorker.start

    def start(self: SimJobWorker, life: PeerCore, start: StartJob) -> None:
        real(self, life, start)
        self.seal(life, SealJob(start.job_id, start.epoch, start.spec, "{}"))

    monkeypatch.setattr(SimJobWorker, "start", start)


def forget_the_drivers_of_the_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job is led by a peer that is gone."""

    def without_slots_of(replica: Replica, *_: object) -> Replica:
        return replica

    monkeypatch.setattr(leave_cluster, "without_slots_of", without_slots_of)


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
        (give_a_job_up_before_its_driver_has_stopped, "JobsHaveOneDriver"),
        (drive_jobs_without_a_lease, "JobsHaveOneDriver"),
        (write_without_a_fence, "CommitsAreFenced"),
        (never_say_that_a_driver_has_stopped, "JobsComeToAnEnd"),
        (let_anybody_seal_whatever_its_epoch, "OutputIsSealedOnce"),
        (forget_the_drivers_of_the_dead, "ReplicaInvariantsHold"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_bug_is_noticed(
    mutate: Mutation, checker: str | tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    failure = noticed()
    assert any(name in failure for name in ([checker] if isinstance(checker, str) else checker))
