# The client's authoring has no types to rely on.
# pyright: basic
"""A node without a network: real partitions in memory, and the way to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from google.protobuf.message import Message
from littlehorse.model.common_enums_pb2 import TaskStatus
from littlehorse.model.service_pb2 import (
    PutTaskDefRequest,
    ReportTaskRun,
    RunWfRequest,
    ScheduledTask,
)
from littlehorse.workflow import Workflow

from remuda.errors import NotServed, Uncertain
from remuda.partition.machine import Effect, Rejected
from remuda.partition.memory import Disk, MemoryStore
from remuda.partition.outbox import Envelope
from remuda.partition.runtime import Partition
from remuda.workflow.announcements import Announcements
from remuda.workflow.dispatch import Dispatch
from remuda.workflow.gateway import Gateway
from remuda.workflow.machine import WorkflowMachine
from remuda.workflow.questions import answered

TENANT = "default"


class OneNode:
    """A `Route` on which everything is here."""

    def __init__(self, partitions: int = 3) -> None:
        self.partitions = partitions
        self.announcements = Announcements()
        self.answers_lost = 0
        """So many commands are applied without a word to the caller."""
        self.told: list[bytes] = []
        """What other nodes would hear."""
        self.dispatch = Dispatch(self, self.told.append)
        self.gateway = Gateway(self, self.announcements)
        self._disks = [Disk() for _ in range(partitions)]
        self._open: dict[int, Partition] = {}

    def start(self) -> None:
        for number in range(self.partitions):
            self.open(number, 1)

    def open(self, number: int, epoch: int) -> None:
        def effects(machine: str, found: Sequence[Effect]) -> None:
            self.announcements.note(found)
            self.dispatch.note(number, found)

        self._open[number] = Partition(
            number,
            MemoryStore(self._disks[number], epoch),
            [WorkflowMachine(self.partitions)],
            deliver=self._deliver,
            on_effects=effects,
        )
        self._open[number].start()

    async def close(self, number: int) -> None:
        await self._open.pop(number).close()
        self.dispatch.forget(number)

    # ── the route ────────────────────────────────────────────────────────────────────────────

    def here(self, partition: int) -> Partition | None:
        return self._open.get(partition)

    def owner(self, partition: int) -> str:
        return ""

    async def owner_changed(self, partition: int, since: str) -> None:
        raise NotServed("there is nobody else")

    async def submit(
        self, partition: int, machine: str, command: bytes, *, repeatable: bool = True
    ) -> bytes | Rejected:
        answer = await self._open[partition].submit(machine, command)
        if self.answers_lost:
            self.answers_lost -= 1
            raise Uncertain("the answer was lost")
        return answer

    async def ask(self, partition: int, machine: str, question: bytes) -> bytes:
        return await self._open[partition].read(lambda view: answered(view, question, 0))

    async def _deliver(self, to: int, envelope: Envelope) -> int:
        return await self._open[to].receive(envelope)

    # ── what tests say ───────────────────────────────────────────────────────────────────────

    async def call(self, name: str, request: Message) -> bytes:
        return await self.gateway.call(TENANT, name, request)

    async def one_step(self, task: str) -> str:
        """A spec of one task; its name is the task's."""
        await self.call("PutTaskDef", PutTaskDefRequest(name=task))

        def body(thread: Any) -> None:
            thread.execute(task)

        await self.call("PutWfSpec", Workflow(task, body).compile())
        return task

    async def run(self, spec: str, run: str) -> str:
        await self.call("RunWf", RunWfRequest(wf_spec_name=spec, id=run))
        return run

    async def report(self, task: ScheduledTask) -> None:
        await self.call(
            "ReportTask",
            ReportTaskRun(
                task_run_id=task.task_run_id,
                attempt_number=task.attempt_number,
                status=TaskStatus.TASK_SUCCESS,
            ),
        )


@asynccontextmanager
async def node(partitions: int = 3) -> AsyncGenerator[OneNode]:
    found = OneNode(partitions)
    found.start()
    try:
        yield found
    finally:
        await found.dispatch.settled()
        for number in range(partitions):
            if found.here(number) is not None:
                await found.close(number)
