# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Whatever happens to runs, in whatever order: invariants hold, and the log gives the state."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.common_wfspec_pb2 import ExponentialBackoffRetryPolicy
from littlehorse.model.external_event_pb2 import CorrelatedEventConfig
from littlehorse.model.service_pb2 import DeleteWfRunRequest, ScheduledTask
from littlehorse.model.user_tasks_pb2 import CancelUserTaskRunRequest, CompleteUserTaskRunRequest
from littlehorse.model.wf_spec_pb2 import WaitForThreadsStrategy, WfSpec
from littlehorse.utils import to_variable_value
from littlehorse.workflow import SpawnedThreads, WorkflowThread

from remuda.partition.fold import Record
from remuda.partition.memory import MemoryPartition
from remuda.workflow.data.values import run_id_from_text
from remuda.workflow.invariants import broken
from remuda.workflow.machine import WorkflowMachine
from tests.workflow.world import World

STR, INT = VariableType.STR, VariableType.INT
BACKOFF = ExponentialBackoffRetryPolicy(base_interval_ms=2000, multiplier=2.0)


def busy(thread: WorkflowThread) -> None:
    """A bit of everything: children, handlers, interrupts, retries, waits of every kind."""
    count = thread.add_variable("count", INT, default_value=0)
    name = thread.add_variable("name", STR, default_value="x").searchable()

    def interrupt(handler: WorkflowThread) -> None:
        handler.execute("note", handler.add_variable("INPUT", STR))
        count.assign(count.add(10))

    thread.add_interrupt_handler("poke", interrupt)

    def worker(child: WorkflowThread) -> None:
        child.execute("work", name, retries=2, exponential_backoff=BACKOFF)
        count.assign(count.add(1))

    def waiter(child: WorkflowThread) -> None:
        event = child.wait_for_event("ping", timeout=20)
        child.handle_error(event, lambda handler: handler.execute("note", "late"))
        child.assign_user_task("form", "ann")

    one = thread.spawn_thread(worker, "one")
    two = thread.spawn_thread(waiter, "two")
    first = thread.execute("work", "first", retries=1, timeout_seconds=7)
    thread.handle_any_failure(first, lambda handler: handler.execute("note", "sorry"))
    waited = thread.wait_for_threads(SpawnedThreads.from_list(one, two))
    waited.handle_any_failure_on_child(lambda handler: handler.execute("note", "child"))
    thread.sleep(3)
    thread.complete(count)


def racing(thread: WorkflowThread) -> None:
    """Two children, of whom the first that ends stops the other; one of them has a child."""

    def deep(child: WorkflowThread) -> None:
        child.spawn_thread(lambda inner: inner.execute("work", "deep"), "deeper")
        child.execute("note", "shallow")

    one = thread.spawn_thread(deep, "left")
    two = thread.spawn_thread(lambda child: child.execute("work", "right"), "right")
    threads = SpawnedThreads.from_list(one, two)
    waited = thread.wait_for_threads(threads, WaitForThreadsStrategy.WAIT_FOR_FIRST)
    thread.handle_any_failure(waited, lambda handler: handler.execute("note", "lost"))


class Chaos:
    """Does something to some run, as a number says. What makes no sense is refused, or nothing."""

    def __init__(self) -> None:
        self.world = World()
        world = self.world
        world.task_def("work", STR)
        world.task_def("note", STR)
        world.event_def("ping", STR)
        world.event_def("poke", STR)
        world.user_task_def("form", ("ok", VariableType.BOOL, False))
        self.specs: list[WfSpec] = [world.put("busy", busy), world.put("racing", racing)]
        self.runs: list[str] = []
        self.claimed: list[ScheduledTask] = []

    def do(self, action: str, number: int) -> None:
        if action == "run" and len(self.runs) < 4:
            self.runs.append(self.world.run(self.specs[number % 2]))
        elif self.runs:
            getattr(self, f"_{action}", lambda number: None)(number)

    def _run_of(self, number: int) -> str:
        return self.runs[number % len(self.runs)]

    def _claim(self, number: int) -> None:
        queue = list(self.world.queue())
        if queue:
            self.claimed.append(self.world.claim(queue[number % len(queue)][0]))

    def _succeed(self, number: int) -> None:
        if self.claimed:
            self.world.succeed(self.claimed[number % len(self.claimed)])

    def _fail(self, number: int) -> None:
        if self.claimed:
            self.world.fail(self.claimed[number % len(self.claimed)])

    def _throw(self, number: int) -> None:
        if self.claimed:
            self.world.throw(self.claimed[number % len(self.claimed)], "oh-no")

    def _unclaim(self, number: int) -> None:
        if self.claimed:
            self.world.unclaim(self.claimed[number % len(self.claimed)])

    def _ping(self, number: int) -> None:
        self.world.event(self._run_of(number), "ping", "hello")

    def _poke(self, number: int) -> None:
        self.world.event(self._run_of(number), "poke", "hey")

    def _stop(self, number: int) -> None:
        self.world.stop(self._run_of(number), number // 4 % 3)

    def _resume(self, number: int) -> None:
        self.world.resume(self._run_of(number), number // 4 % 3)

    def _rescue(self, number: int) -> None:
        self.world.rescue(self._run_of(number), number // 4 % 3, skip=number % 2 == 0)

    def _wait(self, number: int) -> None:
        self.world.pass_time(number)

    def _complete(self, number: int) -> None:
        run = self._run_of(number)
        for task in self.world.user_tasks(run):
            request = CompleteUserTaskRunRequest(user_task_run_id=task.id, user_id="bob")
            request.results["ok"].CopyFrom(to_variable_value(True))
            self.world.at_run(run, "CompleteUserTaskRun", request)

    def _cancel(self, number: int) -> None:
        run = self._run_of(number)
        for task in self.world.user_tasks(run):
            request = CancelUserTaskRunRequest(user_task_run_id=task.id)
            self.world.at_run(run, "CancelUserTaskRun", request)

    def _delete(self, number: int) -> None:
        run = self.runs.pop(number % len(self.runs))
        request = DeleteWfRunRequest(id=run_id_from_text(run))
        self.world.at_run(run, "DeleteWfRun", request)

    def finish(self) -> None:
        """From here on everything goes well: nothing may stay stuck."""
        world = self.world
        for run in self.runs:
            for thread in world.wf_run(run).thread_runs:
                world.resume(run, thread.number)
        for _ in range(60):
            for claimed in self.claimed:
                world.succeed(claimed)
            while world.waiting():
                world.succeed(world.claim())
            for number, _ in enumerate(self.runs):
                self._complete(number)
            world.pass_time(30)


ACTIONS = (
    *("claim", "succeed", "wait", "stop", "resume") * 2,
    *("run", "fail", "throw", "unclaim", "ping", "poke", "rescue", "complete", "cancel", "delete"),
)
histories = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 11)), min_size=5, max_size=60
)
History = list[tuple[str, int]]


def played(history: History) -> Chaos:
    chaos = Chaos()
    for number in range(2):
        chaos.do("run", number)
    for action, number in history:
        chaos.do(action, number)
    return chaos


@given(histories)
def test_every_invariant_holds_after_every_command(history: History) -> None:
    chaos = Chaos()
    for number in range(2):
        chaos.do("run", number)
    for action, number in history:
        chaos.do(action, number)
        assert broken(chaos.world.partitions[0].view) == [], (action, number)


@given(histories)
def test_a_run_that_everything_goes_well_for_ends(history: History) -> None:
    chaos = played(history)
    chaos.finish()
    for run in chaos.runs:
        assert chaos.world.status(run) in ("COMPLETED", "ERROR", "EXCEPTION")
    assert chaos.world.waiting() == []


@given(histories)
def test_the_log_played_again_is_the_same_state_byte_for_byte(history: History) -> None:
    partition = played(history).world.partitions[0]
    assert again(partition).items == partition.items


def test_several_partitions_play_again_to_the_same_states() -> None:
    world = World(partitions=3)
    world.event_def("signed", STR, correlated_event_config=CorrelatedEventConfig())
    world.task_def("work", STR)

    def body(thread: WorkflowThread) -> None:
        key = thread.add_variable("key", STR)
        thread.execute("work", thread.wait_for_event("signed", correlation_id=key))

    spec = world.put("signs", body)
    runs = [world.run(spec, f"run-{n}", key=f"key-{n % 4}") for n in range(12)]
    for number in range(4):
        world.correlated("signed", f"key-{number}", "Ann")
    while world.waiting():
        world.work("work")
    assert {world.status(run) for run in runs} == {"COMPLETED"}
    for number, partition in enumerate(world.partitions):
        assert broken(partition.view) == []
        assert again(partition, number, 3).items == partition.items


def again(partition: MemoryPartition, number: int = 0, partitions: int = 1) -> MemoryPartition:
    copy = MemoryPartition([WorkflowMachine(partitions)], partition=number)
    for position in sorted(partition.disk.commands):
        copy.play(Record.decode(partition.disk.commands[position]))
    return copy


A_BUSY_DAY: History = [
    (ACTIONS[n * 7 % len(ACTIONS)], n * 5 % 12) for n in range(120) if n * 7 % len(ACTIONS) != 19
]


def digest() -> str:
    """Of the state after a busy day; the same in every process."""
    chaos = played(A_BUSY_DAY)
    found = sha256()
    for key, value in chaos.world.partitions[0].items:
        found.update(key + b"\x00" + value + b"\x00")
    return found.hexdigest()


@pytest.mark.integration
def test_the_state_does_not_depend_on_the_process_that_made_it() -> None:
    code = "from tests.workflow.test_properties import digest; print(digest())"
    found = {digest()}
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        found.add(done.stdout.strip())
    assert len(found) == 1
