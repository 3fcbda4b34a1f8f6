"""Child workflows: running one, and waiting for its end."""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import LHStatus
from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.object_id_pb2 import WfRunId
from littlehorse.model.wf_run_pb2 import ThreadRun
from littlehorse.model.wf_spec_pb2 import RunChildWfNode, WaitForChildWfNode

from remuda.workflow.data.assignments import evaluated
from remuda.workflow.data.values import is_null, text_of
from remuda.workflow.definitions.names import name_problem
from remuda.workflow.errors import BadValue
from remuda.workflow.failures import Failed, last_failure
from remuda.workflow.nodes.kind import Kind
from remuda.workflow.nodes.thread_nodes import evaluated_inputs
from remuda.workflow.run import FAILED, Run
from remuda.workflow.runs import start_run
from remuda.workflow.scope import ThreadScope


def _run_child(run: Run, thread: ThreadRun, node: NodeRun, spec: RunChildWfNode) -> None:
    work = run.work
    scope = ThreadScope(run, thread)
    node.run_child_wf.SetInParent()
    name = spec.wf_spec_name
    if spec.WhichOneof("wf_spec") == "wf_spec_var":
        name = text_of(evaluated(spec.wf_spec_var, scope))
    plan = work.latest_plan(name, spec.major_version)
    if plan is None:
        raise BadValue(f"there is no WfSpec {name}")
    inputs = evaluated_inputs(spec.inputs, scope)
    child = start_run(work, plan, _child_id(run, spec, scope), inputs)
    child.message.parent_trigger.triggering_node_run.CopyFrom(node.id)
    node.run_child_wf.child_wf_run_id.CopyFrom(child.run_id)
    node.run_child_wf.wf_spec_id.CopyFrom(plan.spec_id)
    for key, value in inputs.items():
        node.run_child_wf.inputs[key].CopyFrom(value)


def _child_id(run: Run, spec: RunChildWfNode, scope: ThreadScope) -> WfRunId:
    chosen = ""
    if spec.HasField("child_id"):
        value = evaluated(spec.child_id, scope)
        chosen = "" if is_null(value) else text_of(value)
    chosen = chosen or run.work.new_guid(run.name)
    problem = name_problem(chosen)
    if problem is not None:
        raise BadValue(f"the id of a child run: {problem}")
    return WfRunId(id=chosen, parent_wf_run_id=run.run_id)


def _wait(run: Run, thread: ThreadRun, node: NodeRun, spec: WaitForChildWfNode) -> None:
    node.wait_for_child_wf.SetInParent()
    value = evaluated(spec.child_wf_run_id, ThreadScope(run, thread))
    if value.WhichOneof("value") != "wf_run_id":
        raise BadValue(f"{text_of(value)} is not the id of a run")
    child = run.work.run(value.wf_run_id)
    if child is None:
        raise BadValue(f"there is no run {text_of(value)}")
    if child.run_id.parent_wf_run_id != run.run_id:
        raise BadValue(f"run {child.name} is not a child of {run.name}")
    node.wait_for_child_wf.child_wf_run_id.CopyFrom(child.run_id)
    child.message.parent_trigger.waiting_node_run.CopyFrom(node.id)
    child.changed()


def _poll(run: Run, thread: ThreadRun, node: NodeRun, spec: WaitForChildWfNode) -> bool | Failed:
    child = run.work.run(node.wait_for_child_wf.child_wf_run_id)
    if child is None:
        return Failed("CHILD_FAILURE", "the child run was deleted")
    if child.message.status in FAILED:
        return last_failure(child.current_node(child.thread(0))).seen_by_parent()
    return child.message.status == LHStatus.COMPLETED


RUN_CHILD_WF = Kind(_run_child)
WAIT_FOR_CHILD_WF = Kind(_wait, _poll)
