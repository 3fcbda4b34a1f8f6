"""Every call of LittleHorse's service: its handler, or UNIMPLEMENTED with its name."""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any

import grpc
import grpc.aio
from littlehorse.model.service_pb2 import PollTaskRequest
from littlehorse.model.service_pb2_grpc import LittleHorseServicer

from remuda.api.littlehorse import definitions, events, runs, tenants, user_tasks, workers
from remuda.api.littlehorse.callers import RIGHTS, Callers, check
from remuda.api.littlehorse.handlers import METHODS, Asked, Desk, Handler
from remuda.api.littlehorse.polling import polled
from remuda.api.routing import Router
from remuda.partition.machine import Effect
from remuda.workflow.announcements import Announcements
from remuda.workflow.dispatch import MACHINE, Dispatch
from remuda.workflow.gateway import Gateway

HANDLERS: Mapping[str, Handler] = {
    **definitions.HANDLERS,
    **runs.HANDLERS,
    **events.HANDLERS,
    **user_tasks.HANDLERS,
    **workers.HANDLERS,
    **tenants.HANDLERS,
}

IMPLEMENTED = frozenset({*HANDLERS, "PollTask"})
UNIMPLEMENTED = frozenset(METHODS) - IMPLEMENTED

Context = grpc.aio.ServicerContext


class LittleHorseService(LittleHorseServicer):
    def __init__(self, router: Router, dispatch: Dispatch, announcements: Announcements) -> None:
        gateway = Gateway(router, announcements)
        self._desk = Desk(gateway, router, announcements)
        self._dispatch = dispatch
        self._callers = Callers(gateway, announcements)
        for call, handler in HANDLERS.items():
            setattr(self, call, self._unary(call, handler))
        for call in UNIMPLEMENTED:
            setattr(self, call, _unimplemented(call))

    async def PollTask(  # noqa: N802
        self, requests: AsyncIterator[PollTaskRequest], context: Context
    ) -> None:
        caller = await self._callers.caller(context)
        await polled(self._desk, self._dispatch, caller, requests, context)

    def _unary(self, call: str, handler: Handler) -> Any:
        right = RIGHTS.get(call)

        async def answered(request: Any, context: Context) -> Any:
            caller = await self._callers.caller(context)
            check(caller, call, right, request)
            answer = await handler(self._desk, Asked(call, caller, context), request)
            if call in tenants.HANDLERS:
                self._callers.forget()
            return answer

        return answered


class Workflows:
    """All that a node has for workflows: it is told what happens in partitions, and serves."""

    def __init__(self, router: Router) -> None:
        self._dispatch = Dispatch(router, partial(router.tell, MACHINE))
        router.listen(MACHINE, self._dispatch.hear)
        self._announcements = Announcements()
        self.service = LittleHorseService(router, self._dispatch, self._announcements)

    def effects(self, partition: int, effects: Sequence[Effect]) -> None:
        self._announcements.note(effects)
        self._dispatch.note(partition, effects)

    def closed(self, partition: int) -> None:
        self._dispatch.forget(partition)


def _unimplemented(call: str) -> Any:
    async def refused(request: Any, context: Context) -> None:
        await context.abort(
            grpc.StatusCode.UNIMPLEMENTED,
            f"{call} is not implemented by Remuda: docs/littlehorse.md says what is",
        )

    return refused
