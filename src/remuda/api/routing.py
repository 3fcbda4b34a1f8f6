"""The way to a partition, whichever node owns it.

Who owns what, and where that node takes calls, is in the replica. A call that meets a partition
between two owners waits for the next one, and goes there, until its time is over.
"""

# pyright: basic
# grpcio has no types.

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import grpc
import grpc.aio

from remuda.clock import SystemClock
from remuda.errors import DiskFull, NotServed, StoreFailed, Uncertain, Unknown
from remuda.partition.fold import Parcel
from remuda.partition.hosting import POOL, Host, unit_of
from remuda.partition.machine import Rejected, Rejection, View
from remuda.partition.outbox import Envelope
from remuda.partition.runtime import Partition
from remuda.peer.backoff import Backoff
from remuda.replica.state import Replica
from remuda.v1 import nodes_pb2 as pb
from remuda.v1.nodes_pb2_grpc import NodesStub
from remuda.wire.settings import client_options
from remuda.wire.status import error_of_call, is_broken, nothing_happened

T = TypeVar("T")
Answered: TypeAlias = Callable[[View, bytes, int], bytes]
"""How a machine's questions are answered: the state, the question, the time."""

KEY = "remuda-node-key"
_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.01, 0.5
_MOMENT_S = 0.25
_GRACE_S = 30.0
_CLOCK = SystemClock()
_CHANCE = random.Random()
"""One for all calls: to seed one takes longer than most calls do."""


class Router:
    """A `Route`. Until it is given a replica and a key, nobody can be reached."""

    def __init__(self, answers: Mapping[str, Answered], timeout_s: float) -> None:
        self.key = ""
        self._answers = answers
        self._timeout_s = timeout_s
        self._host: Host | None = None
        self._replica = Replica()
        self._address = ""
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._listeners: dict[str, Callable[[bytes], None]] = {}
        self._telling: set[asyncio.Task[None]] = set()

    def serve(self, host: Host, address: str) -> None:
        """The partitions of this node, and where it takes calls itself."""
        self._host, self._address = host, address

    def note(self, replica: Replica) -> None:
        self._replica = replica
        if self._channels:
            self._let_go({info.address for info in replica.peers.values()})
        self.stir()

    def stir(self) -> None:
        """Something has changed: whoever waits looks again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def close(self) -> None:
        await asyncio.gather(*(channel.close() for channel in self._channels.values()))

    async def stirred(self) -> None:
        """When something has changed, or a moment later."""
        await _first_of(self._changed, _MOMENT_S)

    # ── where things are ─────────────────────────────────────────────────────────────────────

    @property
    def replica(self) -> Replica:
        return self._replica

    @property
    def partitions(self) -> int:
        pool = self._replica.pools.get(POOL)
        if pool is None or not pool.units:
            raise NotServed("this node has not joined its cluster yet: try again")
        return len(pool.units)

    def here(self, partition: int) -> Partition | None:
        try:
            found = None if self._host is None else self._host.partition(partition)
        except (NotServed, DiskFull):
            return None
        return found if found is not None and found.serves else None

    def owner(self, partition: int) -> str:
        pool = self._replica.pools.get(POOL)
        unit = None if pool is None else pool.units.get(unit_of(partition))
        if unit is None or unit.owner is None:
            return ""
        info = self._replica.peers.get(unit.owner)
        return "" if info is None else info.address

    async def owner_changed(self, partition: int, since: str) -> None:
        while True:
            changed = self._changed
            if self.owner(partition) != since:
                return
            try:
                async with asyncio.timeout(None if since else _MOMENT_S):
                    await changed.wait()
            except TimeoutError:
                return

    def channel(self, address: str) -> grpc.aio.Channel:
        """To another node; kept for as long as that is in the cluster."""
        channel = self._channels.get(address)
        if channel is None:
            channel = grpc.aio.insecure_channel(address, options=client_options())
            self._channels[address] = channel
        return channel

    # ── commands and questions ───────────────────────────────────────────────────────────────

    async def submit(
        self, partition: int, machine: str, command: bytes, *, repeatable: bool = True
    ) -> bytes | Rejected:
        async def at_home(home: Partition) -> bytes | Rejected:
            return await home.submit(machine, command)

        async def elsewhere(stub: Any) -> bytes | Rejected:
            request = pb.SubmitRequest(partition=partition, machine=machine, command=command)
            answer = await stub.Submit(request, metadata=self._metadata)
            if answer.WhichOneof("outcome") == "rejected":
                return Rejected(answer.rejected.reason, Rejection(answer.rejected.kind))
            return answer.answer

        return await self._reach(partition, at_home, elsewhere, repeatable)

    async def ask(self, partition: int, machine: str, question: bytes) -> bytes:
        async def at_home(home: Partition) -> bytes:
            return await self.answer(home, machine, question)

        async def elsewhere(stub: Any) -> bytes:
            request = pb.AskRequest(partition=partition, machine=machine, question=question)
            return (await stub.Ask(request, metadata=self._metadata)).answer

        return await self._reach(partition, at_home, elsewhere, repeatable=True)

    async def answer(self, home: Partition, machine: str, question: bytes) -> bytes:
        """To a question, by a partition of this node."""
        answered = self._answers.get(machine)
        if answered is None:
            raise Unknown(f"nothing can be asked about `{machine}`")
        return await home.read(lambda view: answered(view, question, _CLOCK.wall_ms()))

    async def deliver(self, to: int, envelope: Envelope) -> int:
        """Once: whoever sends the envelope tries again by itself."""
        home = self.here(to)
        if home is not None:
            return await home.receive(envelope)
        address = self.elsewhere(to)
        if not address:
            raise NotServed(f"nobody serves partition {to} at the moment")
        request = pb.DeliverRequest(
            partition=to,
            sender=envelope.sender,
            parcels=[
                pb.Parcel(number=one.number, machine=one.machine, command=one.command)
                for one in envelope.parcels
            ],
        )
        stub = NodesStub(self.channel(address))
        call = stub.Deliver(request, metadata=self._metadata, timeout=self._timeout_s)
        return (await self._unless_moved(to, address, call)).heard

    # ── hints ────────────────────────────────────────────────────────────────────────────────

    def listen(self, machine: str, listener: Callable[[bytes], None]) -> None:
        """Have it called with what other nodes tell about a machine."""
        self._listeners[machine] = listener

    def hear(self, machine: str, note: bytes) -> None:
        listener = self._listeners.get(machine)
        if listener is not None:
            listener(note)

    def tell(self, machine: str, note: bytes) -> None:
        """All other nodes, if they can be reached; at once, and without waiting for them."""
        if not self.key:
            return
        for info in self._replica.peers.values():
            if info.address and info.address != self._address:
                task = asyncio.get_running_loop().create_task(
                    self._tell(info.address, pb.TellRequest(machine=machine, note=note))
                )
                self._telling.add(task)
                task.add_done_callback(self._telling.discard)

    async def _tell(self, address: str, request: pb.TellRequest) -> None:
        stub = NodesStub(self.channel(address))
        with suppress(grpc.aio.AioRpcError):
            await stub.Tell(request, metadata=self._metadata, timeout=self._timeout_s)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _reach(
        self,
        partition: int,
        at_home: Callable[[Partition], Awaitable[T]],
        elsewhere: Callable[[Any], Awaitable[T]],
        repeatable: bool,
    ) -> T:
        deadline = time.monotonic() + self._timeout_s
        backoff = Backoff(_BACKOFF_FIRST_S, _BACKOFF_MOST_S, _CHANCE)
        why = ""
        while time.monotonic() < deadline:
            changed = self._changed
            try:
                home = self.here(partition)
                if home is not None:
                    return await at_home(home)
                self._refuse_if_full(partition)
                address = self.elsewhere(partition)
                if address:
                    async with asyncio.timeout_at(_loop_time(deadline)):
                        return await self._call(partition, address, elsewhere, repeatable)
            except NotServed as error:
                why = f" ({error})"
            except StoreFailed:
                if not repeatable:
                    raise
            except TimeoutError:
                break
            await _first_of(changed, backoff.next_s())
        raise NotServed(
            f"nobody serves partition {partition}, and nobody came to within "
            f"{self._timeout_s:g} s{why}: try again"
        )

    async def _call(
        self,
        partition: int,
        address: str,
        elsewhere: Callable[[Any], Awaitable[T]],
        repeatable: bool,
    ) -> T:
        channel = self.channel(address)
        if not repeatable:
            # Then a connection that cannot be made is not taken for one that broke.
            try:
                await self._unless_moved(partition, address, channel.channel_ready())
            except _Moved as moved:
                raise NotServed(str(moved)) from None
        try:
            return await self._unless_moved(partition, address, elsewhere(NodesStub(channel)))
        except grpc.aio.AioRpcError as error:
            if nothing_happened(error):
                raise NotServed(error.details() or "") from None
            if not is_broken(error):
                raise error_of_call(error) from None
            why = error.details() or "the connection broke"
        except _Moved as moved:
            why = str(moved)
        if not repeatable:
            raise Uncertain(
                f"the owner of partition {partition} went away before it answered ({why}): look "
                "whether it has happened"
            )
        raise NotServed(why)

    async def _unless_moved(self, partition: int, address: str, call: Awaitable[T]) -> T:
        """A node that is frozen answers nothing: when it is not the owner any more, go on."""
        asked = asyncio.ensure_future(call)
        moved = asyncio.ensure_future(self.owner_changed(partition, address))
        try:
            await asyncio.wait([asked, moved], return_when=asyncio.FIRST_COMPLETED)
            if asked.done() and not asked.cancelled():
                return await asked
            raise _Moved(f"partition {partition} has another owner now")
        finally:
            asked.cancel()
            moved.cancel()

    def elsewhere(self, partition: int) -> str:
        """The address of its owner, if that is another node that can be reached."""
        address = self.owner(partition) if self.key else ""
        return "" if address == self._address else address

    def _let_go(self, addresses: set[str]) -> None:
        """Of the channels to nodes that are not in the cluster any more."""
        for address in self._channels.keys() - addresses:
            closing = asyncio.get_running_loop().create_task(
                self._channels.pop(address).close(_GRACE_S)
            )
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def _refuse_if_full(self, partition: int) -> None:
        """A full disk is told to whoever asks; it is of no use to wait for another owner."""
        if self._host is None:
            return
        try:
            self._host.partition(partition)
        except NotServed:
            return

    @property
    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return ((KEY, self.key),)


class _Moved(Exception):
    """The partition has another owner; whether what was asked has happened is open."""


def parcels_of(request: pb.DeliverRequest) -> Envelope:
    parcels = tuple(Parcel(one.number, one.machine, one.command) for one in request.parcels)
    return Envelope(request.sender, parcels)


def _loop_time(deadline: float) -> float:
    return asyncio.get_running_loop().time() + deadline - time.monotonic()


async def _first_of(changed: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        pass
