"""One run, as a command works on it: its threads, nodes and variables, read as they are needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from littlehorse.model.common_enums_pb2 import (
    COMPLETED,
    ERROR,
    EXCEPTION,
)
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.object_id_pb2 import WfRunId
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.variable_pb2 import Variable
from littlehorse.model.wf_run_pb2 import ThreadRun, WfRun

from remuda.workflow.data.casts import assigned
from remuda.workflow.errors import BadValue
from remuda.workflow.keys import node_key, run_key, variable_key
from remuda.workflow.spec import NodePlan, Plan, ThreadPlan, VariablePlan
from remuda.workflow.tags import retag_variable

if TYPE_CHECKING:
    from remuda.workflow.work import Work

ENDED = frozenset({COMPLETED, ERROR, EXCEPTION})
VALUE_BYTES_MAX = 4 * 1024 * 1024
"""Of what a mutation makes: a loop that doubles a text must end somewhere."""

FAILED = frozenset({ERROR, EXCEPTION})


class Run:
    """Messages are shared with the work's objects; `change` before the command is done."""

    def __init__(self, work: Work, name: str, at: bytes, message: WfRun, plan: Plan) -> None:
        self.work = work
        self.name = name
        self.at = at
        self.message = message
        self.plan = plan
        self.steps: Counter[int] = Counter()
        """Nodes that this command has entered, by thread."""
        self._key = run_key(at)

    @staticmethod
    def load(work: Work, name: str, at: bytes) -> Run | None:
        message = work.objects.get(run_key(at), WfRun)
        if message is None:
            return None
        plan = work.plan(message.wf_spec_id)
        if plan is None:
            raise AssertionError(f"run {name} has lost its spec {message.wf_spec_id.name}")
        return Run(work, name, at, message, plan)

    @property
    def run_id(self) -> WfRunId:
        return self.message.id

    def changed(self) -> None:
        self.work.objects.change(self._key)

    # ── threads ──────────────────────────────────────────────────────────────────────────────

    def thread(self, number: int) -> ThreadRun:
        return self.message.thread_runs[number]

    def has_thread(self, number: int) -> bool:
        return 0 <= number < len(self.message.thread_runs)

    def thread_plan(self, thread: ThreadRun) -> ThreadPlan:
        return self.plan.threads[thread.thread_spec_name]

    def children(self, thread: ThreadRun) -> Iterator[ThreadRun]:
        for number in thread.child_thread_ids:
            yield self.message.thread_runs[number]

    # ── nodes ────────────────────────────────────────────────────────────────────────────────

    def node(self, thread: int, position: int) -> NodeRun:
        found = self.work.objects.get(node_key(self.at, thread, position), NodeRun)
        if found is None:
            raise AssertionError(f"run {self.name} has lost node {position} of thread {thread}")
        return found

    def current_node(self, thread: ThreadRun) -> NodeRun:
        return self.node(thread.number, thread.current_node_position)

    def node_changed(self, node: NodeRun) -> None:
        node_id = node.id
        self.work.objects.change(node_key(self.at, node_id.thread_run_number, node_id.position))

    def node_plan(self, thread: ThreadRun, node: NodeRun) -> NodePlan:
        return self.plan.threads[thread.thread_spec_name].nodes[node.node_name]

    def latest_of(self, thread: ThreadRun, node_name: str) -> NodeRun | None:
        """The last time that a thread was at a node."""
        for position in range(thread.current_node_position, -1, -1):
            found = self.node(thread.number, position)
            if found.node_name == node_name:
                return found
        return None

    # ── variables ────────────────────────────────────────────────────────────────────────────

    def declaring(self, thread: ThreadRun, name: str) -> tuple[ThreadRun, VariablePlan]:
        """The thread that a name belongs to: this one, or the nearest of its parents."""
        while True:
            found = self.plan.threads[thread.thread_spec_name].variables.get(name)
            if found is not None:
                return thread, found
            if not thread.HasField("parent_thread_id"):
                raise BadValue(f"there is no variable {name}")
            thread = self.thread(thread.parent_thread_id)

    def variable(self, thread: ThreadRun, name: str) -> tuple[Run, Variable, VariablePlan]:
        """The variable that a thread means by a name, and the run that holds it."""
        owner, found = self.declaring(thread, name)
        if found.inherited:
            return self.inherited(name)
        variable = self.work.objects.get(variable_key(self.at, owner.number, name), Variable)
        if variable is None:
            raise AssertionError(f"run {self.name} has lost variable {name}")
        return self, variable, found

    def assign(self, thread: ThreadRun, name: str, value: VariableValue) -> None:
        """Give a variable a value, converted to its type."""
        holder, variable, found = self.variable(thread, name)
        try:
            new = assigned(value, found.type_def, self.work)
        except BadValue as error:
            raise BadValue(f"variable {name}: {error}") from error
        if new.ByteSize() > VALUE_BYTES_MAX:
            raise BadValue(f"variable {name}: a value has at most {VALUE_BYTES_MAX} bytes")
        holder.store(variable, found, new)
        if holder is not self:
            self.work.stir(holder)

    def store(self, variable: Variable, found: VariablePlan, value: VariableValue) -> None:
        if found.searchable or found.indexes:
            retag_variable(self.work.objects, variable, found, value)
        variable.value.CopyFrom(value)
        number, name = variable.id.thread_run_number, variable.id.name
        self.work.objects.change(variable_key(self.at, number, name))

    def add_variable(self, thread: ThreadRun, found: VariablePlan, value: VariableValue) -> None:
        variable = Variable(created_at=self.work.now, masked=found.masked)
        variable.id.wf_run_id.CopyFrom(self.run_id)
        variable.id.thread_run_number = thread.number
        variable.id.name = found.name
        variable.wf_spec_id.CopyFrom(self.message.wf_spec_id)
        self.work.objects.put(variable_key(self.at, thread.number, found.name), variable)
        if found.searchable or found.indexes:
            retag_variable(self.work.objects, variable, found, value)
        variable.value.CopyFrom(value)

    def inherited(self, name: str) -> tuple[Run, Variable, VariablePlan]:
        """The public variable of the parent run."""
        if not self.run_id.HasField("parent_wf_run_id"):
            raise BadValue(f"variable {name} is inherited, and there is no parent run")
        parent = self.work.run(self.run_id.parent_wf_run_id)
        if parent is None:
            raise BadValue(f"variable {name} is inherited from a run that is gone")
        entrypoint = parent.thread(0)
        found = parent.thread_plan(entrypoint).variables.get(name)
        if found is None or not (found.public or found.inherited):
            raise BadValue(f"variable {name} is inherited, and the parent has no public one")
        return parent.variable(entrypoint, name)
