# grpcio and the client have no types.
# pyright: basic, reportArgumentType=false
"""Polls: each earns one answer, in order; a claim whose stream is gone is undone."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import grpc
import pytest
from littlehorse.model.common_enums_pb2 import LHStatus, TaskStatus
from littlehorse.model.object_id_pb2 import TaskDefId, WfRunId
from littlehorse.model.service_pb2 import (
    PollTaskRequest,
    PutTaskDefRequest,
    RegisterTaskWorkerRequest,
    StopWfRunRequest,
)

from remuda.partition.hosting import POOL, unit_of
from remuda.replica.state import Replica
from remuda.workflow.placement import partition_of_run
from tests.api.littlehorse.polls import Polls, report, with_stub
from tests.api.littlehorse.stable import Stable, fresh, refused
from tests.api.nodes import PARTITIONS, addresses

pytestmark = pytest.mark.integration


@pytest.fixture
def task(stable: Stable) -> str:
    name = fresh("chore")
    stable.stub.PutTaskDef(PutTaskDefRequest(name=name))
    return name


@pytest.fixture
def spec(stable: Stable, task: str) -> str:
    return stable.put(fresh("chores"), lambda thread: thread.execute(task, timeout_seconds=300))


@pytest.fixture
def address(replica: Replica) -> str:
    return addresses(replica)[0]


def run_at(stable: Stable, replica: Replica, address: str, spec: str) -> WfRunId:
    """A run that is in a partition of the node at this address."""
    while True:
        name = fresh(f"run-{time.monotonic_ns()}")
        number = partition_of_run("default", WfRunId(id=name), PARTITIONS)
        owner = replica.pools[POOL].units[unit_of(number)].owner
        if owner is not None and replica.peers[owner].address == address:
            return stable.run(spec, name)


def test_a_worker_is_given_every_node(stable: Stable, replica: Replica, task: str) -> None:
    request = RegisterTaskWorkerRequest(task_worker_id="w", task_def_id=TaskDefId(name=task))
    answer = stable.stub.RegisterTaskWorker(request)
    hosts = sorted(f"{host.host}:{host.port}" for host in answer.your_hosts)
    assert hosts == sorted(addresses(replica))
    assert answer.is_cluster_healthy


def test_many_polls_of_one_stream_earn_one_answer_each(
    stable: Stable, replica: Replica, address: str, spec: str, task: str
) -> None:
    async def work(stub: Any) -> list[str]:
        polls = Polls(stub, "ann")
        for _ in range(20):
            await polls.ask(task)
        runs = [await asyncio.to_thread(run_at, stable, replica, address, spec) for _ in range(20)]
        tasks = [await polls.answer() for _ in range(20)]
        assert sorted(one.task_run_id.wf_run_id.id for one in tasks if one) == sorted(
            run.id for run in runs
        )
        for one in tasks:
            assert one is not None
            await report(stub, one)
        await polls.call.done_writing()
        assert await polls.call.read() == grpc.aio.EOF  # pyright: ignore[reportAttributeAccessIssue]
        return [run.id for run in runs]

    for run in with_stub(address, work):
        stable.completed(WfRunId(id=run))


def test_a_poll_for_another_task_waits_for_its_turn(
    stable: Stable, replica: Replica, address: str, spec: str, task: str
) -> None:
    other = fresh("other")
    stable.stub.PutTaskDef(PutTaskDefRequest(name=other))
    other_spec = stable.put(fresh("others"), lambda thread: thread.execute(other))

    async def work(stub: Any) -> list[str]:
        polls = Polls(stub, "ann")
        await polls.ask(task)
        await polls.ask(other)
        await asyncio.to_thread(run_at, stable, replica, address, other_spec)
        await asyncio.to_thread(run_at, stable, replica, address, spec)
        tasks = [await polls.answer(), await polls.answer()]
        return [one.task_def_id.name for one in tasks if one is not None]

    assert with_stub(address, work) == [task, other]


def test_tasks_are_handed_out_in_the_order_in_which_they_came(
    stable: Stable, replica: Replica, address: str, spec: str, task: str
) -> None:
    runs = [run_at(stable, replica, address, spec) for _ in range(5)]

    async def work(stub: Any) -> list[str]:
        polls = Polls(stub, "ann")
        tasks: list[str] = []
        for _ in runs:
            await polls.ask(task)
            got = await polls.answer()
            tasks += [] if got is None else [got.task_run_id.wf_run_id.id]
        return tasks

    assert with_stub(address, work) == [run.id for run in runs]


def test_a_stream_that_breaks_while_it_waits_takes_nothing_with_it(
    stable: Stable, replica: Replica, address: str, spec: str, task: str
) -> None:
    async def work(stub: Any) -> None:
        broken = Polls(stub, "ann")
        for _ in range(50):
            await broken.ask(task)
        broken.call.cancel()
        runs = [await asyncio.to_thread(run_at, stable, replica, address, spec) for _ in range(10)]
        # Whatever was claimed for the stream that broke is undone, or was never claimed.
        polls = Polls(stub, "bob")
        for _ in runs:
            await polls.ask(task)
            got = await polls.answer()
            assert got is not None
            assert got.attempt_number == 0
            await report(stub, got)

    with_stub(address, work)


def test_a_stopped_run_gives_its_task_to_nobody_and_polls_go_on(
    stable: Stable, replica: Replica, address: str, spec: str, task: str
) -> None:
    stopped = run_at(stable, replica, address, spec)
    stable.stub.StopWfRun(StopWfRunRequest(wf_run_id=stopped))
    assert stable.stub.GetWfRun(stopped).status == LHStatus.HALTED
    run = run_at(stable, replica, address, spec)

    async def work(stub: Any) -> str:
        polls = Polls(stub, "ann")
        await polls.ask(task)
        got = await polls.answer()
        return "" if got is None else got.task_run_id.wf_run_id.id

    assert with_stub(address, work) == run.id


def test_a_late_or_second_report_is_answered_and_changes_nothing(
    stable: Stable, replica: Replica, address: str, spec: str, task: str
) -> None:
    run = run_at(stable, replica, address, spec)

    async def work(stub: Any) -> None:
        polls = Polls(stub, "ann")
        await polls.ask(task)
        got = await polls.answer()
        assert got is not None
        await report(stub, got, "first")
        await report(stub, got, "second")

    with_stub(address, work)
    stable.completed(run)
    attempts = stable.tasks(run)[0].attempts
    assert [(one.status, one.output.str) for one in attempts] == [
        (TaskStatus.TASK_SUCCESS, "first")
    ]
    assert attempts[0].task_worker_id == "ann"


def test_a_poll_for_an_unknown_task_or_by_nobody_is_refused(address: str, task: str) -> None:
    with grpc.insecure_channel(address) as channel:
        poll = channel.stream_stream(
            "/littlehorse.LittleHorse/PollTask",
            request_serializer=PollTaskRequest.SerializeToString,
        )
        lost = PollTaskRequest(client_id="w", task_def_id=TaskDefId(name="lost"))
        code, words = refused(lambda: list(poll(iter([lost]), timeout=30)))
        assert (code, "TaskDef lost" in words) == (grpc.StatusCode.NOT_FOUND, True)
        nobody = PollTaskRequest(task_def_id=TaskDefId(name=task))
        code, words = refused(lambda: list(poll(iter([nobody]), timeout=30)))
        assert (code, "client_id" in words) == (grpc.StatusCode.INVALID_ARGUMENT, True)
