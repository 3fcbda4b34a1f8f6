"""How callbacks are run: plain and async, tried again, cut short, and never two at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

from remuda.ownership.contract import (
    StartUnit,
    StopUnit,
    UnitChange,
    UnitFailed,
    UnitStarted,
    UnitStopped,
)
from remuda.service.api import Service, Unit
from remuda.service.runner import ServiceRunner
from tests.waiting import DEADLINE_S


class Stage:
    """A runner, and everything that it tells."""

    def __init__(self, service: Service, attempts: int = 2) -> None:
        self.errors: list[tuple[str, str]] = []
        self.runner = ServiceRunner(service, attempts, self._note)
        self._told: asyncio.Queue[UnitChange] = asyncio.Queue()

    def start(self, epoch: int = 1, unit: str = "u") -> None:
        self.runner.start_unit("me", StartUnit("s", unit, epoch), self._told.put_nowait)

    def stop(self, epoch: int = 1, unit: str = "u") -> None:
        self.runner.stop_unit(StopUnit("s", unit, epoch, "test"), self._told.put_nowait)

    async def told(self) -> UnitChange:
        async with asyncio.timeout(DEADLINE_S):
            return await self._told.get()

    @property
    def is_silent(self) -> bool:
        return self._told.empty()

    def _note(self, unit: Unit, what: str, error: BaseException) -> None:
        self.errors.append((what, str(error)))


def staged(play: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """A test that is a coroutine."""

    def test() -> None:
        asyncio.run(play())

    test.__name__ = play.__name__
    test.__doc__ = play.__doc__
    return test


class Diary(Service):
    """Writes down what it is called for; async."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.units: list[Unit] = []

    def note(self, what: str, unit: Unit) -> None:
        self.lines.append(f"{what} {unit.epoch}")

    async def start(self, unit: Unit) -> None:
        self.units.append(unit)
        self.note("start", unit)

    async def stop(self, unit: Unit) -> None:
        self.note("stop", unit)


class Broken(Diary):
    """Its start raises, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def start(self, unit: Unit) -> None:
        await super().start(unit)
        if len(self.units) <= self.times:
            raise OSError(f"no disk {len(self.units)}")


STARTED, STOPPED = UnitStarted("s", "u", 1), UnitStopped("s", "u", 1)


# ── callbacks ────────────────────────────────────────────────────────────────────────────────


@staged
async def test_async_callbacks_run_in_the_loop() -> None:
    class Async(Diary):
        async def start(self, unit: Unit) -> None:
            await super().start(unit)
            assert threading.current_thread() is threading.main_thread()
            assert asyncio.get_running_loop()

    served = Async()
    stage = Stage(served)
    stage.start()
    assert await stage.told() == STARTED
    assert [(u.service, u.id, u.epoch) for u in stage.runner.units] == [("s", "u", 1)]
    stage.stop()
    assert await stage.told() == STOPPED
    assert (served.lines, stage.runner.units) == (["start 1", "stop 1"], [])


@staged
async def test_plain_callbacks_run_in_threads() -> None:
    threads: list[threading.Thread] = []

    class Plain(Service):
        def start(self, unit: Unit) -> None:
            threads.append(threading.current_thread())

        def stop(self, unit: Unit) -> None:
            threads.append(threading.current_thread())

    stage = Stage(Plain())
    stage.start()
    assert await stage.told() == STARTED
    stage.stop()
    assert await stage.told() == STOPPED
    assert len(threads) == 2
    assert threading.main_thread() not in threads


@staged
async def test_a_plain_method_may_answer_with_something_to_await() -> None:
    class Mixed(Diary):
        def start(self, unit: Unit) -> Coroutine[Any, Any, None]:  # type: ignore[override]
            return Diary.start(self, unit)

    served = Mixed()
    stage = Stage(served)
    stage.start()
    assert await stage.told() == STARTED
    assert served.lines == ["start 1"]


@staged
async def test_a_service_that_overrides_nothing_serves_all_the_same() -> None:
    stage = Stage(Service())
    stage.start()
    assert await stage.told() == STARTED
    stage.stop()
    assert await stage.told() == STOPPED


@staged
async def test_units_are_served_side_by_side() -> None:
    class Meeting(Diary):
        both = asyncio.Barrier(2)

        async def start(self, unit: Unit) -> None:
            await self.both.wait()

    stage = Stage(Meeting())
    stage.start(unit="u")
    stage.start(unit="v")
    assert {await stage.told(), await stage.told()} == {STARTED, UnitStarted("s", "v", 1)}
    assert [unit.id for unit in stage.runner.units] == ["u", "v"]


# ── what raises ──────────────────────────────────────────────────────────────────────────────


@staged
async def test_a_start_that_raises_is_tried_again_after_a_while() -> None:
    served = Broken(times=1)
    stage = Stage(served)
    began = time.monotonic()
    stage.start()
    assert await stage.told() == STARTED
    assert time.monotonic() - began >= 0.1
    assert stage.errors == [("start", "no disk 1")]
    assert served.lines == ["start 1", "start 1"]


@staged
async def test_a_start_that_raises_too_often_fails_with_the_last_reason_and_is_not_stopped() -> (
    None
):
    served = Broken(times=9)
    stage = Stage(served, attempts=2)
    stage.start()
    assert await stage.told() == UnitFailed("s", "u", 1, "OSError: no disk 2")
    assert served.lines == ["start 1", "start 1"]
    assert stage.errors == [("start", "no disk 1"), ("start", "no disk 2")]
    assert stage.runner.units == []


@staged
async def test_a_unit_that_is_lost_between_two_attempts_is_not_tried_again() -> None:
    served = Broken(times=9)
    stage = Stage(served, attempts=9)
    stage.start()
    await settled()
    assert stage.errors == [("start", "no disk 1")]
    stage.stop()
    assert await stage.told() == STOPPED
    assert served.lines == ["start 1"]


@staged
async def test_what_stop_raises_is_reported_and_the_unit_counts_as_stopped() -> None:
    class Sticky(Diary):
        async def stop(self, unit: Unit) -> None:
            raise OSError("the door is stuck")

    stage = Stage(Sticky())
    stage.start()
    assert await stage.told() == STARTED
    stage.stop()
    assert await stage.told() == STOPPED
    assert stage.errors == [("stop", "the door is stuck")]


@staged
async def test_a_spawned_task_that_raises_has_the_unit_stopped_and_started_again() -> None:
    class Spawning(Diary):
        async def start(self, unit: Unit) -> None:
            await super().start(unit)
            if len(self.units) == 1:
                unit.spawn(self.breaks())

        async def breaks(self) -> None:
            raise OSError("lost the feed")

    served = Spawning()
    stage = Stage(served)
    stage.start()
    assert await stage.told() == STARTED
    assert await stage.told() == STARTED
    assert served.lines == ["start 1", "stop 1", "start 1"]
    assert stage.errors == [("run", "lost the feed")]


@staged
async def test_a_unit_whose_spawned_tasks_always_break_fails_in_the_end() -> None:
    class Breaking(Diary):
        async def start(self, unit: Unit) -> None:
            unit.spawn(self.breaks())

        async def breaks(self) -> None:
            raise OSError("lost the feed")

    stage = Stage(Breaking(), attempts=2)
    stage.start()
    assert await stage.told() == STARTED
    assert await stage.told() == STARTED
    assert await stage.told() == UnitFailed("s", "u", 1, "OSError: lost the feed")


@staged
async def test_what_a_start_spawned_before_it_raised_is_cancelled() -> None:
    class HalfStarted(Broken):
        cancelled = 0

        async def start(self, unit: Unit) -> None:
            unit.spawn(self.run())
            await asyncio.sleep(0)
            await super().start(unit)

        async def run(self) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled += 1

    served = HalfStarted(times=1)
    stage = Stage(served)
    stage.start()
    assert await stage.told() == STARTED
    assert served.cancelled == 1


# ── stopping ─────────────────────────────────────────────────────────────────────────────────


@staged
async def test_a_stop_during_a_slow_start_cancels_it_and_calls_stop() -> None:
    class Slow(Diary):
        starting = asyncio.Event()

        async def start(self, unit: Unit) -> None:
            await super().start(unit)
            self.starting.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.note("cancelled", unit)

    served = Slow()
    stage = Stage(served)
    stage.start()
    await served.starting.wait()
    stage.stop()
    assert await stage.told() == STOPPED
    assert served.lines == ["start 1", "cancelled 1", "stop 1"]


@staged
async def test_a_plain_start_has_returned_before_stop_is_called_and_the_unit_has_stopped() -> None:
    class Slow(Diary):
        begun, go_on = threading.Event(), threading.Event()

        def start(self, unit: Unit) -> None:  # type: ignore[override]
            self.begun.set()
            self.go_on.wait(DEADLINE_S)
            self.note("started", unit)

    served = Slow()
    stage = Stage(served)
    stage.start()
    await asyncio.to_thread(served.begun.wait)
    stage.stop()
    await settled()
    silent = stage.is_silent
    served.go_on.set()
    assert await stage.told() == STOPPED
    assert silent
    assert served.lines == ["started 1", "stop 1"]


@staged
async def test_a_unit_that_is_lost_before_it_began_to_start_is_not_started() -> None:
    served = Diary()
    stage = Stage(served)
    stage.start()
    stage.stop()
    assert await stage.told() == STOPPED
    assert served.lines == []


@staged
async def test_a_unit_that_does_not_run_has_stopped() -> None:
    stage = Stage(Diary())
    stage.stop()
    assert await stage.told() == STOPPED


@staged
async def test_spawned_tasks_have_ended_when_stop_is_called() -> None:
    class Ending(Diary):
        async def start(self, unit: Unit) -> None:
            unit.spawn(self.run(unit))

        async def run(self, unit: Unit) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                self.note("ended", unit)

    served = Ending()
    stage = Stage(served)
    stage.start()
    assert await stage.told() == STARTED
    stage.stop()
    assert await stage.told() == STOPPED
    assert served.lines == ["ended 1", "stop 1"]


@staged
async def test_a_unit_is_lost_at_once_and_before_stop_is_called() -> None:
    class Watchful(Diary):
        async def stop(self, unit: Unit) -> None:
            assert unit.lost.is_set()
            self.note("stop", unit)

    served = Watchful()
    stage = Stage(served)
    stage.start()
    assert await stage.told() == STARTED
    (unit,) = served.units
    assert not unit.lost.is_set()
    waiting = asyncio.ensure_future(wait_for_loss(unit))
    stage.stop()
    assert unit.lost.is_set()
    assert await stage.told() == STOPPED
    assert await waiting is True
    assert (served.lines[-1], stage.errors) == ("stop 1", [])


async def wait_for_loss(unit: Unit) -> bool:
    return await unit.lost


@staged
async def test_the_loss_of_a_unit_can_be_waited_for_in_a_thread() -> None:
    class Threaded(Service):
        def start(self, unit: Unit) -> None:
            assert unit.lost.wait(0) is False
            self.thread = threading.Thread(target=self.work, args=(unit,))
            self.thread.start()

        def work(self, unit: Unit) -> None:
            self.answer = unit.lost.wait(DEADLINE_S)

        def stop(self, unit: Unit) -> None:
            self.thread.join()

    served = Threaded()
    stage = Stage(served)
    stage.start()
    assert await stage.told() == STARTED
    stage.stop()
    assert await stage.told() == STOPPED
    assert served.answer is True


# ── one run after another ────────────────────────────────────────────────────────────────────


class Gated(Diary):
    """Its stop takes until the gate opens."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def stop(self, unit: Unit) -> None:
        await self.gate.wait()
        await super().stop(unit)


@staged
async def test_the_next_run_of_a_unit_begins_when_the_last_has_stopped() -> None:
    served = Gated()
    stage = Stage(served)
    stage.start(1)
    assert await stage.told() == STARTED
    stage.stop(1)
    stage.start(2)
    await settled()
    assert served.lines == ["start 1"]
    served.gate.set()
    assert await stage.told() == STOPPED
    assert await stage.told() == UnitStarted("s", "u", 2)
    assert served.lines == ["start 1", "stop 1", "start 2"]


@staged
async def test_the_next_epoch_waits_even_if_it_comes_before_the_last_was_told_to_stop() -> None:
    served = Gated()
    served.gate.set()
    stage = Stage(served)
    stage.start(1)
    assert await stage.told() == STARTED
    stage.start(2)
    stage.start(3)
    await settled()
    assert served.lines == ["start 1"]
    for epoch in (1, 2, 3):
        stage.stop(epoch)
    told = [await stage.told() for _ in range(3)]
    assert told == [UnitStopped("s", "u", epoch) for epoch in (1, 2, 3)]
    assert served.lines == ["start 1", "stop 1"]


@staged
async def test_a_unit_can_be_started_again_under_its_epoch_as_soon_as_it_has_stopped() -> None:
    """As when a session that nearly expired turns out to live."""
    served = Diary()
    stage = Stage(served)

    def tell(change: UnitChange) -> None:
        if isinstance(change, UnitStopped) and len(served.units) == 1:
            stage.start()

    stage.runner.start_unit("me", StartUnit("s", "u", 1), tell)
    await settled()
    stage.runner.stop_unit(StopUnit("s", "u", 1, "test"), tell)
    assert await stage.told() == STARTED
    await settled()
    assert [unit.id for unit in stage.runner.units] == ["u"]
    stage.stop()
    assert await stage.told() == STOPPED
    assert served.lines == ["start 1", "stop 1", "start 1", "stop 1"]


@staged
async def test_a_runner_has_ended_when_every_run_has() -> None:
    served = Gated()
    stage = Stage(served)
    stage.start(1)
    assert await stage.told() == STARTED
    stage.stop(1)
    ended = asyncio.ensure_future(stage.runner.ended())
    await settled()
    assert not ended.done()
    served.gate.set()
    async with asyncio.timeout(DEADLINE_S):
        await ended
    assert served.lines == ["start 1", "stop 1"]


async def settled() -> None:
    """Everything that could run without anything new has run."""
    for _ in range(50):
        await asyncio.sleep(0)


# ── load ─────────────────────────────────────────────────────────────────────────────────────


@staged
async def test_meters_are_read_as_loads_a_minute_since_the_last_reading() -> None:
    earliest = time.monotonic()
    served = Diary()
    stage = Stage(served)
    latest = time.monotonic()
    stage.start(unit="u")
    stage.start(unit="v")
    await stage.told()
    await stage.told()
    meters = {unit.id: unit.meter for unit in served.units}
    for _ in range(10):
        meters["u"].mark()
    meters["u"].mark(990)
    most = 60_000 / (time.monotonic() - latest)
    loads = stage.runner.loads("s")
    least = 60_000 / max(time.monotonic() - earliest, 0.001)
    assert round(least) <= loads["u"] <= round(most)
    assert loads["v"] == 0
    assert stage.runner.loads("s") == {"u": 0, "v": 0}
    stage.stop(unit="u")
    await stage.told()
    await settled()
    assert stage.runner.loads("s") == {"v": 0}
