"""Streams of workers that wait for tasks: every request earns exactly one answer.

An answer is empty if nobody knows whether the claim was written. Requests of one stream for the
same TaskDef wait side by side, and whichever task is claimed first answers the first of them;
a request for another TaskDef waits until those before it are answered.

A claim whose stream is gone before the task is written to it is undone. Once writing has begun
the worker may have the task, so from then on only the attempt's time-out gives it to another.
"""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack

import grpc.aio
from littlehorse.model.service_pb2 import PollTaskRequest, PollTaskResponse

from remuda.api.calls import first_of
from remuda.api.littlehorse.callers import RIGHTS, Caller, check
from remuda.api.littlehorse.handlers import Desk
from remuda.api.littlehorse.workers import check_task_def
from remuda.workflow.dispatch import Dispatch, Sort
from remuda.workflow.gateway import invalid

_OUTSTANDING_MAX = 1_000


async def polled(
    desk: Desk,
    dispatch: Dispatch,
    caller: Caller,
    requests: AsyncIterator[PollTaskRequest],
    context: grpc.aio.ServicerContext,
) -> None:
    with first_of(), ExitStack() as asking:
        async with asyncio.TaskGroup() as group:
            await _Stream(desk, dispatch, caller, context, group, asking).read(requests)


class _Stream:
    def __init__(
        self,
        desk: Desk,
        dispatch: Dispatch,
        caller: Caller,
        context: grpc.aio.ServicerContext,
        group: asyncio.TaskGroup,
        asking: ExitStack,
    ) -> None:
        self._desk = desk
        self._dispatch = dispatch
        self._caller = caller
        self._context = context
        self._group = group
        self._asking = asking
        self._sort: Sort | None = None
        self._outstanding: set[asyncio.Task[None]] = set()
        self._writing = asyncio.Lock()

    async def read(self, requests: AsyncIterator[PollTaskRequest]) -> None:
        async for request in requests:
            sort = Sort(self._caller.tenant, request.task_def_id.name)
            if sort != self._sort:
                await self._turn_to(sort, request)
            while len(self._outstanding) >= _OUTSTANDING_MAX:
                await asyncio.wait(self._outstanding, return_when=asyncio.FIRST_COMPLETED)
            task = self._group.create_task(self._answer(sort, request))
            self._outstanding.add(task)
            task.add_done_callback(self._outstanding.discard)

    async def _turn_to(self, sort: Sort, request: PollTaskRequest) -> None:
        check(self._caller, "PollTask", RIGHTS["PollTask"], request)
        await check_task_def(self._desk, sort.tenant, sort.task_def)
        if self._outstanding:
            await asyncio.wait(self._outstanding)
        self._asking.close()
        self._asking.enter_context(self._dispatch.asking(sort))
        self._sort = sort

    async def _answer(self, sort: Sort, request: PollTaskRequest) -> None:
        if not request.client_id:
            raise invalid("client_id: a worker says who it is")
        claim = await self._dispatch.claim(sort, request.client_id, request.task_worker_version)
        response = PollTaskResponse(result=None if claim is None else claim.task)
        has_begun = False
        try:
            async with self._writing:
                if not self._context.done():
                    has_begun = True
                    await self._context.write(response)
        finally:
            if claim is not None and not has_begun:
                self._dispatch.undo(claim)
