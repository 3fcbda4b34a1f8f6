# The client has no types to rely on.
# pyright: basic
"""LittleHorse's own client against a node: specs are put, workers work, runs are waited for."""

from __future__ import annotations

import asyncio
import itertools
import threading
import uuid
from collections.abc import Callable
from typing import Any

import grpc
from littlehorse.config import LHConfig
from littlehorse.model.common_enums_pb2 import LHStatus
from littlehorse.model.object_id_pb2 import NodeRunId, VariableId, WfRunId
from littlehorse.model.service_pb2 import (
    ListNodeRunsRequest,
    ListTaskRunsRequest,
    RunWfRequest,
)
from littlehorse.model.service_pb2_grpc import LittleHorseStub
from littlehorse.model.wf_run_pb2 import WfRun
from littlehorse.utils import extract_value, to_variable_value
from littlehorse.worker import LHTaskWorker
from littlehorse.workflow import Workflow, create_workflow_spec

from tests.waiting import wait_until

ENDED = (LHStatus.COMPLETED, LHStatus.ERROR, LHStatus.EXCEPTION)
_numbers = itertools.count()


def fresh(word: str) -> str:
    """A name that no other test uses."""
    return f"{word}-{next(_numbers)}"


class Stable:
    """A client at a node's address, and the workers that it has started."""

    def __init__(self, address: str, **settings: str) -> None:
        host, _, port = address.rpartition(":")
        self.config = LHConfig()
        self.config.load({"LHC_API_HOST": host, "LHC_API_PORT": port, **settings})
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._stub: Any = None

    @property
    def stub(self) -> LittleHorseStub:
        if self._stub is None:
            self._stub = self.config.stub()
        return self._stub

    def close(self) -> None:
        async def cancel_all() -> None:
            mine = asyncio.current_task()
            tasks = [task for task in asyncio.all_tasks() if task is not mine]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(cancel_all(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)

    # ── what users do ────────────────────────────────────────────────────────────────────────

    def work(self, name: str, task: Callable[..., Any]) -> LHTaskWorker:
        """A worker for a TaskDef, which is made of the function."""
        worker = LHTaskWorker(task, name, self.config)
        worker.register_task_def()
        asyncio.run_coroutine_threadsafe(worker.start(), self._loop)
        return worker

    def put(self, name: str, entrypoint: Callable[..., None]) -> str:
        create_workflow_spec(Workflow(name, entrypoint), self.config)
        return name

    def run(self, spec: str, run: str = "", **variables: Any) -> WfRunId:
        given = {name: to_variable_value(value) for name, value in variables.items()}
        request = RunWfRequest(wf_spec_name=spec, variables=given, id=run or uuid.uuid4().hex)
        return self.stub.RunWf(request).id

    def ended(self, run: WfRunId, deadline_s: float = 60.0) -> WfRun:
        """The run, when it has ended."""

        def done() -> WfRun | None:
            found = self.stub.GetWfRun(run)
            return found if found.status in ENDED else None

        return wait_until(done, f"run {run.id} has ended", deadline_s)

    def completed(self, run: WfRunId) -> WfRun:
        found = self.ended(run)
        assert found.status == LHStatus.COMPLETED, found
        return found

    # ── what is looked at ────────────────────────────────────────────────────────────────────

    def variable(self, run: WfRunId, name: str, thread: int = 0) -> Any:
        found = self.stub.GetVariable(
            VariableId(wf_run_id=run, thread_run_number=thread, name=name)
        )
        return extract_value(found.value)

    def node(self, run: WfRunId, position: int, thread: int = 0) -> Any:
        return self.stub.GetNodeRun(
            NodeRunId(wf_run_id=run, thread_run_number=thread, position=position)
        )

    def nodes(self, run: WfRunId) -> list[Any]:
        return list(self.stub.ListNodeRuns(ListNodeRunsRequest(wf_run_id=run)).results)

    def tasks(self, run: WfRunId) -> list[Any]:
        return list(self.stub.ListTaskRuns(ListTaskRunsRequest(wf_run_id=run)).results)

    def outputs(self, run: WfRunId) -> list[Any]:
        """Of its tasks, in order of their creation."""
        return [extract_value(task.attempts[-1].output) for task in self.tasks(run)]


def refused(call: Callable[[], object]) -> tuple[grpc.StatusCode, str]:
    """The code and the words with which a call ends."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details() or ""
    raise AssertionError("it was not refused")
