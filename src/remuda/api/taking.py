"""Taking messages over the wire, and waiting for trees: what has to happen at a partition's owner.

Another node passes the stream on to the owner as it is. When the owner changes the stream ends, and
whoever took opens another one, with what is in its hands.
"""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypeAlias

import grpc
import grpc.aio

from remuda.api.calls import Finished, first_of
from remuda.api.routing import KEY, Router
from remuda.api.sending import problem_of
from remuda.errors import Busy, CommandRejected, NotServed, Unknown
from remuda.partition.machine import Rejection
from remuda.partition.runtime import Partition
from remuda.queue.bell import Bell
from remuda.queue.commands.commit import Committed
from remuda.queue.commands.fail import Failed
from remuda.queue.gateway import Gateway
from remuda.queue.taker import Taker
from remuda.queue.translation import batch_to_wire, emit_from_wire
from remuda.v1 import queues_pb2 as pb
from remuda.v1.queues_pb2_grpc import QueuesStub
from remuda.wire.status import error_of_call

Context: TypeAlias = grpc.aio.ServicerContext
Requests: TypeAlias = AsyncIterator[pb.TakeRequest]

_TREE_WAIT_S = 30.0
_MARGIN_S = 0.5


class Takings:
    def __init__(self, gateway: Gateway, router: Router, bell: Bell, timeout_s: float) -> None:
        self._gateway = gateway
        self._router = router
        self._bell = bell
        self._timeout_s = timeout_s

    async def take(self, requests: Requests, context: Context) -> None:
        first = await anext(requests, None)
        if first is None or first.WhichOneof("step") != "open":
            raise _invalid("a worker opens the stream first: say which partition, group and epoch")
        home, address = await self._owner(first.open.queue, first.open.part, context)
        if home is None:
            await self._pass_on(first, requests, address, context)
            return
        with first_of():
            async with asyncio.TaskGroup() as group:
                await self._serve(home, first.open, requests, context, group)

    async def tree(self, request: pb.AwaitTreeRequest, context: Context) -> pb.Tree:
        """An outcome of "" says that there is none yet, and the call should be made again."""
        left_s = context.time_remaining()
        wait_s = _TREE_WAIT_S if left_s is None else min(_TREE_WAIT_S, left_s - _MARGIN_S)
        home, address = await self._owner(request.queue, request.part, context)
        if home is None:
            stub = QueuesStub(self._router.channel(address))
            try:
                return await stub.AwaitTree(
                    request, metadata=_passed_on(self._router), timeout=max(wait_s, _MARGIN_S)
                )
            except grpc.aio.AioRpcError as error:
                raise error_of_call(error) from None
        with self._bell.tree(request.queue, request.part, request.tree) as ended:
            tree = await self._gateway.tree(request.queue, request.part, request.tree)
            if tree.outcome is None and await _happens(home, ended, wait_s):
                tree = await self._gateway.tree(request.queue, request.part, request.tree)
        return pb.Tree(outcome=tree.outcome or "", replays=tree.replays)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _owner(self, queue: str, part: int, context: Context) -> tuple[Partition | None, str]:
        """The partition, or else the address of its owner; waits while there is none."""
        await self._gateway.check_part(queue, part)
        number = self._gateway.home_of(queue, part)
        is_passed_on = KEY in dict(context.invocation_metadata() or ())
        deadline = time.monotonic() + self._timeout_s
        while True:
            home = self._router.here(number)
            address = "" if home is not None else self._router.elsewhere(number)
            if home is not None or (address and not is_passed_on):
                return home, address
            if is_passed_on or time.monotonic() > deadline:
                raise NotServed(f"partition {number} is not served at the moment: try again")
            await self._router.stirred()

    async def _serve(
        self,
        home: Partition,
        opening: pb.Open,
        requests: Requests,
        context: Context,
        group: asyncio.TaskGroup,
    ) -> None:
        attached = await self._gateway.attach(
            opening.queue, opening.part, opening.group, opening.epoch
        )
        out: asyncio.Queue[pb.TakeResponse] = asyncio.Queue()
        out.put_nowait(
            pb.TakeResponse(
                attached=pb.Attached(
                    turn=attached.turn, committed=attached.committed, next=attached.next
                )
            )
        )
        taker = Taker(
            home,
            self._bell,
            opening.queue,
            opening.part,
            opening.group,
            opening.epoch,
            turn=attached.turn,
            credit=opening.credit,
            held=opening.held,
            push=lambda batch: out.put_nowait(pb.TakeResponse(batch=batch_to_wire(batch))),
        )
        group.create_task(taker.run())
        group.create_task(_write(context, out))
        await _Conversation(self._gateway, taker, out, group).read(requests)
        await out.join()
        raise Finished

    async def _pass_on(
        self, first: pb.TakeRequest, requests: Requests, address: str, context: Context
    ) -> None:
        call = QueuesStub(self._router.channel(address)).Take(metadata=_passed_on(self._router))
        reading = asyncio.create_task(_copy_up(first, requests, call))
        try:
            async for response in call:
                await context.write(response)
        except grpc.aio.AioRpcError as error:
            raise error_of_call(error) from None
        except asyncio.CancelledError:
            here = asyncio.current_task()
            if here is not None and here.cancelling():
                raise
            raise NotServed("the owner is not in the cluster any more") from None
        finally:
            reading.cancel()
            call.cancel()


class _Conversation:
    """What a worker says on its stream, in order; answers go out as they are known."""

    def __init__(
        self,
        gateway: Gateway,
        taker: Taker,
        out: asyncio.Queue[pb.TakeResponse],
        group: asyncio.TaskGroup,
    ) -> None:
        self._gateway = gateway
        self._taker = taker
        self._out = out
        self._group = group
        self._under_way: set[asyncio.Task[None]] = set()

    async def read(self, requests: Requests) -> None:
        async for request in requests:
            match request.WhichOneof("step"):
                case "commit":
                    await self._commit(request.commit)
                case "fail":
                    self._fail(request.fail)
                case "credit":
                    self._taker.grant(request.credit.more)
                case "release":
                    self._taker.release(request.release.positions)
                case "open":
                    raise _invalid("the stream is open already: open another one")
                case _:
                    raise _invalid("a request on the stream says nothing that this node knows")
        if self._under_way:
            await asyncio.wait(self._under_way)

    async def _commit(self, commit: pb.Commit) -> None:
        done = [(one.first, one.end) for one in commit.done]
        try:
            emits = await self._gateway.resolved([emit_from_wire(one) for one in commit.emits])
        except (CommandRejected, Busy) as error:
            self._say(pb.Answer(id=commit.id, problem=problem_of(error)))
            return
        self._begin(commit.id, self._taker.commit(commit.turn, done, emits))

    def _fail(self, fail: pb.Fail) -> None:
        self._begin(
            fail.id,
            self._taker.fail(fail.turn, fail.position, fail.attempt, fail.error, final=fail.final),
        )

    def _begin(self, number: int, asked: Awaitable[Any]) -> None:
        """Tasks begin in order, so commands enter the partition in order."""
        task = self._group.create_task(self._answer(number, asked))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _answer(self, number: int, asked: Awaitable[Committed | Failed]) -> None:
        try:
            outcome = await asked
        except (CommandRejected, Busy, Unknown) as error:
            self._say(pb.Answer(id=number, problem=problem_of(error)))
            return
        if isinstance(outcome, Committed):
            committed = pb.Committed(
                committed=outcome.committed, freed=outcome.freed, ended=outcome.ended
            )
            self._say(pb.Answer(id=number, committed=committed))
        else:
            failed = pb.Failed(attempts=outcome.attempts, retry_ms=outcome.retry_ms)
            self._say(pb.Answer(id=number, failed=failed))

    def _say(self, answer: pb.Answer) -> None:
        self._out.put_nowait(pb.TakeResponse(answer=answer))


async def _write(context: Context, out: asyncio.Queue[pb.TakeResponse]) -> None:
    while True:
        await context.write(await out.get())
        out.task_done()


async def _copy_up(first: pb.TakeRequest, requests: Requests, call: Any) -> None:
    await call.write(first)
    async for request in requests:
        await call.write(request)
    await call.done_writing()


async def _happens(home: Partition, event: asyncio.Event, wait_s: float) -> bool:
    happened = asyncio.create_task(event.wait())
    gone = asyncio.create_task(home.ended())
    try:
        await asyncio.wait([happened, gone], timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            raise NotServed(str(gone.result()))
        return happened.done()
    finally:
        happened.cancel()
        gone.cancel()


def _passed_on(router: Router) -> tuple[tuple[str, str], ...]:
    return ((KEY, router.key),)


def _invalid(reason: str) -> CommandRejected:
    return CommandRejected(reason, Rejection.INVALID.value)
