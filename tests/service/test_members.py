"""Members of a service as real processes on a real ZooKeeper: who serves what, and when."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from remuda.cli.main import main
from remuda.config import Config
from remuda.errors import Refused
from remuda.log.zookeeper import ZooKeeperLog
from remuda.replica.pool import Pool
from remuda.service.api import Service, Unit
from remuda.service.control import Control, control, described_units
from remuda.service.member import Member
from remuda.zookeeper.address import Address
from remuda.zookeeper.connection import Connection
from tests.clusters import replica_of
from tests.service.serving import Crew, Run, largest_gap
from tests.waiting import eventually, wait_until

pytestmark = pytest.mark.integration

NINE = [f"unit-{n}" for n in range(9)]


@pytest.fixture
def crew(config: Config, tmp_path: Path) -> Iterator[Crew]:
    config = replace(config, settle_time_s=0.5, start_attempts=1)
    asyncio.run(lay_out(config))
    crew = Crew(config, tmp_path)
    yield crew
    crew.end()


async def lay_out(config: Config) -> None:
    """A new cluster, before its first peer."""
    assert config.zookeeper is not None
    address = Address.parse(config.zookeeper)
    connection = await Connection.open(address, 4.0, create_chroot=True)
    await ZooKeeperLog.open(connection)
    await connection.close()


def add_units(crew: Crew, *units: str) -> None:
    async def add(services: Control) -> None:
        await services.add_units(crew.service, units)

    asyncio.run(doing(crew.config, add))


async def doing(config: Config, what: Callable[[Control], Any]) -> None:
    async with control(config) as services:
        await what(services)


def pool_of(crew: Crew) -> Pool:
    return replica_of(crew.config).pools.get(crew.service, Pool())


def pids(crew: Crew) -> dict[str, int]:
    """Of the members, by id."""
    replica = replica_of(crew.config)
    pool = replica.pools.get(crew.service, Pool())
    return {peer: replica.peers[peer].pid for peer in pool.members}


def running(crew: Crew) -> dict[str, list[Run]]:
    """By unit, what has started and not stopped in a process that lives."""
    living = {member.pid for member in crew.members if member.poll() is None}
    found: dict[str, list[Run]] = {}
    for run in crew.runs():
        if run.end == float("inf") and run.pid in living:
            found.setdefault(run.unit, []).append(run)
    return found


def shared(crew: Crew, *counts: int) -> dict[str, int]:
    """Wait until each unit runs where it is owned and only there, and members have so many each."""

    def balanced() -> dict[str, int] | None:
        pool, members, runs = pool_of(crew), pids(crew), running(crew)
        owned = Counter(unit.owner for unit in pool.units.values())
        if sorted(owned[peer] for peer in pool.members) != sorted(counts):
            return None
        for name, unit in pool.units.items():
            here = [(run.pid, run.epoch) for run in runs.get(name, [])]
            if unit.handoff or unit.owner is None or here != [(members[unit.owner], unit.epoch)]:
                return None
        return {name: members[unit.owner or ""] for name, unit in pool.units.items()}

    return wait_until(balanced, f"units are shared {counts}: {pool_of(crew)}")


def moves(crew: Crew, since: float) -> Counter[str]:
    """How often each unit was started."""
    return Counter(run.unit for run in crew.runs() if run.begin > since)


# ── members come and go ──────────────────────────────────────────────────────────────────────


def test_three_share_nine_units_and_take_over_from_one_that_is_killed(crew: Crew) -> None:
    for _ in range(3):
        crew.start()
    add_units(crew, *NINE)
    owners = shared(crew, 3, 3, 3)
    victim = crew.members[0]
    lost = {unit for unit, pid in owners.items() if pid == victim.pid}
    killed_at = time.monotonic()
    victim.kill()
    victim.wait()
    after = shared(crew, 4, 5)
    assert moves(crew, killed_at) == Counter(lost)
    stopped = [line for line in crew.lines() if line.what == "stop" and line.at > killed_at]
    assert stopped == []
    assert {unit: pid for unit, pid in after.items() if unit not in lost} == {
        unit: pid for unit, pid in owners.items() if unit not in lost
    }
    back_s = max(run.begin for run in crew.runs()) - killed_at
    beats = [line for line in crew.lines() if line.at > killed_at - 1]
    gap_s = max(largest_gap(beats, unit) for unit in NINE if unit not in lost)
    print(
        f"all served again after {back_s:.2f} s; the others' largest gap is {gap_s * 1000:.0f} ms"
    )
    assert back_s < crew.config.session_timeout_s + 5
    assert gap_s < crew.config.session_timeout_s * 0.75


def test_one_that_is_told_to_end_drains_leaves_and_moves_each_of_its_units_once(
    crew: Crew,
) -> None:
    crew.config = replace(crew.config, drain_time_s=0.6)
    for _ in range(3):
        crew.start()
    add_units(crew, *NINE)
    owners = shared(crew, 3, 3, 3)
    leaver = crew.members[1]
    told_at = time.monotonic()
    leaver.terminate()
    assert leaver.wait(60) == 0
    assert leaver.pid not in pids(crew).values()
    shared(crew, 4, 5)
    its_own = sorted(unit for unit, pid in owners.items() if pid == leaver.pid)
    assert moves(crew, told_at) == Counter(its_own)
    ends = sorted(r.end for r in crew.runs() if r.pid == leaver.pid and r.end > told_at)
    assert len(ends) == 3
    print("spacing of the drain:", [f"{end - told_at:.2f} s" for end in ends])
    assert ends[2] - ends[0] > 0.3
    for unit in its_own:
        before, after = [run for run in crew.runs() if run.unit == unit and run.end > told_at]
        assert before.end <= after.begin
        assert before.epoch < after.epoch


def test_a_frozen_member_wakes_to_lost_units_a_store_that_refuses_it_and_a_new_life(
    crew: Crew,
) -> None:
    units = NINE[:4]
    for _ in range(2):
        crew.start("--store")
    add_units(crew, *units)
    owners = shared(crew, 2, 2)
    sleeper, other = crew.members
    lost = sorted(unit for unit, pid in owners.items() if pid == sleeper.pid)
    before = {peer for peer, pid in pids(crew).items() if pid == sleeper.pid}
    old_epochs = {unit: pool_of(crew).units[unit].epoch for unit in lost}
    sleeper.send_signal(signal.SIGSTOP)
    wait_until(lambda: taken_over(crew, old_epochs, other), "the units are taken over")
    woken_at = time.monotonic()
    sleeper.send_signal(signal.SIGCONT)
    wait_until(lambda: before.isdisjoint(pids(crew)), "the sleeper's old life is over")
    shared(crew, 2, 2)
    after = {peer for peer, pid in pids(crew).items() if pid == sleeper.pid}
    assert len(after) == 1
    for unit in lost:
        late = [line for line in crew.lines() if line.unit == unit and line.at > woken_at]
        old = [line.what for line in late if line.epoch == old_epochs[unit]]
        assert old == ["refused", "stop"]


def taken_over(crew: Crew, epochs: Mapping[str, int], by: subprocess.Popen[bytes]) -> bool:
    """Whether a process has written for all of these under later epochs."""
    written = {
        line.unit
        for line in crew.lines()
        if line.pid == by.pid and line.what == "beat" and line.epoch > epochs.get(line.unit, 1e9)
    }
    return written == set(epochs)


def test_overlapping_units_are_served_at_every_moment_while_a_member_is_restarted(
    crew: Crew,
) -> None:
    units = NINE[:4]
    for _ in range(2):
        crew.start("--handoff", "0.3")
    add_units(crew, *units)
    shared(crew, 2, 2)
    leaver = crew.members[0]
    leaver.terminate()
    assert leaver.wait(60) == 0
    shared(crew, 4)
    crew.start("--handoff", "0.3")
    shared(crew, 2, 2)
    lines = crew.lines()
    gap_s = max(largest_gap(lines, unit) for unit in units)
    print(f"the largest gap between two beats of a unit is {gap_s * 1000:.0f} ms")
    for unit in units:
        assert unserved(crew.runs(), unit) == []
    assert gap_s < 2.0


def unserved(runs: list[Run], unit: str) -> list[tuple[float, float]]:
    """From its first start on, the times in which no process had the unit started."""
    gaps: list[tuple[float, float]] = []
    until: float | None = None
    for run in sorted((run for run in runs if run.unit == unit), key=lambda run: run.begin):
        if until is not None and run.begin > until:
            gaps.append((until, run.begin))
        until = max(until or 0.0, run.end)
    assert until == float("inf")
    return gaps


class Diary(Service):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_join(self, member: Member) -> None:
        self.lines.append(f"joined {member.service} as {member.id}")

    async def on_leave(self, member: Member) -> None:
        self.lines.append("left")

    def start(self, unit: Unit) -> None:
        self.lines.append(f"start {unit.id}")

    async def stop(self, unit: Unit) -> None:
        self.lines.append(f"stop {unit.id}")


def test_a_member_in_ones_own_process_knows_its_units_drains_and_leaves(crew: Crew) -> None:
    async def serve() -> list[str]:
        served = Diary()
        async with Member(crew.service, served, config=crew.config) as member:
            me = member.id

            async def has(count: int) -> bool:
                return len(member.units) == count

            await eventually(lambda: has(2), "it serves both units")
            assert [unit.id for unit in member.units] == ["a", "b"]
            await member.drain(to=1)
            await eventually(lambda: has(1), "it serves one")
            await member.drain(off=True)
            await eventually(lambda: has(2), "it serves both again")
        assert member.id is None
        with pytest.raises(Refused, match="not a member"):
            await member.drain()
        assert served.lines[0] == f"joined {crew.service} as {me}"
        return served.lines[1:]

    add_units(crew, "a", "b")
    lines = asyncio.run(serve())
    assert lines.count("start a") == lines.count("stop a")
    assert lines.count("start b") == lines.count("stop b")
    assert len([line for line in lines if line.startswith("start")]) == 3
    assert lines[-1] == "left"
    assert pids(crew) == {}


# ── what operators see and ask ───────────────────────────────────────────────────────────────


class Answer(NamedTuple):
    code: int | str | None
    output: str
    errors: str


def remuda(crew: Crew, *words: str, typed: str = "") -> Answer:
    """The command line, whole, but in this process: there are many of these."""
    verb = 2 if words[0] in ("units", "service") else 1
    where = ("--zookeeper", crew.config.zookeeper or "")
    output, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["remuda", *words[:verb], *where, *words[verb:]])
        patch.setattr(sys, "stdin", io.StringIO(typed))
        patch.setattr(sys, "stdout", output)
        patch.setattr(sys, "stderr", errors)
        with pytest.raises(SystemExit) as ended:
            main()
    return Answer(ended.value.code, output.getvalue(), errors.getvalue())


def told(crew: Crew, verb: str, *words: str) -> Any:
    answer = remuda(crew, verb, *words, "--json")
    assert (answer.code, answer.errors) == (0, "")
    return json.loads(answer.output)


def listed(crew: Crew, unit: str) -> dict[str, Any]:
    (row,) = [row for row in told(crew, "units", "list", crew.service) if row["id"] == unit]
    return row


def wait_for_state(crew: Crew, unit: str, state: str) -> dict[str, Any]:
    """What `units list` then says of the unit."""

    def reached() -> bool:
        rows = described_units(crew.service, pool_of(crew))
        return (unit, state) in [(row["id"], row["state"]) for row in rows]

    wait_until(reached, f"{unit} is {state}")
    return listed(crew, unit)


def test_a_unit_that_cannot_be_started_moves_on_then_fails_then_is_tried_again(crew: Crew) -> None:
    crew.break_unit("first", "bad", "no disk at first")
    first = crew.start("--name", "first")
    add_units(crew, "bad", "good")
    assert "OSError: no disk at first" in wait_for_state(crew, "bad", "failed")["reason"]
    second = crew.start("--name", "second")
    assert shared(crew, 1, 1) == {"bad": second.pid, "good": first.pid}

    crew.break_unit("second", "bad", "no net at second")
    second.kill()
    second.wait()
    third = crew.start("--name", "second")
    wait_until(lambda: len(pool_of(crew).units["bad"].failures) == 2, "both have failed at it")
    assert sorted(pool_of(crew).units["bad"].failures.values()) == [
        "OSError: no disk at first",
        "OSError: no net at second",
    ]
    assert "OSError: no " in wait_for_state(crew, "bad", "failed")["reason"]

    crew.mend_unit("second", "bad")
    assert "OSError: no " in told(crew, "rebalance", crew.service)["waiting"]["bad"]
    assert shared(crew, 1, 1) == {"bad": third.pid, "good": first.pid}


def test_a_unit_is_pegged_by_id_and_by_name_and_waits_for_one_who_is_not_there(crew: Crew) -> None:
    crew.start("--name", "cpu")
    crew.start("--name", "gpu 1")
    add_units(crew, "a/b", "c d")
    shared(crew, 1, 1)
    names = {name: peer for peer, name in pool_of(crew).names.items()}
    assert told(crew, "units", "peg", crew.service, "a/b", "gpu 1")["waits"] is None
    assert told(crew, "units", "peg", crew.service, "c d", names["gpu 1"])["waits"] is None
    assert shared(crew, 0, 2) == dict.fromkeys(("a/b", "c d"), pids(crew)[names["gpu 1"]])

    ghost = told(crew, "units", "peg", crew.service, "c d", "ghost")
    assert ghost["waits"] == "it is pegged to ghost, which is not among the active members"
    row = wait_for_state(crew, "c d", "waiting")
    assert (row["owner"], row["peg"], row["reason"]) == (None, "ghost", ghost["waits"])
    (service,) = told(crew, "status")["services"]
    assert service["waiting"] == {"c d": ghost["waits"]}
    assert f"c d waits: {ghost['waits']}" in remuda(crew, "service", "show", crew.service).output
    assert told(crew, "units", "unpeg", crew.service, "c d")["peg"] is None
    shared(crew, 1, 1)
    assert "c d is not pegged" in refused(crew, "units", "unpeg", crew.service, "c d")


def test_plan_service_and_drain_show_what_is_and_what_would_be(crew: Crew) -> None:
    crew.config = replace(crew.config, settle_time_s=3600.0)
    crew.start("--name", "old")
    wait_until(lambda: pids(crew), "the first is a member")
    add_units(crew, *NINE[:4])
    shared(crew, 4)
    crew.start("--name", "new")
    wait_until(lambda: len(pids(crew)) == 2, "the second is a member")
    ids = {name: peer for peer, name in pool_of(crew).names.items()}

    planned = told(crew, "plan", crew.service)
    assert len(planned["moves"]) == 2
    for move in planned["moves"]:
        assert (move["from"], move["to"], move["cause"]) == (ids["old"], ids["new"], "balance")
        assert "a fair share is 2" in move["reason"]
    assert pool_of(crew).owned_by(ids["old"]) == NINE[:4]

    assert len(told(crew, "rebalance", crew.service)["moves"]) == 2
    shared(crew, 2, 2)
    assert told(crew, "plan", crew.service) == {"moves": [], "waiting": {}}

    (service,) = told(crew, "service", "list")
    assert (service["name"], service["members"]) == (crew.service, 2)
    assert (service["units"], service["owned"]) == (4, 4)
    assert (service["balance"], service["handoff"]) == ("count", "exclusive")
    shown = told(crew, "service", "show", crew.service)
    assert {row["name"]: (row["units"], row["state"]) for row in shown["members"]} == {
        "old": (2, "active"),
        "new": (2, "active"),
    }

    assert told(crew, "drain", "old")["peer"] == ids["old"]
    shared(crew, 0, 4)
    assert told(crew, "service", "show", crew.service)["members"][0]["state"] == "draining"
    assert "changes nothing" in refused(crew, "drain", "old")
    assert told(crew, "drain", ids["old"], "--off")["draining"] is False
    told(crew, "rebalance", crew.service)
    shared(crew, 2, 2)


# ── bad input: one clear line, and nothing changed ───────────────────────────────────────────


def refused(crew: Crew, *words: str, typed: str = "") -> str:
    """The one line that it prints; nothing has been written."""
    before = replica_of(crew.config)
    answer = remuda(crew, *words, typed=typed)
    assert (answer.code, answer.output) == (1, "")
    (line,) = answer.errors.splitlines()
    assert replica_of(crew.config).pools == before.pools
    return line


def test_what_is_not_there_is_said_to_be_not_there(crew: Crew) -> None:
    add_units(crew, "a", "b")
    for words in (
        ("units", "list", "z"),
        ("units", "rm", "z", "a"),
        ("units", "peg", "z", "a", "p"),
        ("units", "unpeg", "z", "a"),
        ("service", "show", "z"),
        ("plan", "z"),
        ("rebalance", "z"),
    ):
        assert "there is no service `z`" in refused(crew, *words)
    for words in (
        ("units", "rm", crew.service, "a", "z"),
        ("units", "peg", crew.service, "z", "p"),
        ("units", "unpeg", crew.service, "z"),
    ):
        assert f"there is no unit `z` in {crew.service}" in refused(crew, *words)
    assert "there is no peer `z`" in refused(crew, "drain", "z")
    assert sorted(pool_of(crew).units) == ["a", "b"]


def test_a_near_miss_is_pointed_out(crew: Crew) -> None:
    crew.service = "ingest"
    add_units(crew, "shard-1")
    assert "did you mean `ingest`?" in refused(crew, "plan", "injest")
    assert "did you mean `shard-1`?" in refused(crew, "units", "rm", "ingest", "shard1")


def test_units_are_added_once_and_their_names_may_hold_slashes_and_spaces(crew: Crew) -> None:
    names = ("eu/west 1", "größe", "a/b/c")
    added = {"service": crew.service, "added": 3, "known": 0}
    assert told(crew, "units", "add", crew.service, *names) == added
    before = replica_of(crew.config)
    none_new = {"service": crew.service, "added": 0, "known": 3}
    assert told(crew, "units", "add", crew.service, *names) == none_new
    assert replica_of(crew.config) == before
    assert sorted(pool_of(crew).units) == sorted(names)
    assert told(crew, "units", "rm", crew.service, "eu/west 1")["removed"] == 1
    assert sorted(pool_of(crew).units) == sorted(names[1:])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("", "begins and ends with"),
        (" a", "begins and ends with"),
        ("a\tb", "cannot be shown"),
        ("a" * 201, "at most 200"),
    ],
)
def test_a_name_that_cannot_be_is_refused(crew: Crew, name: str, hint: str) -> None:
    assert hint in refused(crew, "units", "add", crew.service, "good", name)
    assert crew.service not in replica_of(crew.config).pools


def test_100_000_units_in_one_call_are_refused_with_the_limit(crew: Crew) -> None:
    typed = "\n".join(f"unit-{n}" for n in range(100_000))
    line = refused(crew, "units", "add", crew.service, "-", typed=typed)
    assert "100,000 units in one call are too many: add at most 10,000" in line


def test_a_name_that_looks_like_markup_is_shown_as_it_is(crew: Crew) -> None:
    add_units(crew, "[/]", "[red]")
    shown = remuda(crew, "units", "list", crew.service)
    assert (shown.code, shown.errors) == (0, "")
    assert "[/]" in shown.output
    assert "[red]" in shown.output
