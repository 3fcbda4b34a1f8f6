"""The driver process: `python -m remuda.pipeline.driver.main FD`, with the socket to its peer.

Two threads. The main one speaks with the peer, watches the JVM and the lease, and never blocks; it
also has to be the one that spawned the JVM, which lives as long as that thread. The other one has
Spark to itself: it warms up, waits for a job, runs it.

Whatever ends the process ends it at once: nothing that Spark could still do in an orderly way is
needed, and everything that was committed is on disk.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import assert_never, cast

from remuda.errors import RemudaError
from remuda.pipeline.driver import warmth
from remuda.pipeline.driver.blame import blame, may_be_cut_off
from remuda.pipeline.driver.channel import Channel
from remuda.pipeline.driver.engine import Engine
from remuda.pipeline.driver.jvm import Jvm, JvmFailed
from remuda.pipeline.driver.lease import Lease
from remuda.pipeline.driver.messages import (
    Beat,
    Begin,
    Failed,
    LastWord,
    Ready,
    RunJob,
    Seal,
    Sealed,
    Staged,
    Started,
    Stop,
    Stopped,
    ToDriver,
    Told,
)
from remuda.pipeline.driver.sessions import session_for, warm_session
from remuda.pipeline.functions import Functions
from remuda.pipeline.model.reading import read_job
from remuda.pipeline.run import Fenced, Run

_BEAT_S = 0.5
_JVM_STARTS_WITHIN_S = 120.0
# A call that was cut off by the JVM's death is noticed before the death itself.
_JVM_DIES_WITHIN_S = 2.0

_WITHOUT_LEASE = Failed("the driver's lease ran out: its peer was not heard of", retry=True)


class DriverProcess:
    """All of the process."""

    def __init__(self, channel: Channel, begin: Begin) -> None:
        self._began = time.monotonic()
        self.channel = channel
        self.scratch = Path(begin.scratch)
        self.options = begin.options
        self._lease = Lease()
        self._jvm = Jvm(self.scratch, begin.heap_mb, begin.java_options)
        self._work = _Work(self)
        self._given_up_at: float | None = None
        self.stopped_for = ""

    # ── what the main thread does ────────────────────────────────────────────────────────────

    def live(self, messages: Sequence[ToDriver]) -> None:
        """Until there is nothing more to do; what is left to do then is to end the process."""
        if not all(self._obey(message) for message in messages):
            return
        Thread(target=self._work.work, name="spark", daemon=True).start()
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, selectors.EVENT_READ, self._hear)
            selector.register(os.pidfd_open(self._jvm.pid), selectors.EVENT_READ, self._jvm_ended)
            selector.register(self._work.done, selectors.EVENT_READ, lambda: False)
            while all(key.data() for key, _ in selector.select(_BEAT_S)) and self._may_go_on():
                self.channel.send_soon(Beat())
        self._jvm.kill()

    def _hear(self) -> bool:
        messages = self.channel.receive()
        if messages is None:
            _log("the peer is gone")
            return False
        return all(self._obey(message) for message in messages)

    def _obey(self, message: ToDriver) -> bool:
        match message:
            case Beat(until=until):
                self._lease.extend(until)
            case RunJob() | Seal():
                self._work.orders.put(message)
            case Stop():
                return self._stop(message)
            case Begin():
                pass
            case _:
                assert_never(message)
        return True

    def _stop(self, stop: Stop) -> bool:
        _log(f"to stop: {stop.reason}")
        self.stopped_for = stop.reason
        self._given_up_at = time.monotonic() + stop.grace_s
        self._work.stopping.set()
        if self._work.ends_when_asked:
            return True
        self.channel.send_soon(Stopped(stop.reason))
        return False

    def _jvm_ended(self) -> bool:
        self._jvm.has_ended()
        self.channel.send_soon(self._without_jvm())
        return False

    def _may_go_on(self) -> bool:
        if self._given_up_at is not None and time.monotonic() > self._given_up_at:
            self.channel.send_soon(Stopped(self.stopped_for))
            return False
        if self._work.job is not None and not self._lease.holds:
            _log("the peer has not been heard of: this driver commits nothing more")
            self.channel.send_soon(_WITHOUT_LEASE)
            return False
        return True

    # ── what the other thread may ask ────────────────────────────────────────────────────────

    def may_commit(self) -> bool:
        return self._lease.holds

    def connect(self) -> None:
        """Let PySpark find the JVM."""
        gateway = self._jvm.gateway(_JVM_STARTS_WITHIN_S)
        os.environ["PYSPARK_GATEWAY_PORT"] = str(gateway.port)
        os.environ["PYSPARK_GATEWAY_SECRET"] = gateway.secret

    def ready(self) -> Ready:
        return Ready(os.getpid(), self._jvm.pid, time.monotonic() - self._began)

    def failure(self, error: BaseException) -> Failed:
        _log("".join(traceback.format_exception(error)))
        cut_off = isinstance(error, JvmFailed) or may_be_cut_off(error)
        if cut_off and self._jvm.has_ended(_JVM_DIES_WITHIN_S):
            return self._without_jvm()
        if isinstance(error, Fenced) and not self._lease.holds:
            return _WITHOUT_LEASE
        return blame(error)

    def _without_jvm(self) -> Failed:
        return Failed(f"Spark's JVM ended, {self._jvm.ending()}", retry=True)


class _Work:
    """What the thread does that has Spark to itself."""

    def __init__(self, driver: DriverProcess) -> None:
        self._driver = driver
        self.orders: SimpleQueue[RunJob | Seal] = SimpleQueue()
        self.stopping = Event()
        # Whether it ends by itself, and soon, once `stopping` is set.
        self.ends_when_asked = False
        self.job: RunJob | None = None
        self.done, self._end = socket.socketpair()

    def work(self) -> None:
        try:
            self._say_last(self._life())
        except BaseException as error:
            self._say_last(self._driver.failure(error))

    def _say_last(self, word: LastWord) -> None:
        self._driver.channel.send(word)
        self._end.close()

    def _life(self) -> LastWord:
        driver = self._driver
        driver.connect()
        self._warm_up(warmth.FIRST)
        driver.channel.send(driver.ready())
        self._warm_up(warmth.LATER)
        first = self.orders.get()
        if not isinstance(first, RunJob):
            return Failed("the driver was to seal a job that it has not run")
        self.job = first
        return self._run(first)

    def _run(self, order: RunJob) -> LastWord:
        driver, began = self._driver, time.monotonic()
        _log(f"job {order.job_id}, epoch {order.fence_epoch}, on {order.master}")
        run = Run(
            job=read_job(order.spec),
            job_id=order.job_id,
            work=Path(order.work),
            fence_epoch=order.fence_epoch,
            may_commit=driver.may_commit,
            tell=lambda progress: driver.channel.send(Told(progress)),
        )
        run.take_fence()
        spark = session_for(order, driver.scratch, driver.options)
        engine = cast("Engine", Functions().find(order.engine)())
        driver.channel.send(Started(time.monotonic() - began))
        if order.only_seal:
            return Sealed(engine.seal(run))
        if run.job.mode == "batch":
            outcome = engine.stage(spark, run)
        else:
            self.ends_when_asked = True
            outcome = engine.stream(spark, run, self.stopping)
            if self.stopping.is_set():
                return Stopped(driver.stopped_for, outcome)
            self.ends_when_asked = False
        driver.channel.send(Staged(outcome))
        self.orders.get()
        self.ends_when_asked = True
        return Sealed(engine.seal(run))

    # ── warming up ───────────────────────────────────────────────────────────────────────────

    def _warm_up(self, steps: Sequence[warmth.Step]) -> None:
        """As far as nobody asks for the driver: a cold one that has a job does not warm up."""
        if not self.orders.empty():
            return
        scratch = self._driver.scratch
        spark = warm_session(scratch, self._driver.options)
        for step in steps:
            if self.orders.empty():
                step(spark, scratch)
        spark.stop()


def _log(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%y/%m/%d %H:%M:%S')} driver: {text}\n")
    sys.stderr.flush()


def main() -> None:
    fd = int(sys.argv[1])
    # Only this process holds the socket: for the peer its end is the end of the driver.
    os.set_inheritable(fd, False)
    channel = Channel(socket.socket(fileno=fd))
    try:
        begin, *others = _first_of(channel)
        DriverProcess(channel, begin).live(others)
    except RemudaError as error:
        channel.send(Failed(str(error)))
    # Neither PySpark's threads nor its handlers at exit have anything to say any more.
    os._exit(0)


def _first_of(channel: Channel) -> tuple[Begin, *tuple[ToDriver, ...]]:
    """How to begin, and what came with it."""
    messages: list[ToDriver] | None = []
    while messages is not None:
        match messages:
            case [Begin() as begin, *others]:
                return begin, *others
            case _:
                messages = channel.receive()
    raise JvmFailed("the peer was gone before it said how to begin")


if __name__ == "__main__":
    main()
