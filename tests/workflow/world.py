# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""A workflow machine without a world: commands go in, tasks come out, time is a number.

Specs are written with the official client's own authoring, and sent as it would send them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from google.protobuf.message import Message
from littlehorse.model.common_enums_pb2 import LHErrorType, LHStatus, TaskStatus, VariableType
from littlehorse.model.common_wfspec_pb2 import VariableDef
from littlehorse.model.external_event_pb2 import CorrelatedEvent, ExternalEvent
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.object_id_pb2 import WfRunId
from littlehorse.model.service_pb2 import (
    PutCorrelatedEventRequest,
    PutExternalEventDefRequest,
    PutExternalEventRequest,
    PutTaskDefRequest,
    PutUserTaskDefRequest,
    PutWorkflowEventDefRequest,
    ReportTaskRun,
    RescueThreadRunRequest,
    ResumeWfRunRequest,
    RunWfRequest,
    ScheduledTask,
    StopWfRunRequest,
)
from littlehorse.model.task_run_pb2 import LHTaskError, LHTaskException, TaskRun
from littlehorse.model.type_definition_pb2 import ReturnType, TypeDefinition
from littlehorse.model.user_tasks_pb2 import UserTaskField, UserTaskRun
from littlehorse.model.variable_pb2 import Variable
from littlehorse.model.wf_run_pb2 import WfRun
from littlehorse.model.wf_spec_pb2 import WfSpec
from littlehorse.model.workflow_event_pb2 import WorkflowEvent
from littlehorse.utils import to_variable_value
from littlehorse.workflow import Workflow, WorkflowThread

from remuda.partition.fold import RECEIVED, Record, received
from remuda.partition.keys import after
from remuda.partition.machine import Applied, Outcome, Rejected
from remuda.partition.memory import MemoryPartition
from remuda.workflow.commands import Call, ClaimTask, Command, UnclaimTask, encode
from remuda.workflow.data.values import data_of, run_id_from_text
from remuda.workflow.effects import TaskScheduled
from remuda.workflow.keys import (
    EVENT,
    NODE,
    TASK,
    THROWN,
    USER_TASK,
    correlated_key,
    node_key,
    place,
    run_key,
    variable_key,
)
from remuda.workflow.machine import WorkflowMachine
from remuda.workflow.placement import DEFINITIONS, partition_of_correlation, partition_of_run

M = TypeVar("M", bound=Message)
TENANT = "default"


class World:
    """Some partitions, the outboxes between them, a clock, and workers that do as they are told."""

    def __init__(self, partitions: int = 1, start_ms: int = 1_000_000) -> None:
        self.now_ms = start_ms
        self.partitions = [
            MemoryPartition([WorkflowMachine(partitions)], partition=number)
            for number in range(partitions)
        ]
        self.effects: list[object] = []
        self._heard: dict[tuple[int, int], int] = {}
        self._ids = 0

    # ── commands ─────────────────────────────────────────────────────────────────────────────

    def apply(self, partition: int, command: Command) -> Outcome:
        outcome = self.partitions[partition].apply("workflow", encode(command), self.now_ms)
        self.effects += [effect for _, effect in self.partitions[partition].effects]
        self.carry()
        return outcome

    def call(self, partition: int, name: str, request: Message, **given: Any) -> Outcome:
        data = request.SerializeToString(deterministic=True)
        return self.apply(partition, Call(TENANT, name, data, **given))

    def define(self, name: str, request: Message) -> Outcome:
        return self.call(DEFINITIONS, name, request)

    def at_run(self, run: str, name: str, request: Message, **given: Any) -> Outcome:
        return self.call(self.partition_of(run), name, request, **given)

    def partition_of(self, run: str) -> int:
        return partition_of_run(TENANT, run_id_from_text(run), len(self.partitions))

    def carry(self) -> None:
        """Take what is in the outboxes to where it should go, until there is nothing."""
        moved = True
        while moved:
            moved = False
            for sender, partition in enumerate(self.partitions):
                for to, parcels in partition.outbox.items():
                    for parcel in parcels:
                        if parcel.number <= self._heard.get((sender, to), 0):
                            continue
                        self._heard[sender, to] = parcel.number
                        body = received(sender, parcel)
                        target = self.partitions[to]
                        target.play(Record(RECEIVED, self.now_ms, 1, body))
                        self.effects += [effect for _, effect in target.effects]
                        moved = True

    def pass_time(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)
        for partition in self.partitions:
            self.effects += [effect for _, effect in partition.tick(self.now_ms)]
        self.carry()

    # ── definitions ──────────────────────────────────────────────────────────────────────────

    def task_def(
        self, name: str, *inputs: VariableType, returns: VariableType | None = None
    ) -> None:
        request = PutTaskDefRequest(
            name=name,
            input_vars=[
                VariableDef(name=f"in{number}", type_def=TypeDefinition(primitive_type=one))
                for number, one in enumerate(inputs)
            ],
        )
        if returns is not None:
            request.return_type.CopyFrom(return_type(returns))
        done(self.define("PutTaskDef", request))

    def event_def(self, name: str, content: VariableType | None = None, **more: Any) -> None:
        request = PutExternalEventDefRequest(name=name, **more)
        if content is not None:
            request.content_type.CopyFrom(return_type(content))
        done(self.define("PutExternalEventDef", request))

    def thrown_def(self, name: str, content: VariableType) -> None:
        request = PutWorkflowEventDefRequest(name=name, content_type=return_type(content))
        done(self.define("PutWorkflowEventDef", request))

    def user_task_def(self, name: str, *fields: tuple[str, VariableType, bool]) -> None:
        request = PutUserTaskDefRequest(
            name=name,
            fields=[UserTaskField(name=n, type=t, required=r) for n, t, r in fields],
        )
        done(self.define("PutUserTaskDef", request))

    def put(
        self, name: str, entrypoint: Callable[[WorkflowThread], None], parent: str | None = None
    ) -> WfSpec:
        return self.put_workflow(Workflow(name, entrypoint, parent))

    def put_workflow(self, workflow: Workflow) -> WfSpec:
        outcome = self.define("PutWfSpec", workflow.compile())
        return WfSpec.FromString(done(outcome))

    # ── runs ─────────────────────────────────────────────────────────────────────────────────

    def try_run(
        self,
        spec: WfSpec,
        run: str | None = None,
        variables: Mapping[str, Any] | None = None,
        parent: str | None = None,
    ) -> Outcome:
        self._ids += 1
        run = run or f"run-{self._ids}"
        request = RunWfRequest(wf_spec_name=spec.id.name, id=run)
        for key, value in (variables or {}).items():
            request.variables[key].CopyFrom(to_variable_value(value))
        if parent is not None:
            request.parent_wf_run_id.CopyFrom(run_id_from_text(parent))
        where = self.partition_of(parent or run)
        version = {"major": spec.id.major_version, "revision": spec.id.revision}
        return self.call(where, "RunWf", request, **version)

    def run(self, spec: WfSpec, run: str | None = None, **variables: Any) -> str:
        answer = WfRun.FromString(done(self.try_run(spec, run, variables)))
        return answer.id.id

    def wf_run(self, run: str) -> WfRun:
        return self._get(run, run_key(self._at(run)), WfRun)

    def status(self, run: str, thread: int | None = None) -> str:
        found = self.wf_run(run)
        return LHStatus.Name(found.status if thread is None else found.thread_runs[thread].status)

    def output(self, run: str, thread: int = 0) -> Any:
        return data_of(self.wf_run(run).thread_runs[thread].output)

    def variable(self, run: str, name: str, thread: int = 0) -> Any:
        found = self._get(run, variable_key(self._at(run), thread, name), Variable)
        return data_of(found.value)

    def node(self, run: str, thread: int = 0, position: int | None = None) -> NodeRun:
        if position is None:
            position = self.wf_run(run).thread_runs[thread].current_node_position
        return self._get(run, node_key(self._at(run), thread, position), NodeRun)

    def nodes(self, run: str, thread: int = 0) -> list[NodeRun]:
        found = self._all(run, NODE, NodeRun)
        return [node for node in found if node.id.thread_run_number == thread]

    def kinds(self, run: str, thread: int = 0) -> list[str]:
        """The names of the nodes that a thread has been at."""
        return [node.node_name.split("-", 1)[1] for node in self.nodes(run, thread)]

    def task_runs(self, run: str) -> list[TaskRun]:
        return self._all(run, TASK, TaskRun)

    def events(self, run: str) -> list[ExternalEvent]:
        return self._all(run, EVENT, ExternalEvent)

    def user_tasks(self, run: str) -> list[UserTaskRun]:
        return self._all(run, USER_TASK, UserTaskRun)

    def thrown(self, run: str) -> list[WorkflowEvent]:
        return self._all(run, THROWN, WorkflowEvent)

    def stop(self, run: str, thread: int = 0) -> Outcome:
        request = StopWfRunRequest(wf_run_id=run_id_from_text(run), thread_run_number=thread)
        return self.at_run(run, "StopWfRun", request)

    def resume(self, run: str, thread: int = 0) -> Outcome:
        request = ResumeWfRunRequest(wf_run_id=run_id_from_text(run), thread_run_number=thread)
        return self.at_run(run, "ResumeWfRun", request)

    def rescue(self, run: str, thread: int = 0, *, skip: bool = False) -> Outcome:
        request = RescueThreadRunRequest(
            wf_run_id=run_id_from_text(run), thread_run_number=thread, skip_current_node=skip
        )
        return self.at_run(run, "RescueThreadRun", request)

    def event(self, run: str, name: str, content: Any = None, guid: str = "", **to: int) -> Outcome:
        self._ids += 1
        request = PutExternalEventRequest(
            wf_run_id=run_id_from_text(run), guid=guid or f"event-{self._ids}", **to
        )
        request.external_event_def_id.name = name
        request.content.CopyFrom(to_variable_value(content))
        return self.at_run(run, "PutExternalEvent", request)

    def correlated(self, name: str, key: str, content: Any = None) -> Outcome:
        request = PutCorrelatedEventRequest(key=key, content=to_variable_value(content))
        request.external_event_def_id.name = name
        where = partition_of_correlation(TENANT, name, key, len(self.partitions))
        return self.call(where, "PutCorrelatedEvent", request)

    def correlated_event(self, name: str, key: str) -> CorrelatedEvent | None:
        where = partition_of_correlation(TENANT, name, key, len(self.partitions))
        data = self.partitions[where].view.get(correlated_key(TENANT, name, key))
        return None if data is None else CorrelatedEvent.FromString(data)

    # ── workers ──────────────────────────────────────────────────────────────────────────────

    def queue(self) -> Iterator[tuple[str, str, str]]:
        """Task, run and guid of all that waits for a worker, in the order that it is given out."""
        for partition in self.partitions:
            for effect in WorkflowMachine(1).opened(partition.view):
                assert isinstance(effect, TaskScheduled)
                yield effect.task_def, effect.run, effect.guid

    def waiting(self) -> list[str]:
        return sorted(task for task, _, _ in self.queue())

    def claim(self, task: str | None = None, worker: str = "worker") -> ScheduledTask:
        """The first task of a name that waits."""
        found = next((one for one in self.queue() if task in (None, one[0])), None)
        assert found is not None, f"nothing waits for {task}: {self.waiting()}"
        _, run, guid = found
        outcome = self.apply(self.partition_of(run), ClaimTask(TENANT, run, guid, worker, "v1"))
        return ScheduledTask.FromString(done(outcome))

    def unclaim(self, task: ScheduledTask, worker: str = "worker") -> Outcome:
        run = task.task_run_id.wf_run_id
        name = run_text(run)
        guid, attempt = task.task_run_id.task_guid, task.attempt_number
        command = UnclaimTask(TENANT, name, guid, attempt, worker)
        return self.apply(self.partition_of(name), command)

    def report(self, task: ScheduledTask, **result: Any) -> Outcome:
        request = ReportTaskRun(
            task_run_id=task.task_run_id, attempt_number=task.attempt_number, **result
        )
        return self.at_run(run_text(task.task_run_id.wf_run_id), "ReportTask", request)

    def succeed(self, task: ScheduledTask, output: Any = None) -> Outcome:
        value = to_variable_value(output)
        return self.report(task, status=TaskStatus.TASK_SUCCESS, output=value)

    def fail(self, task: ScheduledTask, message: str = "no luck") -> Outcome:
        error = LHTaskError(type=LHErrorType.TASK_ERROR, message=message)
        return self.report(task, status=TaskStatus.TASK_FAILED, error=error)

    def throw(self, task: ScheduledTask, name: str, content: Any = None) -> Outcome:
        exception = LHTaskException(name=name, message="thrown", content=to_variable_value(content))
        return self.report(task, status=TaskStatus.TASK_EXCEPTION, exception=exception)

    def work(self, task: str, output: Any = None) -> list[Any]:
        """Claim a task, do it, and answer what it was given."""
        claimed = self.claim(task)
        done(self.succeed(claimed, output))
        return [data_of(one.value) for one in claimed.variables]

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _at(self, run: str) -> bytes:
        return place(TENANT, run_id_from_text(run))

    def _get(self, run: str, key: bytes, kind: type[M]) -> M:
        data = self.partitions[self.partition_of(run)].view.get(key)
        assert data is not None, f"there is no {kind.__name__}"
        return kind.FromString(data)

    def _all(self, run: str, prefix: bytes, kind: type[M]) -> list[M]:
        start = prefix + self._at(run)
        view = self.partitions[self.partition_of(run)].view
        return [kind.FromString(data) for _, data in view.scan(start, after(start))]


def done(outcome: Outcome) -> bytes:
    assert isinstance(outcome, Applied), outcome
    return outcome.answer


def refused(outcome: Outcome) -> Rejected:
    assert isinstance(outcome, Rejected), outcome
    return outcome


def return_type(of: VariableType) -> ReturnType:
    return ReturnType(return_type=TypeDefinition(primitive_type=of))


def run_text(run_id: WfRunId) -> str:
    parent = run_id.parent_wf_run_id
    return f"{run_text(parent)}_{run_id.id}" if run_id.HasField("parent_wf_run_id") else run_id.id
