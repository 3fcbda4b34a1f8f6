# The client has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Workers and nodes die; runs end as they should, and no attempt is started by two workers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from littlehorse.model.common_enums_pb2 import TaskStatus
from littlehorse.model.object_id_pb2 import WfRunId
from littlehorse.utils import extract_value
from littlehorse.workflow import WorkflowThread

from remuda.zookeeper.server import ZooKeeperServer
from tests.api.littlehorse.stable import fresh
from tests.api.littlehorse.town import Town
from tests.api.littlehorse.town import town as two_nodes
from tests.api.littlehorse.worker import attempts
from tests.api.nodes import shared
from tests.clusters import started
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.soak]

_RUNS = 40


@pytest.fixture(scope="module")
def town(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with two_nodes(zookeeper, tmp_path_factory.mktemp("crashes"), 2) as found:
        yield found


def test_a_worker_that_dies_in_the_middle_of_a_task_is_followed_by_another(town: Town) -> None:
    task = town.task(fresh("chore"))

    def hanging(thread: WorkflowThread) -> None:
        text = thread.declare_str("text", "hang")
        chore = thread.execute(task, text, timeout_seconds=2)
        thread.handle_error(chore, lambda handler: handler.execute(task, "done by another"))

    spec = town.stable.put(fresh("hanging"), hanging)
    worker = town.hire(task)
    run = town.stable.run(spec)
    wait_until(lambda: len(attempts(town.journal)) == 1, "the worker has begun")
    worker.kill()
    worker.wait()
    town.hire(task)
    town.stable.completed(run)
    first, second = town.stable.tasks(run)
    assert first.status == TaskStatus.TASK_TIMEOUT
    assert extract_value(second.attempts[-1].output) == "done by another"
    begun = attempts(town.journal)
    assert len(begun) == len({*begun}) == 2


def test_runs_go_on_when_a_node_is_killed_in_the_middle_of_claims_reports_and_timers(
    town: Town,
) -> None:
    tasks = [town.task(fresh("step")) for _ in range(3)]

    def steps(thread: WorkflowThread) -> None:
        for number, task in enumerate(tasks):
            thread.execute(task, f"step {number}", timeout_seconds=3, retries=20)

    def sleepy(thread: WorkflowThread) -> None:
        thread.sleep(2)

    stable = town.stable
    spec = stable.put(fresh("steps"), steps)
    timed = stable.put(fresh("sleepy"), sleepy)
    sleepers = [stable.run(timed) for _ in range(8)]
    town.hire(*tasks)
    before = len(attempts(town.journal))
    runs: list[WfRunId] = []
    for number in range(_RUNS):
        runs.append(stable.run(spec))
        if number == _RUNS // 2:
            wait_until(lambda: len(attempts(town.journal)) > before, "work has begun")
            town.kill_a_node()
    for run in (*runs, *sleepers):
        stable.completed(run)
    begun = attempts(town.journal)
    assert len(begun) == len({*begun}), "an attempt was started twice"
    for run in runs:
        done = stable.tasks(run)
        assert [task.status for task in done] == [TaskStatus.TASK_SUCCESS] * 3
        for task in done:
            ends = [attempt.status for attempt in task.attempts]
            assert ends.count(TaskStatus.TASK_SUCCESS) == 1
            assert {*ends} <= {TaskStatus.TASK_SUCCESS, TaskStatus.TASK_TIMEOUT}


def test_a_worker_that_has_not_heard_of_a_new_node_is_given_its_tasks(town: Town) -> None:
    task = town.task(fresh("chore"))
    spec = town.stable.put(fresh("chores"), lambda thread: thread.execute(task, "done"))
    town.hire(task, heartbeat_s=3600)
    town.stable.completed(town.stable.run(spec))
    started(town.cluster, 1)
    wait_until(lambda: shared(town.cluster.config, 2), "the nodes share the partitions")
    for run in [town.stable.run(spec) for _ in range(12)]:
        town.stable.completed(run)
