"""Calls that run, stop, resume, rescue and delete runs."""

from __future__ import annotations

from littlehorse.model.object_id_pb2 import WfRunId
from littlehorse.model.service_pb2 import (
    DeleteWfRunRequest,
    RescueThreadRunRequest,
    ResumeWfRunRequest,
    RunWfRequest,
    StopWfRunRequest,
)
from littlehorse.model.wf_run_pb2 import ThreadRun, WfRun

from remuda.partition.machine import Rejection
from remuda.workflow.commands import Call
from remuda.workflow.data.values import run_id_text
from remuda.workflow.definitions.definition import Refusal, invalid
from remuda.workflow.definitions.names import name_problem
from remuda.workflow.rescue import rescue_thread
from remuda.workflow.run import Run
from remuda.workflow.runs import delete_run, resume_thread, start_run, stop_thread
from remuda.workflow.work import Work


def run_wf(work: Work, request: RunWfRequest, call: Call) -> WfRun | Refusal:
    """The id is the request's or the proposer's choice, the version is the proposer's."""
    chosen = request.id or call.chosen
    problem = name_problem(chosen)
    if problem is not None:
        return invalid(f"the id of a run: {problem}")
    run_id = WfRunId(id=chosen)
    if request.HasField("parent_wf_run_id"):
        run_id.parent_wf_run_id.CopyFrom(request.parent_wf_run_id)
        if work.run(request.parent_wf_run_id) is None:
            return no_run(request.parent_wf_run_id)
    plan = work.current_plan(request.wf_spec_name, call.major, call.revision)
    if plan is None:
        version = f"{request.wf_spec_name} {call.major}.{call.revision}"
        return Refusal(Rejection.STALE, f"WfSpec {version} has not come here yet, or is deleted")
    if work.run(run_id) is not None:
        return Refusal(Rejection.EXISTS, f"there is a run {run_id_text(run_id)} already")
    inputs = {name: request.variables[name] for name in sorted(request.variables)}
    return start_run(work, plan, run_id, inputs).message


def stop_wf_run(work: Work, request: StopWfRunRequest, call: Call) -> Refusal | None:
    found = find_thread(work, request.wf_run_id, request.thread_run_number)
    if isinstance(found, Refusal):
        return found
    return _precondition(stop_thread(*found))


def resume_wf_run(work: Work, request: ResumeWfRunRequest, call: Call) -> Refusal | None:
    found = find_thread(work, request.wf_run_id, request.thread_run_number)
    if isinstance(found, Refusal):
        return found
    return _precondition(resume_thread(*found))


def rescue_thread_run(work: Work, request: RescueThreadRunRequest, call: Call) -> WfRun | Refusal:
    found = find_thread(work, request.wf_run_id, request.thread_run_number)
    if isinstance(found, Refusal):
        return found
    run, thread = found
    refusal = _precondition(rescue_thread(run, thread, request.skip_current_node))
    return run.message if refusal is None else refusal


def delete_wf_run(work: Work, request: DeleteWfRunRequest, call: Call) -> Refusal | None:
    run = work.run(request.id)
    if run is None:
        return no_run(request.id)
    delete_run(run)
    return None


# ── shared ───────────────────────────────────────────────────────────────────────────────────


def no_run(run_id: WfRunId) -> Refusal:
    return Refusal(Rejection.NOT_FOUND, f"there is no run {run_id_text(run_id)}")


def find_thread(work: Work, run_id: WfRunId, number: int) -> tuple[Run, ThreadRun] | Refusal:
    run = work.run(run_id)
    if run is None:
        return no_run(run_id)
    if not run.has_thread(number):
        return Refusal(Rejection.NOT_FOUND, f"run {run.name} has no thread {number}")
    return run, run.thread(number)


def _precondition(reason: str | None) -> Refusal | None:
    return None if reason is None else Refusal(Rejection.PRECONDITION, reason)
