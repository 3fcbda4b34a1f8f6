# grpcio has no types.
# pyright: basic
"""A worker that says each word itself: polls on a stream, and reports."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc.aio
from littlehorse.model.common_enums_pb2 import TaskStatus
from littlehorse.model.object_id_pb2 import TaskDefId
from littlehorse.model.service_pb2 import PollTaskRequest, ReportTaskRun, ScheduledTask
from littlehorse.model.service_pb2_grpc import LittleHorseStub
from littlehorse.utils import to_variable_value

T = TypeVar("T")

DEADLINE_S = 60.0


class Polls:
    """One stream of polls."""

    def __init__(self, stub: Any, worker: str) -> None:
        self.call = stub.PollTask()
        self._worker = worker

    async def ask(self, task_def: str) -> None:
        request = PollTaskRequest(client_id=self._worker, task_def_id=TaskDefId(name=task_def))
        await self.call.write(request)

    async def answer(self) -> ScheduledTask | None:
        """None if it was an empty one."""
        async with asyncio.timeout(DEADLINE_S):
            response = await self.call.read()
        return response.result if response.HasField("result") else None


async def report(stub: Any, task: ScheduledTask, output: Any = None) -> None:
    await stub.ReportTask(
        ReportTaskRun(
            task_run_id=task.task_run_id,
            attempt_number=task.attempt_number,
            status=TaskStatus.TASK_SUCCESS,
            output=to_variable_value(output),
        )
    )


def with_stub(address: str, say: Callable[[Any], Awaitable[T]]) -> T:
    async def talking() -> T:
        async with asyncio.timeout(2 * DEADLINE_S), grpc.aio.insecure_channel(address) as channel:
            return await say(LittleHorseStub(channel))

    return asyncio.run(talking())
