# Rows are of any shape here, as users' are.
# pyright: basic
"""The state machine of windows: what holds for any rows, in any order."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remuda.pipeline.functions import Functions, Row
from remuda.pipeline.model.job import Job, Task, Trigger, Window
from remuda.pipeline.window_state import Content, Groups, Held, Windowed
from remuda.pipeline.windows import SECOND

TIMES = st.lists(st.integers(0, 60), max_size=25)


def told(content: Content) -> Row:
    return {"from": content.start, "to": content.end, "value": content.value}


def windowed(window: dict[str, Any], *triggers: dict[str, Any]) -> Windowed:
    task = Task(name="sum", type="reduce")
    made = Window(id="w", task="sum", **window)
    job = Job(
        workflow=[],
        catalog=[task],
        windows=[made],
        triggers=[
            Trigger(id=f"t{number}", window="w", emit="told", **trigger)
            for number, trigger in enumerate(triggers)
        ],
    )
    return Windowed(job, task, made, Functions({"told": told}))


def all_emitted(machine: Windowed, times: list[int]) -> list[Row]:
    groups = Groups(machine)
    rows = [row for at in times for row in groups.add({"at": at})]
    return rows + groups.finish()


def ordered(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["from"], row["to"], row["value"]))


@given(TIMES, st.integers(1, 5))
def test_what_is_discarded_by_and_by_is_everything_once(times: list[int], threshold: int) -> None:
    trigger = {"on": "segments", "threshold": threshold, "refinement": "discarding"}
    machine = windowed({"type": "global", "aggregation": "count"}, trigger)
    values = [row["value"] for row in all_emitted(machine, times)]
    assert sum(values) == len(times)
    assert all(value == threshold for value in values[:-1])


@given(TIMES, st.integers(1, 5))
def test_what_accumulates_ends_with_everything(times: list[int], threshold: int) -> None:
    trigger = {"on": "segments", "threshold": threshold}
    machine = windowed({"type": "global", "aggregation": "count"}, trigger)
    values = [row["value"] for row in all_emitted(machine, times)]
    assert values == sorted(values)
    assert values[-1:] == ([len(times)] if times else [])


@given(TIMES, st.integers(1, 10), st.randoms(use_true_random=False))
def test_sessions_are_what_lies_between_gaps_in_any_order(
    times: list[int], gap: int, random: Any
) -> None:
    expected: list[Row] = []
    for at in sorted(times):
        if expected and at - expected[-1]["to"] <= gap:
            expected[-1]["to"] = at
            expected[-1]["value"] += 1
        else:
            expected.append({"from": at, "to": at, "value": 1})
    shuffled = random.sample(times, len(times))
    window = {"type": "session", "time": "at", "gap": gap, "aggregation": "count"}
    assert ordered(all_emitted(windowed(window, {"on": "watermark"}), shuffled)) == expected


@given(TIMES, st.integers(1, 12), st.integers(1, 12))
def test_windows_that_the_watermark_passed_are_as_they_would_be_at_the_end(
    times: list[int], range_: int, slide: int
) -> None:
    window = {"type": "sliding", "time": "at", "range": range_, "slide": slide}
    machine = windowed({**window, "aggregation": "count"}, {"on": "watermark"})
    in_time = sorted(times)
    held: Held = {}
    rows: list[Row] = []
    for at in in_time:
        rows += machine.complete(held, None, at * SECOND)
        assert all(extent.end > at * SECOND for extent in held)
        rows += machine.add(held, None, at * SECOND, {"at": at})
    rows += machine.finish(held, None)
    assert not held
    assert ordered(rows) == ordered(all_emitted(machine, in_time))


@given(TIMES)
def test_a_session_is_open_until_nothing_can_extend_it(times: list[int]) -> None:
    window = {"type": "session", "time": "at", "gap": 3, "aggregation": "count"}
    machine = windowed(window, {"on": "watermark"})
    in_time = sorted(times)
    held: Held = {}
    rows: list[Row] = []
    for at in in_time:
        rows += machine.complete(held, None, at * SECOND)
        rows += machine.add(held, None, at * SECOND, {"at": at})
    rows += machine.finish(held, None)
    assert ordered(rows) == ordered(all_emitted(machine, in_time))


def test_timers_fire_for_what_came_since_and_for_nothing_else() -> None:
    window = {"type": "fixed", "time": "at", "range": 10, "aggregation": "count"}
    machine = windowed(window, {"on": "timer", "period": 1}, {"on": "watermark"})
    held: Held = {}
    machine.add(held, None, SECOND, {"at": 1})
    assert machine.tick(held, None) == [{"from": 0, "to": 10, "value": 1}]
    assert machine.tick(held, None) == []
    machine.add(held, None, 12 * SECOND, {"at": 12})
    assert machine.tick(held, None) == [{"from": 10, "to": 20, "value": 1}]


def test_after_a_trigger_that_discards_later_ones_see_an_empty_window() -> None:
    window = {"type": "global", "aggregation": "count"}
    discards = {"on": "timer", "period": 1, "refinement": "discarding"}
    machine = windowed(window, {"on": "timer", "period": 1}, discards, {"on": "timer", "period": 1})
    assert [row["value"] for row in all_emitted(machine, [1, 2])] == [2, 2, 0]
