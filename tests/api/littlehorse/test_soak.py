# The client has no types to rely on.
# pyright: basic, reportArgumentType=false
"""Ten thousand runs while nodes are killed: all end right, and no attempt is started twice."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from littlehorse.model.common_enums_pb2 import LHStatus, TaskStatus
from littlehorse.model.object_id_pb2 import WfRunId
from littlehorse.model.service_pb2 import SearchWfRunRequest
from littlehorse.workflow import WorkflowThread

from remuda.zookeeper.server import ZooKeeperServer
from tests.api.littlehorse.stable import Stable, fresh
from tests.api.littlehorse.town import Town
from tests.api.littlehorse.town import town as three_nodes
from tests.api.littlehorse.worker import attempts
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.soak, pytest.mark.timeout(3000)]

RUNS = 10_000
CALLERS = 16


@pytest.fixture
def town(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with three_nodes(zookeeper, tmp_path_factory.mktemp("soak"), 3) as found:
        yield found


def test_runs_of_three_steps_complete_while_nodes_are_killed(town: Town) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    stable = town.stable
    tasks = [town.task(fresh("step")) for _ in range(3)]

    def steps(thread: WorkflowThread) -> None:
        for number, task in enumerate(tasks):
            thread.execute(task, f"step {number}", timeout_seconds=10, retries=100)

    spec = stable.put(fresh("steps"), steps)
    for _ in range(2):
        town.hire(*tasks, heartbeat_s=1)
    began = time.monotonic()
    killed = 0
    with ThreadPoolExecutor(CALLERS) as callers:
        runs = [callers.submit(stable.run, spec, f"run-{number}") for number in range(RUNS)]
        while not all(run.done() for run in runs):
            time.sleep(chance.uniform(4, 10))
            victims = [peer for peer in town.cluster.peers if peer is not town.keeper]
            victim = chance.choice(victims)
            victim.kill()
            victim.wait()
            town.cluster.peers.remove(victim)
            town.cluster.start_peer()
            killed += 1
        for run in runs:
            run.result()
    done = SearchWfRunRequest(wf_spec_name=spec, status=LHStatus.COMPLETED, limit=1_000)
    wait_until(lambda: len(found(stable, done)) == RUNS, "all have completed", 900)
    took_s = time.monotonic() - began
    begun = attempts(town.journal)
    assert len(begun) == len({*begun}), "an attempt was started twice"
    with ThreadPoolExecutor(CALLERS) as callers:
        for ended in callers.map(stable.tasks, found(stable, done)):
            assert [task.status for task in ended] == [TaskStatus.TASK_SUCCESS] * 3
            for task in ended:
                ends = [attempt.status for attempt in task.attempts]
                assert ends.count(TaskStatus.TASK_SUCCESS) == 1
    again = len(begun) - 3 * RUNS
    print(f"{RUNS:,} runs in {took_s:.0f} s, {killed} nodes killed, {again} attempts more")


def found(stable: Stable, request: SearchWfRunRequest) -> list[WfRunId]:
    page = SearchWfRunRequest()
    page.CopyFrom(request)
    runs: list[WfRunId] = []
    while True:
        answer = stable.stub.SearchWfRun(page)
        runs += answer.results
        if not answer.HasField("bookmark"):
            return runs
        page.bookmark = answer.bookmark
