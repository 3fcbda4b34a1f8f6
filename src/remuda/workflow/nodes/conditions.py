"""Waiting until a condition holds: asked again whenever something happens to the run."""

from __future__ import annotations

from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.wf_run_pb2 import ThreadRun
from littlehorse.model.wf_spec_pb2 import WaitForConditionNode

from remuda.workflow.nodes.kind import Kind
from remuda.workflow.run import Run
from remuda.workflow.scope import ThreadScope


def _arrive(run: Run, thread: ThreadRun, node: NodeRun, spec: WaitForConditionNode) -> None:
    node.wait_for_condition.SetInParent()


def _poll(run: Run, thread: ThreadRun, node: NodeRun, spec: WaitForConditionNode) -> bool:
    scope = ThreadScope(run, thread)
    if spec.WhichOneof("node_condition") == "legacy_condition":
        return scope.holds(spec.legacy_condition)
    return scope.holds(spec.condition)


WAIT_FOR_CONDITION = Kind(_arrive, _poll)
