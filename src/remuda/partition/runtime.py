"""A partition at work: commands come in, rounds go to disk, answers and effects come out.

Everything but the writing happens in one event loop. Commands are applied as they come, over the
overlay; as soon as no round is being written, what was applied since is the next one. So one
round is written, in a thread, while the next gathers, and the more comes in the more one sync
carries. Whoever waits hears when all that the answer rests on is durable, and not before.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias, TypeVar

from remuda.clock import Clock, SystemClock
from remuda.errors import (
    DiskFull,
    MachineFailed,
    NotServed,
    RemudaError,
    StoreCorrupt,
    StoreFailed,
    Unknown,
    UnknownMachine,
)
from remuda.partition.alarm import Alarm
from remuda.partition.fold import (
    ACKED,
    RECEIVED,
    TICK,
    Fold,
    Record,
    acked,
    addressees,
    last_heard,
    received,
)
from remuda.partition.inbox import Inbox, Limits, Round, Waiting
from remuda.partition.machine import Effect, Machine, Rejected, View
from remuda.partition.outbox import Courier, Deliver, Envelope
from remuda.partition.store import Batch, Head, Store

log = logging.getLogger("remuda.partition")

T = TypeVar("T")
OnEffects: TypeAlias = Callable[[str, Sequence[Effect]], None]
"""Called in the event loop with a machine's name; must return at once, and must not raise."""

# So many are applied at a stretch: then others have their turn in the event loop.
_STRETCH = 128
# What ends a partition and is nobody's bug. Everything else that is raised in it is.
_OF_THE_STORE = (NotServed, DiskFull, StoreFailed, StoreCorrupt, UnknownMachine)
# How much more than `history_keep` may gather before it is trimmed: a part of it.
_TRIM_SHARE = 4


class Partition:
    """`start` it, `submit` to it, `close` it; or `stop` it when it is not ours any more.

    The store is the partition's from now on, and closed by it.
    """

    def __init__(
        self,
        number: int,
        store: Store,
        machines: Sequence[Machine],
        *,
        deliver: Deliver,
        on_effects: OnEffects,
        limits: Limits | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.number = number
        self.applied = 0
        """How many commands this owner has applied."""
        head = store.head
        self._store = store
        self._epoch = head.epoch
        self._position = head.position
        self._at_ms = head.at_ms
        self._kept_from = head.kept_from
        self._fold = Fold(number, machines, store)
        self._prefixes = {machine.name: machine.prefix for machine in machines}
        self._deliver = deliver
        self._couriers: dict[int, Courier] = {}
        self._on_effects = on_effects
        self._limits = limits or Limits()
        self._clock = clock or SystemClock()
        self._loop = asyncio.get_running_loop()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"partition-{number}")
        self._inbox = Inbox(number, self._limits)
        self._gathering = Round()
        self._writing: Round | None = None
        self._alarm = Alarm(self._work_soon)
        self._work_is_due = False
        self._draining = False
        self._closing = False
        self._reason: RemudaError | None = None
        self._ended: asyncio.Future[RemudaError] = self._loop.create_future()

    def start(self) -> None:
        """Run the effects that the state calls for, and go on with timers and the outbox."""
        try:
            for name, effects in self._fold.opened():
                self._run_effects(name, effects)
            for to in list(addressees(self._store)):
                self._wake_courier(to)
            self._set_alarm()
        except Exception as error:
            self._end(self._named(error))

    # ── asking ───────────────────────────────────────────────────────────────────────────────

    async def submit(self, machine: str, command: bytes) -> bytes | Rejected:
        """The machine's answer, when it is durable.

        Raises `Busy` or `NotServed` if nothing has happened, and is to be tried again; whatever
        else it raises leaves open whether the command has taken effect.
        """
        prefix = self._prefixes.get(machine)
        if prefix is None:
            raise Unknown(f"there is no machine `{machine}` in partition {self.number}")
        self._refuse_if_full(len(command))
        answer: asyncio.Future[bytes | Rejected] = self._loop.create_future()
        self._enqueue(Waiting(prefix, command, answer))
        return await answer

    async def read(self, look: Callable[[View], T]) -> T:
        """What `look` makes of the state after all that was submitted before; when it is durable.

        `look` is called in the event loop, so it must be quick, and must not keep the view.
        """
        self._refuse_if_full(0)
        answer: asyncio.Future[T] = self._loop.create_future()
        self._enqueue(Waiting(b"", b"", answer, look))
        return await answer

    async def receive(self, envelope: Envelope) -> int:
        """Apply what another partition has sent; answers the last number that is durable here."""
        for parcel in envelope.parcels:
            body = received(envelope.sender, parcel)
            self._refuse_if_full(len(body))
            self._enqueue(Waiting(RECEIVED, body))
        return await self.read(lambda view: last_heard(view, envelope.sender))

    async def snapshot(self, to: Path) -> Head:
        """A copy of the store as it is between two rounds, to be opened by itself."""
        self._refuse_if_ended()
        return await self._loop.run_in_executor(self._writer, self._store.checkpoint, to)

    @property
    def head(self) -> Head:
        """How far the store is."""
        return self._store.head

    @property
    def serves(self) -> bool:
        """Whether it takes commands."""
        return self._reason is None and not self._draining

    # ── ending ───────────────────────────────────────────────────────────────────────────────

    def stop(self, reason: str) -> None:
        """Not ours any more as of now: nothing is begun, and whoever waits is sent elsewhere.

        A write that is under way cannot be called back. It holds the store's lock, so whoever
        opens the store next will see it, and its callers are told how it went.
        """
        self._end(NotServed(f"partition {self.number} is not served here any more: {reason}"))

    async def close(self) -> None:
        """Take nothing more, finish what is there, and close the store."""
        self._draining = True
        self._stop_couriers()
        self._work_soon()
        await self.ended()

    async def ended(self) -> RemudaError:
        """When the store is closed; answers why it was."""
        return await asyncio.shield(self._ended)

    # ── applying ─────────────────────────────────────────────────────────────────────────────

    def _refuse_if_ended(self) -> None:
        if self._reason is not None:
            raise _to_others(self._reason)
        if self._draining:
            raise NotServed(f"partition {self.number} is being closed here")

    def _refuse_if_full(self, size: int) -> None:
        self._refuse_if_ended()
        self._inbox.refuse_if_full(size)

    def _enqueue(self, waiting: Waiting) -> None:
        self._inbox.add(waiting)
        self._work_soon()

    def _work_soon(self) -> None:
        if not self._work_is_due:
            self._work_is_due = True
            self._loop.call_soon(self._work)

    def _work(self) -> None:
        self._work_is_due = False
        if self._reason is not None:
            return
        try:
            self._apply_some()
        except Exception as error:
            self._end(self._named(error))
            return
        if self._writing is None:
            self._write()
        if self._inbox:
            self._work_soon()
        elif self._draining and self._writing is None:
            self._end(NotServed(f"partition {self.number} has been closed"))

    def _apply_some(self) -> None:
        now_ms = self._now_ms()
        if self._alarm.is_due(now_ms) and not self._draining:
            self._inbox.add_first(Waiting(TICK, b""))
        for _ in range(min(_STRETCH, len(self._inbox))):
            waiting = self._inbox.take()
            self._gathering.waiting.append(waiting)
            if waiting.look is None:
                waiting.outcome = self._apply(waiting.kind, waiting.body, now_ms)
            else:
                waiting.take_look(waiting.look, self._fold.overlay)
        if self._fold.news.timers or self._alarm.has_rung:
            self._set_alarm()

    def _apply(self, kind: bytes, body: bytes, now_ms: int) -> bytes | Rejected:
        record = Record(kind, now_ms, self._epoch, body)
        outcome = self._fold.play(self._position + 1, record)
        if isinstance(outcome, Rejected):
            return outcome
        self._position += 1
        self._at_ms = now_ms
        self.applied += 1
        self._gathering.commands.append(record.encode())
        return outcome.answer

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def _write(self) -> None:
        """What has gathered goes to disk; what needs no disk is answered, now that it is idle."""
        done = self._gathering
        if not done.waiting:
            return
        fold = self._fold
        self._gathering = Round()
        done.effects, fold.effects = fold.effects, []
        done.sent_to = set(fold.news.sent_to)
        fold.news.sent_to.clear()
        if not done.commands:
            self._inbox.answer(done.waiting)
            return
        self._writing = done
        self._trim()
        head = Head(self._epoch, self._position, self._at_ms, self._kept_from)
        batch = Batch(head, done.commands, fold.overlay.seal())
        written = self._loop.run_in_executor(self._writer, self._store.commit, batch)
        written.add_done_callback(lambda future: self._wrote(done, future.exception()))

    def _wrote(self, done: Round, error: BaseException | None) -> None:
        self._writing = None
        if error is not None:
            failed = self._write_failed(error)
            self._inbox.fail(done.waiting, failed)
            self._end(failed)
            return
        self._fold.overlay.written()
        self._inbox.answer(done.waiting)
        if self._reason is not None:
            self._end(self._reason)
            return
        for name, effects in done.effects:
            self._run_effects(name, effects)
        for to in sorted(done.sent_to):
            self._wake_courier(to)
        self._work()

    def _trim(self) -> None:
        keep = self._limits.history_keep
        kept = self._position - self._kept_from + 1
        if kept > keep + keep // _TRIM_SHARE:
            self._kept_from = self._position - keep + 1

    def _run_effects(self, name: str, effects: Sequence[Effect]) -> None:
        try:
            self._on_effects(name, effects)
        except Exception:
            log.exception("effects of %s in partition %d raised", name, self.number)

    # ── timers and the outbox ────────────────────────────────────────────────────────────────

    def _now_ms(self) -> int:
        return max(self._at_ms, self._clock.wall_ms())

    def _set_alarm(self) -> None:
        self._fold.news.timers = False
        self._alarm.set(self._fold.next_due_ms(), self._now_ms())

    def _wake_courier(self, to: int) -> None:
        courier = self._couriers.get(to)
        if courier is None:
            courier = Courier(self.number, to, self._store, self._deliver, self._acked)
            self._couriers[to] = courier
        courier.wake()

    def _acked(self, to: int, up_to: int) -> None:
        if self._reason is None:
            self._enqueue(Waiting(ACKED, acked(to, up_to)))

    def _stop_couriers(self) -> None:
        for courier in self._couriers.values():
            courier.stop()

    # ── the end ──────────────────────────────────────────────────────────────────────────────

    def _end(self, reason: RemudaError) -> None:
        """For the first reason that is given, and as soon as nothing is being written."""
        if self._reason is None:
            self._reason = reason
            self._alarm.off()
            self._stop_couriers()
            gathered, self._gathering = self._gathering.waiting, Round()
            self._inbox.fail([*gathered, *self._inbox.take_all()], _to_others(reason))
        if self._writing is None and not self._closing:
            self._closing = True
            self._close_store(self._reason)

    def _close_store(self, reason: RemudaError) -> None:
        closing = self._loop.run_in_executor(self._writer, self._store.close)
        self._writer.shutdown(wait=False)

        def closed(future: asyncio.Future[None]) -> None:
            error = future.exception()
            if error is not None:
                log.error("closing partition %d raised: %s", self.number, error)
            self._ended.set_result(reason)

        closing.add_done_callback(closed)

    def _write_failed(self, error: BaseException) -> RemudaError:
        if isinstance(error, _OF_THE_STORE):
            return error
        return StoreFailed(f"writing partition {self.number} failed: {error}")

    def _named(self, error: Exception) -> RemudaError:
        """What a machine raises is told to whoever submitted the command: the last one applied."""
        # What the error holds, scans among it, must not hold the store.
        traceback.clear_frames(error.__traceback__)
        if isinstance(error, _OF_THE_STORE):
            return error
        log.error("partition %d stops", self.number, exc_info=error)
        failed = MachineFailed(
            f"a command of partition {self.number} raised {type(error).__name__}: {error}; "
            "this is a bug, and the log has the details"
        )
        if self._gathering.waiting:
            self._inbox.fail([self._gathering.waiting.pop()], failed)
        return failed


def _to_others(reason: RemudaError) -> RemudaError:
    """What those are told who did not cause it."""
    kind = NotServed if isinstance(reason, MachineFailed) else type(reason)
    return kind(str(reason))
