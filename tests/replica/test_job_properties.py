"""Whatever is asked about jobs, in whatever order, the invariants hold and slots go legal ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.replica.command import Stamp
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
    SubmitJob,
)
from remuda.replica.entry import Entry, encode_command
from remuda.replica.fold import play
from remuda.replica.schedule.demand import TaskDemand
from remuda.replica.schedule.plan import plan
from remuda.replica.schedule.slots import Slot
from remuda.replica.schedule.states import SlotState
from remuda.replica.state import Replica, decode_replica, encode_replica
from tests.replica.joblog import JobLog
from tests.replica.schedule.demands import schedulers

# An example takes a few milliseconds, but on a busy machine now and then a hundred times that.
patient = settings(deadline=None, max_examples=40)

JOBS = ["J", "K", "L"]
peers = st.sampled_from(["a", "b", "c"])
jobs = st.sampled_from(JOBS)
tags = st.sampled_from([(), ("gpu",)])

Asked: TypeAlias = Callable[[Replica], AnyCommand]
"""What is asked next, in view of how things are."""


def _tasks(draw: st.DrawFn) -> tuple[TaskDemand, ...]:
    return tuple(
        TaskDemand(
            f"t{n}",
            min_slots=draw(st.sampled_from([None, None, 1, 2])),
            max_slots=draw(st.sampled_from([None, 2, 3])),
            tags=draw(st.sampled_from([(), (), (), (), ("gpu",)])),
            flux=draw(st.sampled_from(["continue", "recover", "kill"])),
        )
        for n in range(draw(st.integers(1, 2)))
    )


@st.composite
def submissions(draw: st.DrawFn) -> Asked:
    command = SubmitJob(
        draw(jobs),
        draw(st.sampled_from(["{}", "[]"])),
        _tasks(draw),
        draw(st.sampled_from(["balanced", "balanced", "percentage", "colocated"])),
        draw(st.sampled_from([None, 300_000, 700_000, 1_000_000])),
    )
    return lambda _: command


def _told(replica: Replica, peer: str | None, chosen: int) -> dict[str, int]:
    """Some of the slots that are acking, by a number whose bits say which."""
    acking = [
        (name, slot.told)
        for name, slot in sorted(replica.slots.items())
        if slot.state is SlotState.ACKING and peer in (None, slot.peer)
    ]
    return {name: told for n, (name, told) in enumerate(acking) if chosen >> n & 1}


def _ack(replica: Replica, chosen: int) -> AckTask:
    """By whoever has something to ack."""
    asked = _told(replica, None, -1)
    peer = replica.slots[min(asked)].peer if asked else "nobody"
    return AckTask(peer=peer, slots=_told(replica, peer, chosen))


def _lead(replica: Replica, turn: int) -> tuple[str, str, int]:
    """A job that has a driver, its lead and epoch."""
    led = [
        (name, job.lead, job.epoch)
        for name, job in sorted(replica.jobs.items())
        if job.lead is not None
    ]
    return led[turn % len(led)] if led else ("J", "nobody", -1)


@st.composite
def by_leads(draw: st.DrawFn) -> Asked:
    turn = draw(st.integers(0, 2))
    choices: list[Asked] = [
        lambda r: SealTask(*_lead(r, turn), "{}"),
        lambda r: CompleteJob(*_lead(r, turn)),
        lambda r: ReleaseJob(*_lead(r, turn)),
        lambda r: KillJob((led := _lead(r, turn))[0], "it failed", *led[1:]),
    ]
    return draw(st.sampled_from([*choices, *choices[:3]]))


@st.composite
def acks(draw: st.DrawFn) -> Asked:
    bits = draw(st.sampled_from([-1, -1, -1, 0b01, 0b10]))
    return lambda replica: _ack(replica, bits)


@st.composite
def others(draw: st.DrawFn) -> Asked:
    peer, job, bits = draw(peers), draw(jobs), draw(st.integers(1, 15))
    slots, tagged = draw(st.integers(0, 4)), draw(tags)
    scheduler = draw(schedulers)
    choices: list[Asked] = [
        lambda _: OfferSlots(peer, slots, tagged),
        lambda _: OfferSlots(peer, 2),
        lambda r: RevokeTask(_told(r, None, bits)),
        lambda _: KillJob(job, "somebody said so"),
        lambda _: ResumeJob(job),
        lambda _: LeaveCluster(peer),
        lambda _: SetJobScheduler(scheduler),
        lambda _: CompleteJob(job, peer, bits),
        lambda _: ReleaseJob(job, peer, bits),
        lambda _: SealTask(job, peer, bits, "{}"),
    ]
    return draw(st.sampled_from(choices))


def _one_after_another(first: list[Asked], rest: list[Asked]) -> list[Asked]:
    return [*first, *rest]


# Acks are what most of a log of jobs is, and without them nothing ever runs.
stories = st.builds(
    _one_after_another,
    st.lists(submissions(), min_size=2, max_size=3),
    st.lists(
        st.one_of(acks(), acks(), acks(), by_leads(), by_leads(), submissions(), others()),
        min_size=10,
        max_size=60,
    ),
)


def told(story: list[Asked]) -> tuple[JobLog, list[AnyCommand]]:
    log = JobLog("a", "b", "c")
    commands: list[AnyCommand] = []
    for ask in story:
        commands.append(ask(log.replica))
        log.put(commands[-1])
        if not log.replica.members:
            break
    return log, commands


@patient
@given(stories)
def test_every_invariant_holds_and_slots_go_legal_ways(story: list[Asked]) -> None:
    told(story)


@patient
@given(stories)
def test_the_epoch_of_a_job_only_grows_and_each_driver_has_its_own(story: list[Asked]) -> None:
    log = JobLog("a", "b", "c")
    drivers: dict[str, list[tuple[int, str]]] = {}
    for ask in story:
        log.put(ask(log.replica))
        for name, job in log.replica.jobs.items():
            if job.lead is not None:
                driver = (job.epoch, job.lead)
                known = drivers.setdefault(name, [])
                if driver not in known:
                    assert all(epoch < job.epoch for epoch, _ in known)
                    known.append(driver)
                    assert job.restarts == len(known) - 1


@patient
@given(stories)
def test_what_a_job_is_to_have_is_what_the_schedulers_say(story: list[Asked]) -> None:
    replica = told(story)[0].replica
    offered = [
        Slot(name, slot.peer, slot.tags) for name, slot in replica.slots.items() if slot.is_offered
    ]
    demands = [job.needs for job in replica.jobs.values() if not job.is_ended]
    wanted = {name: slot.wanted for name, slot in replica.slots.items() if slot.wanted is not None}
    schedule = plan(offered, demands, replica.job_scheduler, wanted)
    assert schedule.places == wanted
    for name, reason in schedule.waiting.items():
        job = replica.jobs[name]
        assert job.phase == "sealing" or (job.phase, job.reason) == ("waiting", reason)


@patient
@given(stories, st.integers(0, 60))
def test_playing_on_from_an_origin_gives_the_same_replica(story: list[Asked], cut: int) -> None:
    log, commands = told(story)
    again = JobLog("a", "b", "c").replica
    for number, command in enumerate(commands):
        if number == cut:
            again = decode_replica(encode_replica(again))
        position = again.position + 1
        again = play(again, Entry("id", Stamp(position, "by", 1000 * position), command)).replica
    assert encode_replica(again) == encode_replica(log.replica)


@patient
@given(stories)
def test_when_everybody_does_what_is_asked_no_job_is_stuck(story: list[Asked]) -> None:
    """Whoever is still there acks, stops and seals: then every job is completed, killed, or waits
    because the schedulers would not have it even if it were the last."""
    log, _ = told(story)
    log.stop_halting()
    while driven := [name for name, job in log.replica.jobs.items() if job.lead is not None]:
        log.finish(driven[0])
        log.stop_halting()
    assert {job.phase for job in log.replica.jobs.values()} <= {"completed", "killed", "waiting"}
    assert not [slot for slot in log.replica.slots.values() if slot.place is not None]


def test_a_command_about_slots_can_be_kept_in_a_set() -> None:
    first, same = AckTask(peer="a", slots={"a/0": 1}), AckTask(peer="a", slots={"a/0": 1})
    assert {first, RevokeTask({"a/0": 1})} == {same, RevokeTask({"a/0": 1})}
    assert bytes(encode_command(first)) == b'{"type":"ack-task","slots":{"a/0":1},"peer":"a"}'
