"""Calls that put and delete schedules."""

from __future__ import annotations

from littlehorse.model.scheduled_wf_run_pb2 import ScheduledWfRun
from littlehorse.model.service_pb2 import DeleteScheduledWfRunRequest, ScheduleWfRequest

from remuda.partition.machine import Rejection
from remuda.workflow.commands import Call
from remuda.workflow.definitions.definition import Refusal, invalid
from remuda.workflow.definitions.names import name_problem
from remuda.workflow.schedules import delete_schedule, put_schedule
from remuda.workflow.work import Work


def schedule_wf(work: Work, request: ScheduleWfRequest, call: Call) -> ScheduledWfRun | Refusal:
    name = request.id or call.chosen
    problem = name_problem(name)
    if problem is not None:
        return invalid(f"the id of a schedule: {problem}")
    plan = work.current_plan(request.wf_spec_name, call.major, call.revision)
    if plan is None:
        version = f"{request.wf_spec_name} {call.major}.{call.revision}"
        return Refusal(Rejection.STALE, f"WfSpec {version} has not come here yet, or is deleted")
    schedule = put_schedule(work, plan, request, name)
    if schedule is None:
        return Refusal(Rejection.EXISTS, f"there is a schedule {name} already")
    return schedule


def delete_scheduled(
    work: Work, request: DeleteScheduledWfRunRequest, call: Call
) -> Refusal | None:
    if delete_schedule(work, request.id.id):
        return None
    return Refusal(Rejection.NOT_FOUND, f"there is no schedule {request.id.id}")
