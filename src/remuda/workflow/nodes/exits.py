"""The exit: the thread is done when its children are, with an output or with a failure."""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import (
    HALTED,
)
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.wf_run_pb2 import ThreadRun, ThreadType
from littlehorse.model.wf_spec_pb2 import ExitNode

from remuda.workflow.data.assignments import evaluated
from remuda.workflow.failures import Failed, last_failure
from remuda.workflow.halts import has_halt
from remuda.workflow.nodes.kind import Kind
from remuda.workflow.run import ENDED, FAILED, Run
from remuda.workflow.scope import ThreadScope


def _arrive(run: Run, thread: ThreadRun, node: NodeRun, spec: ExitNode) -> Failed | None:
    node.exit.SetInParent()
    if spec.WhichOneof("result") != "failure_def":
        return None
    wanted = spec.failure_def
    content = None
    if wanted.HasField("content"):
        content = evaluated(wanted.content, ThreadScope(run, thread))
    return Failed(wanted.failure_name, wanted.message, content)


def _poll(run: Run, thread: ThreadRun, node: NodeRun, spec: ExitNode) -> bool | Failed:
    for child in run.children(thread):
        if child.type != ThreadType.CHILD:
            continue
        if child.status in FAILED and child.number not in thread.handled_failed_children:
            return last_failure(run.current_node(child)).seen_by_parent()
        if not _is_over(child):
            return False
    if spec.WhichOneof("result") == "return_content":
        thread.output.CopyFrom(evaluated(spec.return_content, ThreadScope(run, thread)))
    return True


def _is_over(child: ThreadRun) -> bool:
    if child.status in ENDED:
        return True
    return child.status == HALTED and has_halt(child, "halted_by_parent")


EXIT = Kind(_arrive, _poll)
