"""What the assignments of a thread can see, and the mutations of an edge."""

from __future__ import annotations

from collections.abc import Sequence

from littlehorse.model.common_wfspec_pb2 import VariableMutation
from littlehorse.model.object_id_pb2 import StructDefId
from littlehorse.model.type_definition_pb2 import InlineStructDef, VariableValue
from littlehorse.model.wf_run_pb2 import ThreadRun
from littlehorse.model.wf_spec_pb2 import LegacyEdgeCondition

from remuda.workflow.data.assignments import evaluated, keys_of, truth
from remuda.workflow.data.casts import assigned
from remuda.workflow.data.comparisons import compared
from remuda.workflow.data.inside import read_keys, read_path, written_keys, written_path
from remuda.workflow.data.mutations import mutated
from remuda.workflow.data.paths import parse_path
from remuda.workflow.errors import BadValue
from remuda.workflow.outputs import output_of
from remuda.workflow.run import Run
from remuda.workflow.spec import Condition


class ThreadScope:
    """Variables of a thread and its parents, what its nodes have put out, and structs."""

    def __init__(self, run: Run, thread: ThreadRun) -> None:
        self.run = run
        self.thread = thread
        self._pending: dict[str, VariableValue] = {}

    def variable(self, name: str) -> VariableValue:
        if name in self._pending:
            return self._pending[name]
        _, variable, _ = self.run.variable(self.thread, name)
        return variable.value

    def node_output(self, node_name: str) -> VariableValue:
        node = self.run.latest_of(self.thread, node_name)
        if node is None:
            raise BadValue(f"node {node_name} has not run yet")
        return output_of(self.run, node)

    def struct_def(self, struct_def_id: StructDefId) -> InlineStructDef | None:
        return self.run.work.struct_def(struct_def_id)

    def holds(self, condition: Condition) -> bool:
        if condition is None:
            return True
        if isinstance(condition, LegacyEdgeCondition):
            left, right = evaluated(condition.left, self), evaluated(condition.right, self)
            return compared(left, condition.comparator, right)
        return truth(condition, self)

    def mutate(self, mutations: Sequence[VariableMutation]) -> None:
        """All of them, in order, each seeing those before it; or, if one fails, none."""
        for mutation in mutations:
            self._pending[mutation.lhs_name] = self._mutation(mutation)
        for name, value in self._pending.items():
            self.run.assign(self.thread, name, value)
        self._pending = {}

    def _mutation(self, mutation: VariableMutation) -> VariableValue:
        name = mutation.lhs_name
        _, _, found = self.run.variable(self.thread, name)
        old = self.variable(name)
        right = self._right_side(mutation)
        if mutation.HasField("lhs_json_path"):
            steps = parse_path(mutation.lhs_json_path)
            part = mutated(read_path(old, steps), mutation.operation, right)
            new = written_path(old, steps, part)
        elif mutation.HasField("lhs_lh_path"):
            keys = keys_of(mutation.lhs_lh_path, self)
            part = mutated(read_keys(old, keys), mutation.operation, right)
            new = written_keys(old, keys, part)
        else:
            new = mutated(old, mutation.operation, right)
        try:
            return assigned(new, found.type_def, self)
        except BadValue as error:
            raise BadValue(f"variable {name}: {error}") from error

    def _right_side(self, mutation: VariableMutation) -> VariableValue:
        match mutation.WhichOneof("rhs_value"):
            case "rhs_assignment":
                return evaluated(mutation.rhs_assignment, self)
            case "literal_value":
                return mutation.literal_value
            case "node_output":
                output = output_of(self.run, self.run.current_node(self.thread))
                source = mutation.node_output
                if source.WhichOneof("path") == "jsonpath":
                    return read_path(output, parse_path(source.jsonpath))
                if source.WhichOneof("path") == "lh_path":
                    return read_keys(output, keys_of(source.lh_path, self))
                return output
            case _:
                raise BadValue(f"the mutation of {mutation.lhs_name} has no right side")
