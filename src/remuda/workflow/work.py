"""What one command works with: the objects it touches, the definitions it reads, the time."""

from __future__ import annotations

from hashlib import blake2b

from littlehorse.model.external_event_pb2 import ExternalEventDef
from littlehorse.model.object_id_pb2 import StructDefId, WfRunId, WfSpecId
from littlehorse.model.struct_def_pb2 import StructDef
from littlehorse.model.type_definition_pb2 import InlineStructDef, TypeDefinition
from littlehorse.model.user_tasks_pb2 import UserTaskDef
from littlehorse.model.workflow_event_pb2 import WorkflowEventDef

from remuda.partition.keys import after, text, u64
from remuda.partition.machine import Effect, Stamp, State
from remuda.workflow.commands import Command, Due, encode, encode_due
from remuda.workflow.data.casts import MS_MAX, timestamp_from_ms
from remuda.workflow.data.values import run_id_text
from remuda.workflow.keys import DEFINITION, definition_key, name_text, retired_key
from remuda.workflow.objects import Objects
from remuda.workflow.run import Run
from remuda.workflow.spec import Plan, TaskPlan, plan_of, task_plan_of


class Work:
    def __init__(self, state: State, tenant: str, stamp: Stamp, partitions: int) -> None:
        self.state = state
        self.tenant = tenant
        self.stamp = stamp
        self.partitions = partitions
        self.now_ms = stamp.at_ms
        self.now = timestamp_from_ms(stamp.at_ms)
        self.objects = Objects(state, tenant)
        self.effects: list[Effect] = []
        self.stirred: list[Run] = []
        """Runs that something happened to, to be advanced before the command is done."""
        self.runs_started = 0
        self.steps = 0
        self._runs: dict[str, Run] = {}
        self._tenant_text = name_text(tenant)
        self._made = 0

    # ── runs ─────────────────────────────────────────────────────────────────────────────────

    def run(self, run_id: WfRunId) -> Run | None:
        name = run_id_text(run_id)
        found = self._runs.get(name)
        if found is None:
            found = Run.load(self, name, self._tenant_text + text(name))
            if found is None:
                return None
            self._runs[name] = found
        return found

    def adopt(self, run: Run) -> None:
        """A run that this command has made."""
        self._runs[run.name] = run
        self.stir(run)

    def stir(self, run: Run) -> None:
        if run not in self.stirred:
            self.stirred.append(run)

    def forget(self, run: Run) -> None:
        """A run that this command has deleted."""
        self._runs.pop(run.name, None)
        if run in self.stirred:
            self.stirred.remove(run)

    def place(self, run_name: str) -> bytes:
        return self._tenant_text + text(run_name)

    def new_guid(self, *parts: str | int) -> str:
        """An id that no other command makes: of what it is for, and where in the log it is."""
        self._made += 1
        stamp = self.stamp
        seed = f"{self.tenant}/{stamp.partition}/{stamp.position}/{self._made}/{parts}"
        return blake2b(seed.encode(), digest_size=16).hexdigest()

    # ── the world, later ─────────────────────────────────────────────────────────────────────

    def set_timer(self, at_ms: int, due: Due) -> None:
        """One timer for what is due: the same thing again replaces it."""
        data = encode_due(due)
        self.state.set_timer(min(max(at_ms, 0), MS_MAX), data, data)

    def clear_timer(self, due: Due) -> None:
        self.state.clear_timer(encode_due(due))

    def send(self, partition: int, command: Command) -> None:
        self.state.send(partition, encode(command))

    # ── definitions ──────────────────────────────────────────────────────────────────────────

    def plan(self, spec_id: WfSpecId) -> Plan | None:
        """Of a spec that there is, or was when a run of it began."""
        version = spec_id.name, spec_id.major_version, spec_id.revision
        data = self.state.get(definition_key(self.tenant, "spec", *version))
        if data is None:
            data = self.state.get(retired_key(self.tenant, "spec", *version))
        return None if data is None else plan_of(data)

    def current_plan(self, name: str, major: int, revision: int) -> Plan | None:
        """Of a spec that may be run."""
        if major < 0 or revision < 0:
            return None
        data = self.state.get(definition_key(self.tenant, "spec", name, major, revision))
        return None if data is None else plan_of(data)

    def latest_plan(self, name: str, major: int = -1) -> Plan | None:
        data = self.latest("spec", name, major)
        return None if data is None else plan_of(data)

    def task_plan(self, name: str) -> TaskPlan | None:
        data = self.state.get(definition_key(self.tenant, "task", name))
        return None if data is None else task_plan_of(data)

    def event_def(self, name: str) -> ExternalEventDef | None:
        data = self.state.get(definition_key(self.tenant, "event", name))
        return None if data is None else ExternalEventDef.FromString(data)

    def thrown_def(self, name: str) -> WorkflowEventDef | None:
        data = self.state.get(definition_key(self.tenant, "workflow-event", name))
        return None if data is None else WorkflowEventDef.FromString(data)

    def user_task_def(self, name: str, version: int | None) -> UserTaskDef | None:
        if version is None or version < 0:
            data = self.latest("user-task", name)
        else:
            data = self.state.get(definition_key(self.tenant, "user-task", name, version))
        return None if data is None else UserTaskDef.FromString(data)

    def struct_def(self, struct_def_id: StructDefId) -> InlineStructDef | None:
        if struct_def_id.version < 0:
            data = self.latest("struct", struct_def_id.name)
        else:
            key = definition_key(self.tenant, "struct", struct_def_id.name, struct_def_id.version)
            data = self.state.get(key)
        return None if data is None else StructDef.FromString(data).struct_def

    def latest(self, kind: str, name: str, major: int = -1) -> bytes | None:
        """The newest version that there is, of a major version or of all."""
        prefix = DEFINITION + self._tenant_text + text(kind) + text(name)
        if major >= 0:
            prefix += u64(major)
        for _, data in self.state.scan(prefix, after(prefix), limit=1, reverse=True):
            return data
        return None


def event_type(definition: ExternalEventDef | WorkflowEventDef) -> TypeDefinition | None:
    """The type of an event's content, where its definition says one."""
    if isinstance(definition, WorkflowEventDef):
        return definition.content_type.return_type if definition.HasField("content_type") else None
    if not definition.HasField("type_information"):
        return None
    return definition.type_information.return_type
