# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Task attempts: claims, reports, time-outs, retries, checkpoints."""

from __future__ import annotations

from typing import Any

import pytest
from littlehorse.model.common_enums_pb2 import TaskStatus, VariableType
from littlehorse.model.common_wfspec_pb2 import ExponentialBackoffRetryPolicy
from littlehorse.model.object_id_pb2 import TaskRunId, WfRunId
from littlehorse.model.service_pb2 import (
    PutCheckpointRequest,
    PutCheckpointResponse,
    ReportTaskRun,
    ScheduledTask,
)
from littlehorse.utils import to_variable_value
from littlehorse.workflow import WorkflowThread

from remuda.partition.machine import Rejection
from remuda.workflow.commands import ClaimTask
from remuda.workflow.effects import TaskScheduled
from tests.workflow.world import TENANT, World, done, refused


@pytest.fixture
def world() -> World:
    world = World()
    world.task_def("step", returns=VariableType.STR)
    return world


def start(world: World, **options: Any) -> str:
    def body(thread: WorkflowThread) -> None:
        thread.execute("step", **options)

    return world.run(world.put("one-step", body))


def attempts(world: World, run: str) -> list[str]:
    (task,) = world.task_runs(run)
    return [TaskStatus.Name(attempt.status) for attempt in task.attempts]


def test_a_task_that_is_scheduled_is_an_effect_and_in_the_queue(world: World) -> None:
    run = start(world)
    (effect,) = [one for one in world.effects if isinstance(one, TaskScheduled)]
    assert (effect.task_def, effect.run) == ("step", run)
    assert world.partitions[0].reopen() == [("workflow", effect)]
    world.claim("step")
    assert world.partitions[0].reopen() == []


def test_a_claim_gives_the_worker_all_it_needs(world: World) -> None:
    run = start(world)
    task = world.claim("step", "worker-1")
    assert task.task_run_id.wf_run_id.id == run
    assert task.attempt_number == 0
    assert task.source.task_node.node_run_id.position == 1
    (kept,) = world.task_runs(run)
    assert kept.attempts[0].task_worker_id == "worker-1"
    assert kept.attempts[0].task_worker_version == "v1"
    assert attempts(world, run) == ["TASK_RUNNING"]


def test_no_attempt_is_given_to_two_workers(world: World) -> None:
    run = start(world)
    (_, _, guid) = next(world.queue())
    done(world.apply(0, ClaimTask(TENANT, run, guid, "first")))
    outcome = world.apply(0, ClaimTask(TENANT, run, guid, "second"))
    assert refused(outcome).kind == Rejection.STALE
    assert world.task_runs(run)[0].attempts[0].task_worker_id == "first"


def test_a_claim_that_never_reached_its_worker_is_undone(world: World) -> None:
    run = start(world)
    task = world.claim("step")
    done(world.unclaim(task))
    assert attempts(world, run) == ["TASK_SCHEDULED"]
    assert world.waiting() == ["step"]
    world.pass_time(120)
    assert attempts(world, run) == ["TASK_SCHEDULED"]
    again = world.claim("step", "another")
    assert again.attempt_number == 0
    assert refused(world.unclaim(task)).kind == Rejection.STALE
    assert attempts(world, run) == ["TASK_RUNNING"]


def test_a_second_report_changes_nothing(world: World) -> None:
    run = start(world)
    task = world.claim("step")
    done(world.succeed(task, "first"))
    before = world.partitions[0].items
    done(world.succeed(task, "second"))
    done(world.fail(task))
    assert world.partitions[0].items == before
    assert world.status(run) == "COMPLETED"


def test_a_report_after_the_time_out_changes_nothing(world: World) -> None:
    run = start(world, retries=1)
    late = world.claim("step")
    world.pass_time(61)
    done(world.succeed(late, "late"))
    assert attempts(world, run) == ["TASK_TIMEOUT", "TASK_SCHEDULED"]
    second = world.claim("step")
    done(world.succeed(late, "very late"))
    assert attempts(world, run) == ["TASK_TIMEOUT", "TASK_RUNNING"]
    done(world.succeed(second, "right"))
    assert world.status(run) == "COMPLETED"


def test_a_report_for_a_task_that_does_not_exist_is_not_found(world: World) -> None:
    run = start(world)
    for wrong in (
        TaskRunId(wf_run_id=WfRunId(id=run), task_guid="nobody"),
        TaskRunId(wf_run_id=WfRunId(id="nowhere"), task_guid="nobody"),
    ):
        outcome = world.call(0, "ReportTask", ReportTaskRun(task_run_id=wrong))
        assert refused(outcome).kind == Rejection.NOT_FOUND


def test_a_report_of_a_task_that_has_not_ended_is_a_failure(world: World) -> None:
    run = start(world)
    done(world.report(world.claim("step"), status=TaskStatus.TASK_RUNNING))
    assert world.status(run) == "ERROR"


@pytest.mark.parametrize(("timeout", "seconds"), [(None, 60), (5, 5)])
def test_time_runs_from_the_claim(world: World, timeout: int | None, seconds: int) -> None:
    run = start(world, timeout_seconds=timeout)
    world.pass_time(1000)
    assert world.status(run) == "RUNNING"
    world.claim("step")
    world.pass_time(seconds - 1)
    assert attempts(world, run) == ["TASK_RUNNING"]
    world.pass_time(1)
    assert attempts(world, run) == ["TASK_TIMEOUT"]
    assert world.status(run) == "ERROR"
    assert world.node(run).failures[0].failure_name == "TIMEOUT"


def test_a_failed_attempt_is_tried_again_at_once(world: World) -> None:
    run = start(world, retries=2)
    for _ in range(3):
        done(world.fail(world.claim("step")))
    assert attempts(world, run) == ["TASK_FAILED"] * 3
    assert world.status(run) == "ERROR"
    assert world.node(run).failures[0].failure_name == "TASK_ERROR"


def test_an_exception_is_not_tried_again(world: World) -> None:
    run = start(world, retries=5)
    done(world.throw(world.claim("step"), "out-of-stock"))
    assert attempts(world, run) == ["TASK_EXCEPTION"]
    assert world.status(run) == "EXCEPTION"


def test_retries_wait_longer_each_time_up_to_a_limit(world: World) -> None:
    policy = ExponentialBackoffRetryPolicy(base_interval_ms=1000, multiplier=2.0, max_delay_ms=3000)
    run = start(world, retries=4, exponential_backoff=policy)
    waits: list[int] = []
    for _ in range(4):
        done(world.fail(world.claim("step")))
        assert attempts(world, run)[-1] == "TASK_PENDING"
        due = world.partitions[0].next_due_ms
        assert due is not None
        waits.append(due - world.now_ms)
        world.pass_time((due - world.now_ms) / 1000)
        assert world.waiting() == ["step"]
    assert waits == [1000, 2000, 3000, 3000]
    done(world.succeed(world.claim("step"), "at last"))
    assert world.status(run) == "COMPLETED"


def test_a_fixed_wait_is_a_multiplier_of_one(world: World) -> None:
    policy = ExponentialBackoffRetryPolicy(base_interval_ms=500, multiplier=1.0)
    start(world, retries=2, exponential_backoff=policy)
    for _ in range(2):
        done(world.fail(world.claim("step")))
        assert world.waiting() == []
        world.pass_time(0.5)
        assert world.waiting() == ["step"]


def checkpoint(world: World, task: ScheduledTask, value: object) -> PutCheckpointResponse:
    request = PutCheckpointRequest(
        task_run_id=task.task_run_id,
        task_attempt=task.attempt_number,
        value=to_variable_value(value),
        logs="so far",
    )
    return PutCheckpointResponse.FromString(done(world.call(0, "PutCheckpoint", request)))


def test_a_checkpoint_is_there_for_the_next_attempt(world: World) -> None:
    start(world, retries=1)
    task = world.claim("step")
    answer = checkpoint(world, task, "half")
    assert answer.flow_control_continue_type == PutCheckpointResponse.CONTINUE_TASK
    assert answer.created_checkpoint.id.checkpoint_number == 0
    assert checkpoint(world, task, "more").created_checkpoint.id.checkpoint_number == 1
    done(world.fail(task))
    assert world.claim("step").total_observed_checkpoints == 2


def test_an_attempt_that_is_over_is_told_to_stop(world: World) -> None:
    start(world, retries=1)
    task = world.claim("step")
    world.pass_time(61)
    answer = checkpoint(world, task, "too late")
    assert answer.flow_control_continue_type == PutCheckpointResponse.STOP_TASK
    assert world.claim("step").total_observed_checkpoints == 0


def test_tasks_are_queued_in_the_order_in_which_they_came(world: World) -> None:
    spec = world.put("one-step", lambda thread: thread.execute("step"))
    runs: list[str] = []
    for _ in range(3):
        runs.append(world.run(spec))
        world.now_ms += 1
    assert [world.claim("step").task_run_id.wf_run_id.id for _ in runs] == runs


def test_the_id_of_a_task_run_is_not_used_again(world: World) -> None:
    spec = world.put("two", lambda thread: (thread.execute("step"), thread.execute("step"))[0])
    guids: set[str] = set()
    for _ in range(5):
        run = world.run(spec)
        world.work("step", "")
        world.work("step", "")
        guids |= {task.id.task_guid for task in world.task_runs(run)}
    assert len(guids) == 10
