# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Cron expressions, and runs that begin by the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.object_id_pb2 import ScheduledWfRunId, WfRunId
from littlehorse.model.scheduled_wf_run_pb2 import ScheduledWfRun
from littlehorse.model.service_pb2 import (
    DeleteScheduledWfRunRequest,
    ScheduleWfRequest,
    SearchWfRunRequest,
)
from littlehorse.utils import to_variable_value
from littlehorse.workflow import WorkflowThread

from remuda.partition.machine import Outcome, Rejection
from remuda.workflow.cron import civil, parse_cron
from remuda.workflow.errors import BadValue
from remuda.workflow.placement import partition_of_schedule
from remuda.workflow.searches import ids, search_runs
from tests.workflow.world import TENANT, World, done, refused

STR = VariableType.STR


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("expression", "after", "due"),
    [
        ("* * * * *", "2026-01-31T23:59:30", "2026-02-01T00:00:00"),
        ("* * * * *", "2026-01-31T10:00:00", "2026-01-31T10:01:00"),
        ("*/15 * * * *", "2026-01-31T10:16:00", "2026-01-31T10:30:00"),
        ("0 9 * * mon-fri", "2026-11-13T09:00:00", "2026-11-16T09:00:00"),
        ("30 8,20 * * *", "2026-11-13T09:00:00", "2026-11-13T20:30:00"),
        ("0 0 1 jan *", "2026-01-01T00:00:00", "2027-01-01T00:00:00"),
        ("0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("0 0 13 * 5", "2026-11-07T00:00:00", "2026-11-13T00:00:00"),
        ("0 0 20 * fri", "2026-11-14T00:00:00", "2026-11-20T00:00:00"),
        ("0 12 * * 7", "2026-11-13T00:00:00", "2026-11-15T12:00:00"),
        ("5/20 * * * *", "2026-11-13T00:06:00", "2026-11-13T00:25:00"),
    ],
)
def test_the_next_time(expression: str, after: str, due: str) -> None:
    assert parse_cron(expression).next_after(ms(after)) == ms(due)


def test_some_times_never_come() -> None:
    assert parse_cron("0 0 31 2 *").next_after(ms("2026-01-01T00:00:00")) is None


@pytest.mark.parametrize(
    "expression",
    [
        *("", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8"),
        *("5-1 * * * *", "x * * * *", "*/0 * * * *", "1- * * * *", "-1 * * * *"),
    ],
)
def test_an_expression_that_cannot_be_read_is_refused(expression: str) -> None:
    with pytest.raises(BadValue):
        parse_cron(expression)


@given(st.integers(-100_000, 2_000_000))
def test_days_are_those_of_the_calendar(day: int) -> None:
    if 0 < day + 719_163 < 3_652_059:
        found = datetime(1970, 1, 1) + timedelta(days=day)  # noqa: DTZ001
        assert civil(day) == (found.year, found.month, found.day)


# ── schedules ────────────────────────────────────────────────────────────────────────────────


def schedule(world: World, expression: str, name: str = "hourly", **variables: str) -> Outcome:
    request = ScheduleWfRequest(id=name, wf_spec_name="flow", cron_expression=expression)
    for key, value in variables.items():
        request.variables[key].CopyFrom(to_variable_value(value))
    where = partition_of_schedule(TENANT, name, len(world.partitions))
    return world.call(where, "ScheduleWf", request)


def found(world: World) -> list[WfRunId]:
    request = SearchWfRunRequest(wf_spec_name="flow")
    hits = [
        hit
        for partition in world.partitions
        for hit in search_runs(partition.view, TENANT, request, None, 100)
    ]
    return ids(sorted(hits), WfRunId)


@pytest.fixture
def world() -> World:
    world = World(partitions=3, start_ms=ms("2026-11-16T10:30:00"))
    world.task_def("say", STR)

    def body(thread: WorkflowThread) -> None:
        thread.execute("say", thread.add_variable("word", STR))

    world.put("flow", body)
    return world


def test_runs_begin_by_the_clock(world: World) -> None:
    answer = done(schedule(world, "0 * * * *", word="hello"))
    assert ScheduledWfRun.FromString(answer).cron_expression == "0 * * * *"
    world.pass_time(29 * 60)
    assert found(world) == []
    for hour in (11, 12, 13):
        world.now_ms = ms(f"2026-11-16T{hour}:00:00")
        world.pass_time(0)
        assert world.work("say") == ["hello"]
    assert [one.id for one in found(world)] == [
        f"hourly-{ms(f'2026-11-16T{hour}:00:00')}" for hour in (11, 12, 13)
    ]


def test_a_deleted_schedule_begins_nothing(world: World) -> None:
    done(schedule(world, "0 * * * *"))
    assert refused(schedule(world, "0 * * * *")).kind == Rejection.EXISTS
    request = DeleteScheduledWfRunRequest(id=ScheduledWfRunId(id="hourly"))
    where = partition_of_schedule(TENANT, "hourly", 3)
    done(world.call(where, "DeleteScheduledWfRun", request))
    assert refused(world.call(where, "DeleteScheduledWfRun", request)).kind == Rejection.NOT_FOUND
    world.pass_time(7200)
    assert found(world) == []


def test_schedules_that_cannot_be_are_refused(world: World) -> None:
    assert refused(schedule(world, "often")).kind == Rejection.INVALID
    assert refused(schedule(world, "0 0 31 2 *")).kind == Rejection.INVALID
    outcome = refused(schedule(world, "0 * * * *", "wrong", size="x"))
    assert "no variable size" in outcome.reason
    request = ScheduleWfRequest(id="x", wf_spec_name="lost", cron_expression="* * * * *")
    assert refused(world.call(0, "ScheduleWf", request)).kind == Rejection.STALE
